// Copies into pinned memory, and the event after them.
#include "backends/cuda/pinned_readback.h"

#include "backends/cuda/check.h"

namespace troika::cuda {

PinnedReadback::PinnedReadback(const ContextPtr& context, cudaStream_t stream, size_t capacity)
    : context_(context),
      stream_(stream),
      memory_(allocate_pinned(context, capacity, "memory for results")),
      written_(create_event(context, "a CUDA event")) {}

PinnedReadback::~PinnedReadback() {
  // A copy may still write the memory. Returns at once if the event was never recorded.
  end_on(context_, [&] { cudaEventSynchronize(written_.get()); });
}

void PinnedReadback::post(const void* source, size_t bytes) {
  if (bytes > 0) check_launch(cudaMemcpyAsync(memory_.get(), source, bytes, cudaMemcpyDeviceToHost, stream_));
  check_launch(cudaEventRecord(written_.get(), stream_));
}

bool PinnedReadback::is_there() {
  const cudaError_t status = cudaEventQuery(written_.get());
  if (status == cudaErrorNotReady) {
    cudaGetLastError();  // which keeps it otherwise, for the next launch to report
    return false;
  }
  check_launch(status);
  return true;
}

}  // namespace troika::cuda
