// Memory of the GPUs. The host cannot access it, so that a wrong use of a GPU pointer stops the
// program at once: outside a launch, in a launch of another GPU, past the end, or after release.
#pragma once

#include <cstddef>

namespace emulated_gpu {

// The number of GPUs (EMULATED_GPUS, else 4), and the bytes of each (EMULATED_GPU_BYTES, else 8
// GiB).
int gpu_count();
size_t gpu_bytes();

// Returns null if fewer than `bytes` are free. The memory is aligned to 256 bytes and filled with
// bytes that are NaN in every type.
void* allocate(int gpu, size_t bytes);
// Returns false if no allocation begins at `memory`.
bool release(void* memory);
size_t free_bytes(int gpu);

// Returns the GPU whose memory `address` is in; -1 for memory of the host.
int gpu_of(const void* address);

// Makes the memory of one GPU, or of all GPUs, accessible for the lifetime of the object. At most
// one object may exist at a time.
class Access {
 public:
  Access(int gpu, bool all);
  ~Access();
  Access(const Access&) = delete;
  Access& operator=(const Access&) = delete;

 private:
  void set(int protection) const;
  const int first_, last_;
};

}  // namespace emulated_gpu
