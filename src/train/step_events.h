// The trace of the last step as data, for files.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "train/trainer.h"

namespace troika {

struct StepEvent {
  enum Kind {
    launch,
    start,       // of a collective that goes on while the rank computes
    wait,        // for its result
    collective,  // from its start until its result is there, concurrently with the rank's other events
    send,
    receive,
  } kind;
  int rank;          // in the world
  std::string name;  // "conv2d layer1.0.conv1", "all_reduce bucket 2"
  std::chrono::steady_clock::time_point begin, end;
  size_t bytes = 0;         // of the data of collectives and messages; that a launch reads and writes
  std::string kernel = {};  // of a launch
  double operations = 0;
  int peer = -1;     // of a message: the other rank
  int message = -1;  // its number, from one rank to another
};

const char* name_of(StepEvent::Kind kind);  // "launch"

// Returns the events of this process's ranks, one rank after another. NOT_INITIALIZED if no rank
// has recorded a step.
std::vector<StepEvent> require_events(const Trainer& trainer);

}  // namespace troika
