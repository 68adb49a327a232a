// Plans, and the trace of the last step, as text.
#pragma once

#include <string>

#include "train/local_ranks.h"

namespace troika {

// Returns one line per event: rank, begin and end in microseconds since the first event, the step's
// kind, and a layer or number. NOT_INITIALIZED if no rank has recorded a step.
std::string require_trace(const LocalRanks& ranks);
[[noreturn]] void throw_no_trace();

// Returns the plan that each rank has prepared last.
std::string print_plans(const LocalRanks& ranks);

}  // namespace troika
