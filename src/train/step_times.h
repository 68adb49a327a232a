// The times of one training step on a rank: what the order of late sums depends on.
#pragma once

#include "parallel/sum_order.h"
#include "runtime/executor.h"

namespace troika {

// Returns the times of a step from its events. Its updates are not late.
StepTimes measure_step(const Plan& plan, const std::vector<TraceEvent>& events, const std::vector<BucketRange>& buckets);

// Each time becomes the longer of two ranks' times.
void take_longer(StepTimes& times, const StepTimes& other);

}  // namespace troika
