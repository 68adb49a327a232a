// A small file of news that is written in the background.
#pragma once

#include <condition_variable>
#include <filesystem>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace troika::cli {

// The file appears whole or not at all. Nobody needs it to go on, so a write that fails is
// forgotten.
class StatusFile {
 public:
  // The same file in several places. Makes their folders.
  explicit StatusFile(std::vector<std::filesystem::path> paths);
  ~StatusFile();  // when the last text is written
  StatusFile(const StatusFile&) = delete;
  StatusFile& operator=(const StatusFile&) = delete;

  // Returns at once: a thread writes the text, unless a newer one comes first.
  void set(std::string text);

 private:
  void run();

  const std::vector<std::filesystem::path> paths_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<std::string> text_;  // to write
  bool is_ending_ = false;
  std::thread thread_;  // last: it reads the other members
};

// Writes a file of news at once. A write that fails is forgotten.
void write_news(const std::filesystem::path& path, const std::string& text);

}  // namespace troika::cli
