// The log: lines go to the host's sink, or nowhere.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <iterator>
#include <mutex>
#include <string>

#include "core/process_state.h"

namespace troika {

enum class LogLevel : int32_t { error = 1, warning = 2, info = 3, debug = 4 };

// The subject of a line.
enum class LogTopic { backend, comm, plan, memory, train };
constexpr const char* kLogTopics[] = {"backend", "comm", "plan", "memory", "train"};

// The most detailed level of each topic that reaches the sink.
using LogLevels = std::array<LogLevel, std::size(kLogTopics)>;

constexpr LogLevels all_topics(LogLevel level) {
  LogLevels levels{};
  levels.fill(level);
  return levels;
}

// A line that waits for a log.
struct LogLine {
  LogLevel level;
  std::string text;
};

class Log {
 public:
  using Sink = std::function<void(LogLevel, const char* topic, const char* line)>;

  Log() = default;
  // `dumped_pass`: the pass after which graphs are written; empty: none.
  Log(Sink sink, const LogLevels& levels, std::string dumped_pass = "")
      : sink_(std::move(sink)), levels_(levels), dumped_pass_(std::move(dumped_pass)) {}

  bool wants(LogTopic topic, LogLevel level) const { return sink_ && level <= levels_[static_cast<size_t>(topic)]; }
  const std::string& dumped_pass() const { return dumped_pass_; }

  // Passes one line to the sink, one call at a time. A forked child may lose lines. When the
  // process exits, the host's code may have ended already, so the sink is not called.
  void write(LogTopic topic, LogLevel level, const std::string& line) const {
    if (!wants(topic, level) || is_exiting()) return;
    std::unique_lock lock(mutex_, std::defer_lock);
    if (generation_ == fork_generation())
      lock.lock();
    else if (!lock.try_lock())
      return;  // perhaps a thread of the parent has it, which does not exist in the forked child
    sink_(level, kLogTopics[static_cast<size_t>(topic)], line.c_str());
  }

 private:
  Sink sink_;
  LogLevels levels_{};
  std::string dumped_pass_;
  mutable std::mutex mutex_;
  uint32_t generation_ = fork_generation();
};

}  // namespace troika
