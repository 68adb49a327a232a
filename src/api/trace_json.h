// Traces of training steps as JSON, in the Trace Event Format:
// https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "train/process_clock.h"
#include "train/step_events.h"

namespace troika::api {

// Returns this process's part of the list of events, without brackets. `origin` is the moment 0.
std::string print_trace_part(const Trainer& trainer, const std::vector<StepEvent>& events,
                             std::chrono::steady_clock::time_point origin);

// Returns the whole file. `parts` and `clocks`: by process.
std::string join_trace_parts(const Trainer& trainer, const std::vector<std::string>& parts,
                             const std::vector<ProcessClock>& clocks);

}  // namespace troika::api
