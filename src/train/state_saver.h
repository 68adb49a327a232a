// Writes training states to files while training goes on.
#pragma once

#include <exception>
#include <functional>
#include <thread>

namespace troika {

// Writes one file at a time. Used by one thread at a time.
class StateSaver {
 public:
  StateSaver() = default;
  ~StateSaver();  // waits for the file
  StateSaver(const StateSaver&) = delete;
  StateSaver& operator=(const StateSaver&) = delete;

  // Runs `write` on a thread of its own. No file may be under way.
  void start(std::function<void()> write);
  // Waits for the file, and throws its error once.
  void wait();

 private:
  std::thread thread_;
  std::exception_ptr error_;
};

}  // namespace troika
