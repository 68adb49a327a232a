// Names with a step, and the folder that has them.
#include "state/kept_files.h"

#include <dirent.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <filesystem>
#include <memory>
#include <new>
#include <vector>

#include "core/destroy.h"
#include "core/error.h"
#include "core/file_system.h"
#include "core/text.h"
#include "core/utf8.h"

namespace troika {
namespace {

constexpr size_t kDigits = 12;

struct KeptFile {
  int64_t step;
  std::filesystem::path path;
};

// Calls f(name) for each entry of the folder, if there is such a folder. The standard library's
// iterator would end the process if memory ran out.
template <typename F>
void for_each_entry(const std::filesystem::path& folder, F f) {
  auto check = [&](int error) {
    if (error == ENOMEM) throw std::bad_alloc();
    if (error)
      throw Error(Status::io,
                  text("folder '", printable(folder.string()), "': cannot be read: ", system_error_text(error)));
  };
  const std::unique_ptr<DIR, Destroy<closedir>> entries(opendir(folder.c_str()));
  if (!entries) return check(errno == ENOENT ? 0 : errno);
  while (true) {
    errno = 0;
    const dirent* const entry = readdir(entries.get());
    if (!entry) return check(errno);
    f(std::string(entry->d_name));
  }
}

// Returns the files of all steps, newest first.
std::vector<KeptFile> find_files(const std::string& path) {
  const std::filesystem::path named = path, folder = named.has_parent_path() ? named.parent_path() : ".";
  const std::string before = named.stem().string() + "-", after = named.extension().string();
  std::vector<KeptFile> files;
  for_each_entry(folder, [&](const std::string& name) {
    if (name.size() < before.size() + kDigits + after.size() || !name.starts_with(before) || !name.ends_with(after))
      return;
    const char* const begin = name.data() + before.size();
    const char* const end = name.data() + name.size() - after.size();
    int64_t step = 0;
    const auto [stop, failure] = std::from_chars(begin, end, step);
    if (failure == std::errc() && stop == end && step >= 0) files.push_back({step, folder / name});
  });
  std::sort(files.begin(), files.end(), [](const KeptFile& a, const KeptFile& b) { return a.step > b.step; });
  return files;
}

}  // namespace

std::string kept_file(const std::string& path, int64_t step) {
  const std::filesystem::path named = path;
  std::string digits = std::to_string(step);
  digits.insert(0, kDigits - std::min(kDigits, digits.size()), '0');
  return (named.parent_path() / (named.stem().string() + "-" + digits + named.extension().string())).string();
}

void remove_older_files(const std::string& path, int64_t step, int keep) {
  for (const KeptFile& file : find_files(path)) {
    if (file.step > step || keep-- > 0) continue;
    std::error_code error;
    std::filesystem::remove(file.path, error);
    if (error)
      throw Error(Status::io,
                  text("training state '", printable(file.path.string()), "': cannot be removed: ", error.message()));
  }
}

std::string newest_file(const std::string& path) {
  const std::vector<KeptFile> files = find_files(path);
  if (files.empty())
    throw Error(Status::not_found,
                text("training state '", printable(path), "': there is no file of any step, such as '",
                     printable(kept_file(path, 0)), "'"));
  return files.front().path.string();
}

}  // namespace troika
