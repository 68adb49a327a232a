// Makes a GPU's primary context current for a scope, and puts back what the host had, without
// touching other GPUs.
#pragma once

#include <cuda.h>

#include <memory>
#include <utility>

#include "core/error.h"

namespace troika::cuda {

// A hold on the primary context of one GPU, which the CUDA runtime shares with every other user in
// the process.
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

using ContextPtr = std::shared_ptr<const PrimaryContext>;

// Makes the context current on the calling thread, and puts back what was current before.
void push_context(const PrimaryContext& context);
void pop_context();

// The runtime's cudaSetDevice would create a context on the GPU that it restores, even if the host
// had never used that GPU. The driver's stack of contexts does not.
class ContextGuard {
 public:
  explicit ContextGuard(const PrimaryContext& context);
  ~ContextGuard();
  ContextGuard(const ContextGuard&) = delete;
  ContextGuard& operator=(const ContextGuard&) = delete;
};

// Runs `end`, which destroys objects of a GPU or waits for them, with the GPU current. If the
// driver is gone, as at the end of the process, its objects are gone too, and `end` is left out.
// A device that is only planned for has no context: then `end` runs as it is.
template <typename End>
void end_on(const ContextPtr& context, End&& end) {
  if (!context) return std::forward<End>(end)();
  try {
    const ContextGuard guard(*context);
    std::forward<End>(end)();
  } catch (const Error&) {  // of the guard
  }
}

}  // namespace troika::cuda
