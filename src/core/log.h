// The log: lines go to the host's sink, or nowhere.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <string>

namespace troika {

enum class LogLevel : int32_t { error = 1, warning = 2, info = 3, debug = 4 };

class Log {
 public:
  using Sink = std::function<void(LogLevel, const char* line)>;

  Log() = default;
  Log(Sink sink, LogLevel level) : sink_(std::move(sink)), level_(level) {}

  bool wants(LogLevel level) const { return sink_ && level <= level_; }

  // Passes one line to the sink, one call at a time.
  void write(LogLevel level, const std::string& line) const {
    if (!wants(level)) return;
    std::lock_guard lock(mutex_);
    sink_(level, line.c_str());
  }

 private:
  Sink sink_;
  LogLevel level_ = LogLevel::warning;
  mutable std::mutex mutex_;
};

}  // namespace troika
