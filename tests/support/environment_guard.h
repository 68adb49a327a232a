// Keeps an environment variable as it is.
#pragma once

#include <cstdlib>
#include <optional>
#include <string>

namespace troika {

// Null removes the variable.
inline void set_variable(const char* name, const char* value) {
#ifdef _WIN32
  ::_putenv_s(name, value ? value : "");
#else
  if (value)
    ::setenv(name, value, 1);
  else
    ::unsetenv(name);
#endif
}

class EnvironmentGuard {
 public:
  explicit EnvironmentGuard(const char* name) : name_(name) {
    if (const char* value = std::getenv(name)) before_ = value;
  }
  ~EnvironmentGuard() {
    set_variable(name_, before_ ? before_->c_str() : nullptr);
  }
  EnvironmentGuard(const EnvironmentGuard&) = delete;
  EnvironmentGuard& operator=(const EnvironmentGuard&) = delete;

 private:
  const char* const name_;
  std::optional<std::string> before_;
};

}  // namespace troika
