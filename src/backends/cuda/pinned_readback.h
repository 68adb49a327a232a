// Results that a GPU writes into pinned memory, behind its launches.
#pragma once

#include <cuda_runtime_api.h>

#include <memory>

#include "backends/cuda/context_guard.h"
#include "device/readback.h"

namespace troika::cuda {

class PinnedReadback final : public Readback {
 public:
  PinnedReadback(std::shared_ptr<PrimaryContext> context, cudaStream_t stream, size_t capacity);
  ~PinnedReadback() override;

  void post(const void* source, size_t bytes) override;
  bool is_there() override;
  const std::byte* data() const override { return memory_; }

 private:
  void release();

  const std::shared_ptr<PrimaryContext> context_;
  const cudaStream_t stream_;
  std::byte* memory_ = nullptr;
  cudaEvent_t written_ = nullptr;
};

}  // namespace troika::cuda
