// The clock of a replica's steps on its GPU: two events around each.
#pragma once

#include <vector>

#include "backends/cuda/event.h"
#include "device/backend.h"

namespace troika::cuda {

class GpuLaunchClock : public LaunchClock {
 public:
  // `what` begins messages.
  GpuLaunchClock(ContextPtr context, cudaStream_t stream, size_t steps, std::string what);

  void hold(std::chrono::nanoseconds time) override;
  void begin(size_t step) override;
  void end(size_t step) override;
  std::vector<LaunchTime> read(std::chrono::steady_clock::time_point& end) override;

 private:
  struct Around {
    Event begin, end;
  };

  const ContextPtr context_;
  const cudaStream_t stream_;
  const std::string what_;
  std::vector<Around> events_;  // by step
  std::vector<size_t> timed_;   // steps since hold(), in the order of the stream
};

}  // namespace troika::cuda
