// Copies into pinned memory, and the event behind them.
#include "backends/cuda/pinned_readback.h"

#include <algorithm>

#include "backends/cuda/check.h"

namespace troika::cuda {

PinnedReadback::PinnedReadback(std::shared_ptr<PrimaryContext> context, cudaStream_t stream, size_t capacity)
    : context_(std::move(context)), stream_(stream) {
  const ContextGuard guard(*context_);
  try {
    check(cudaHostAlloc(reinterpret_cast<void**>(&memory_), std::max<size_t>(capacity, 1), cudaHostAllocDefault),
          "memory for results");
    check(cudaEventCreateWithFlags(&written_, cudaEventDisableTiming), "a CUDA event");
  } catch (...) {
    release();
    throw;
  }
}

PinnedReadback::~PinnedReadback() {
  try {
    const ContextGuard guard(*context_);
    release();
  } catch (const Error&) {  // the driver is gone, and everything with it
  }
}

void PinnedReadback::release() {
  if (written_) cudaEventSynchronize(written_);  // at once where it was never recorded
  if (written_) cudaEventDestroy(written_);
  if (memory_) cudaFreeHost(memory_);
}

void PinnedReadback::post(const void* source, size_t bytes) {
  if (bytes > 0) check_launch(cudaMemcpyAsync(memory_, source, bytes, cudaMemcpyDeviceToHost, stream_));
  check_launch(cudaEventRecord(written_, stream_));
}

bool PinnedReadback::is_there() {
  const cudaError_t status = cudaEventQuery(written_);
  if (status == cudaErrorNotReady) {
    cudaGetLastError();  // which keeps it otherwise, for the next launch to report
    return false;
  }
  check_launch(status);
  return true;
}

}  // namespace troika::cuda
