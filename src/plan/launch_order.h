// Which launches of a plan wait for which.
#pragma once

#include "plan/plan.h"

namespace troika {

// For each of the launches in steps [first, last), those of them that it waits for, counted from `first`. They run one behind the
// other; but one that is beside runs as soon as the memory that it touches is free, and others wait for it where they touch the same.
LaunchOrder order_launches(const Plan& plan, size_t first, size_t last);

}  // namespace troika
