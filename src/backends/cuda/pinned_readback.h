// Results that a GPU writes into pinned memory, after its launches.
#pragma once

#include <cuda_runtime_api.h>

#include "backends/cuda/event.h"
#include "backends/cuda/pinned_memory.h"
#include "device/readback.h"

namespace troika::cuda {

class PinnedReadback final : public Readback {
 public:
  PinnedReadback(const ContextPtr& context, cudaStream_t stream, size_t capacity);
  ~PinnedReadback() override;

  void post(const void* source, size_t bytes) override;
  bool is_there() override;
  const std::byte* data() const override { return memory_.get(); }

 private:
  const ContextPtr context_;
  const cudaStream_t stream_;
  const PinnedMemory memory_;
  const Event written_;
};

}  // namespace troika::cuda
