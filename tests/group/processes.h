// Processes of a group as threads of one process, each with its own end.
#pragma once

#include <exception>
#include <functional>
#include <thread>
#include <vector>

#include "core/log.h"
#include "group/process_group.h"
#include "support/temp_directory.h"

namespace troika {

inline const Log& no_log() {
  static const Log log;
  return log;
}

// Options of each process of a group whose rendezvous is a file.
inline std::vector<GroupOptions> group_options(int size, const TempDirectory& folder) {
  std::vector<GroupOptions> options(static_cast<size_t>(size));
  for (int rank = 0; rank < size; ++rank) {
    GroupOptions& o = options[static_cast<size_t>(rank)];
    o.rank = rank;
    o.size = size;
    o.rendezvous = "file://" + (folder.path() / "rendezvous").string();
    o.connect_timeout_ms = 20'000;
    o.deadline_ms = 20'000;
  }
  return options;
}

// Calls body(rank) on a thread per process. Throws the first error.
inline void on_every_process(int size, const std::function<void(int)>& body) {
  std::vector<std::exception_ptr> errors(static_cast<size_t>(size));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < size; ++rank)
    threads.emplace_back([&, rank] {
      try {
        body(rank);
      } catch (...) {
        errors[static_cast<size_t>(rank)] = std::current_exception();
      }
    });
  for (std::thread& thread : threads) thread.join();
  for (const std::exception_ptr& error : errors)
    if (error) std::rethrow_exception(error);
}

// All processes of a group.
inline std::vector<std::shared_ptr<ProcessGroup>> join_group(const std::vector<GroupOptions>& options) {
  std::vector<std::shared_ptr<ProcessGroup>> groups(options.size());
  on_every_process(static_cast<int>(options.size()), [&](int rank) {
    const auto index = static_cast<size_t>(rank);
    groups[index] = std::make_shared<ProcessGroup>(options[index], no_log());
  });
  return groups;
}

}  // namespace troika
