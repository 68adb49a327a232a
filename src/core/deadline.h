// The moment by which a wait must have ended.
#pragma once

#include <chrono>

namespace troika {

using Deadline = std::chrono::steady_clock::time_point;

}  // namespace troika
