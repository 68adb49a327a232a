// Keeps an environment variable as it is.
#pragma once

#include <cstdlib>
#include <optional>
#include <string>

namespace troika {

class EnvironmentGuard {
 public:
  explicit EnvironmentGuard(const char* name) : name_(name) {
    if (const char* value = std::getenv(name)) before_ = value;
  }
  ~EnvironmentGuard() {
    if (before_)
      ::setenv(name_, before_->c_str(), 1);
    else
      ::unsetenv(name_);
  }
  EnvironmentGuard(const EnvironmentGuard&) = delete;
  EnvironmentGuard& operator=(const EnvironmentGuard&) = delete;

 private:
  const char* const name_;
  std::optional<std::string> before_;
};

}  // namespace troika
