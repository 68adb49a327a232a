// Makes a GPU's primary context current for a scope, and puts back what the host had, without touching other GPUs.
#pragma once

#include <cuda.h>

namespace troika::cuda {

// A hold on the primary context of one GPU, which the CUDA runtime shares with every other user in the process.
class PrimaryContext {
 public:
  explicit PrimaryContext(int index);
  ~PrimaryContext();
  PrimaryContext(const PrimaryContext&) = delete;
  PrimaryContext& operator=(const PrimaryContext&) = delete;
  CUcontext handle() const { return context_; }

 private:
  CUdevice device_ = 0;
  CUcontext context_ = nullptr;
};

// The runtime's cudaSetDevice would create a context on the GPU that it puts back, where the host had never used it; the
// driver's stack of contexts does not.
class ContextGuard {
 public:
  explicit ContextGuard(const PrimaryContext& context);
  ~ContextGuard();
  ContextGuard(const ContextGuard&) = delete;
  ContextGuard& operator=(const ContextGuard&) = delete;
};

}  // namespace troika::cuda
