// Names with a step, and the folder that has them.
#include "state/kept_files.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <filesystem>
#include <new>
#include <vector>

#include "core/error.h"
#include "core/file_system.h"
#include "core/path.h"
#include "core/text.h"
#include "core/utf8.h"

namespace troika {
namespace {

constexpr size_t kDigits = 12;

struct KeptFile {
  int64_t step;
  std::filesystem::path path;
};

// Returns the names in the folder; none if there is no such folder.
std::vector<std::string> names_in(const std::filesystem::path& folder) {
  std::vector<std::string> names;
  if (list_folder(text_of(folder), names) == 0 || errno == ENOENT) return names;
  if (errno == ENOMEM) throw std::bad_alloc();
  throw Error(Status::io,
              text("folder '", printable(text_of(folder)), "': cannot be read: ", system_error_text(errno)));
}

// Returns the files of all steps, newest first.
std::vector<KeptFile> find_files(const std::string& path) {
  const std::filesystem::path named = path_of(path), folder = named.has_parent_path() ? named.parent_path() : ".";
  const std::string before = text_of(named.stem()) + "-", after = text_of(named.extension());
  std::vector<KeptFile> files;
  for (const std::string& name : names_in(folder)) {
    if (name.size() < before.size() + kDigits + after.size() || !name.starts_with(before) || !name.ends_with(after))
      continue;
    const char* const begin = name.data() + before.size();
    const char* const end = name.data() + name.size() - after.size();
    int64_t step = 0;
    const auto [stop, failure] = std::from_chars(begin, end, step);
    if (failure == std::errc() && stop == end && step >= 0) files.push_back({step, folder / path_of(name)});
  }
  std::sort(files.begin(), files.end(), [](const KeptFile& a, const KeptFile& b) { return a.step > b.step; });
  return files;
}

}  // namespace

std::string kept_file(const std::string& path, int64_t step) {
  const std::filesystem::path named = path_of(path);
  std::string digits = std::to_string(step);
  digits.insert(0, kDigits - std::min(kDigits, digits.size()), '0');
  return text_of(named.parent_path() / path_of(text_of(named.stem()) + "-" + digits + text_of(named.extension())));
}

void remove_older_files(const std::string& path, int64_t step, int keep) {
  for (const KeptFile& file : find_files(path)) {
    if (file.step > step || keep-- > 0) continue;
    std::error_code error;
    std::filesystem::remove(file.path, error);
    if (error)
      throw Error(Status::io,
                  text("training state '", printable(text_of(file.path)), "': cannot be removed: ", error.message()));
  }
}

std::string newest_file(const std::string& path) {
  const std::vector<KeptFile> files = find_files(path);
  if (files.empty())
    throw Error(Status::not_found,
                text("training state '", printable(path), "': there is no file of any step, such as '",
                     printable(kept_file(path, 0)), "'"));
  return text_of(files.front().path);
}

}  // namespace troika
