// A directory that lives as long as one test.
#pragma once

#include <filesystem>
#include <random>
#include <stdexcept>
#include <string>

namespace troika {

class TempDirectory {
 public:
  TempDirectory() {
    std::random_device random;
    path_ = std::filesystem::temp_directory_path() / ("troika-test-" + std::to_string(random()));
    if (!std::filesystem::create_directory(path_)) throw std::runtime_error("there is already a " + path_.string());
  }
  ~TempDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TempDirectory(const TempDirectory&) = delete;
  TempDirectory& operator=(const TempDirectory&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace troika
