// Writes news with a thread of its own.
#include "cli/status_file.h"

#include <utility>

#include "core/atomic_file.h"
#include "core/error.h"
#include "core/path.h"

namespace troika::cli {
namespace {

// Leaves out the wait for the disk: after a crash of the machine the news are out of date anyway.
class UnsyncedFiles : public FileSystem {
 public:
  int fsync(int) const override { return 0; }
};

}  // namespace

void write_news(const std::filesystem::path& path, const std::string& text) {
  try {
    write_file_atomically("status file", text_of(path), text, UnsyncedFiles());
  } catch (const Error&) {}
}

StatusFile::StatusFile(std::vector<std::filesystem::path> paths) : paths_(std::move(paths)) {
  std::error_code ignored;
  for (const std::filesystem::path& path : paths_) std::filesystem::create_directories(path.parent_path(), ignored);
  thread_ = std::thread([this] { run(); });
}

StatusFile::~StatusFile() {
  {
    const std::lock_guard lock(mutex_);
    is_ending_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void StatusFile::set(std::string text) {
  {
    const std::lock_guard lock(mutex_);
    text_ = std::move(text);
  }
  changed_.notify_one();
}

void StatusFile::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return text_ || is_ending_; });
    if (!text_) return;
    const std::string text = *std::exchange(text_, std::nullopt);
    lock.unlock();
    for (const std::filesystem::path& path : paths_) write_news(path, text);
    lock.lock();
  }
}

}  // namespace troika::cli
