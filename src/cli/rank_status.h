// The state of one process of a training job, as its file in a status folder holds it.
#pragma once

#include <cmath>
#include <cstdint>
#include <filesystem>
#include <string>

#include "cli/process_name.h"

namespace troika::cli {

constexpr int kMostRanks = 1 << 20;  // of a job

// A folder that a job writes has the folder `status`, with a file per rank.
std::filesystem::path status_folder(const std::filesystem::path& of);
std::filesystem::path rank_status_file(const std::filesystem::path& of, int rank);

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
