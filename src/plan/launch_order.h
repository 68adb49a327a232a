// Computes which launches of a plan wait for which.
#pragma once

#include "plan/plan.h"

namespace troika {

// Returns, for each launch in steps [first, last), the launches that it must wait for, as indices
// relative to `first`. Launches run in sequence, except those marked `is_beside`: they start as
// soon as their memory is free, and a later launch that touches the same memory waits for them.
LaunchOrder order_launches(const Plan& plan, size_t first, size_t last);

}  // namespace troika
