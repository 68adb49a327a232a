// The clock of a process, compared with that of process 0, which may be on another machine.
#pragma once

#include <chrono>

#include "train/peers.h"

namespace troika {

// A process's moments in a round of messages, by its own clock.
struct RoundTimes {
  std::chrono::steady_clock::time_point said, heard;  // its own message, those of all
};

// A round is complete at one moment: after every process has said its message, and before a process
// has heard all. So each round bounds the difference of two clocks from both sides.
class ClockDifference {
 public:
  void add(const RoundTimes& first, const RoundTimes& own);
  // To be added to a moment of the own clock.
  std::chrono::nanoseconds estimate() const { return least_ + (most_ - least_) / 2; }
  // The estimate is at most so far from the difference.
  std::chrono::nanoseconds error() const { return (most_ - least_) / 2; }
  bool can_be_0() const { return least_.count() <= 0 && most_.count() >= 0; }

 private:
  std::chrono::nanoseconds least_ = -std::chrono::hours(1'000'000), most_ = std::chrono::hours(1'000'000);
};

struct ProcessClock {
  std::chrono::nanoseconds offset{0};  // this process's moment + offset = process 0's moment
  std::chrono::nanoseconds error{0};   // of the offset, at most
};

// Compares the clocks in a few rounds. Processes of one machine have one clock: the offset is 0.
// Collective. COMM.
ProcessClock compare_clocks(const Peers& peers, const char* what);

}  // namespace troika
