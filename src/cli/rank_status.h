// The state of one process of a training job, as its file in a status folder holds it.
#pragma once

#include <cmath>
#include <cstdint>
#include <filesystem>
#include <string>

namespace troika::cli {

constexpr int kMostRanks = 1 << 20;  // of a job

// A folder that a job writes has the folder `status`, with a file per rank.
std::filesystem::path status_folder(const std::filesystem::path& of);
std::filesystem::path rank_status_file(const std::filesystem::path& of, int rank);

// A process of this or another machine. Processes that had the same number differ in `began`.
struct ProcessName {
  std::string host;
  int64_t id = 0;
  int64_t began = 0;  // field 22 of /proc/PID/stat

  static ProcessName of_this_process();
  static ProcessName of_child(int64_t id);  // a process of this machine

  bool is_here() const;       // on this machine
  bool is_running() const;    // of this machine
  bool is_suspended() const;  // by SIGSTOP or a debugger
};

struct RankStatus {
  int rank = 0, processes = 1;
  ProcessName process;
  std::string state;                                   // starting, training, evaluating; done, stopped, failed
  std::string message;                                 // of a process that failed
  double time = 0;                                     // of the news, in seconds since 1970
  int64_t epoch = 0, epochs = 0, step = 0, steps = 0;  // epoch: from 1; step: steps done
  // Of the last second or more; NaN: not known. Times per step: all of it, and the wait for others.
  double images_per_second = NAN, step_seconds = NAN, wait_seconds = NAN;

  bool has_ended() const { return state == "done" || state == "stopped" || state == "failed"; }
  double own_seconds() const { return step_seconds - wait_seconds; }  // of a step
};

std::string print_status(const RankStatus& status);

// Throws Failure for a file that is no status.
RankStatus read_status(const std::filesystem::path& file);

}  // namespace troika::cli
