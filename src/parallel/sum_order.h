// The order in which the sums of buckets travel if updates are late (late_updates.h).
#pragma once

#include <vector>

namespace troika {

// Seconds of computation since the step's beginning, without waits, and seconds on the network.
struct BucketTimes {
  double read = 0;  // when the forward pass first reads a parameter of the bucket
  double made = 0;  // when the last gradient of the bucket is there
  double sum = 0;   // that the sum takes on the network
};

struct StepTimes {
  double computation = 0;
  std::vector<BucketTimes> buckets;
};

// Returns the time of a step, once steps take the same time, if sums travel in that order, one at a
// time.
double late_step_seconds(const StepTimes& times, const std::vector<size_t>& order);

// Returns an order with which steps are shortest: some of the first buckets as they are made, then
// the last ones, whose parameters are read first, then those between, in the order in which they
// are read.
std::vector<size_t> choose_sum_order(const StepTimes& times);

}  // namespace troika
