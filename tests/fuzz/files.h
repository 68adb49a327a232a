// Files of a fuzzer, in a folder that is removed when the fuzzer ends.
#pragma once

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <string>
#include <string_view>

namespace troika::fuzz {

// Makes a folder in TMPDIR, and makes it the working folder.
inline void enter_temporary_folder() {
  static struct Folder {
    std::filesystem::path path;
    ~Folder() {
      std::error_code ignored;
      if (!path.empty()) std::filesystem::remove_all(path, ignored);
    }
  } folder;
  std::string name = (std::filesystem::temp_directory_path() / "troika-fuzz-XXXXXX").string();
  if (!mkdtemp(name.data()) || chdir(name.c_str()) != 0) abort();
  folder.path = name;
}

inline void write_file(const std::string& path, std::string_view bytes) {
  std::FILE* file = std::fopen(path.c_str(), "wb");
  if (!file || std::fwrite(bytes.data(), 1, bytes.size(), file) != bytes.size()) abort();
  std::fclose(file);
}

}  // namespace troika::fuzz
