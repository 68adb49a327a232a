// Memory of the GPUs: closed to the host, so that a pointer of a GPU that is used outside of a launch, in a launch of another
// GPU, past its end or after its release stops the program at once.
#pragma once

#include <cstddef>

namespace emulated_gpu {

// How many GPUs there are (EMULATED_GPUS, else 4), and bytes of each (EMULATED_GPU_BYTES, else 8 GiB).
int gpu_count();
size_t gpu_bytes();

// Null where less than `bytes` are free. Aligned to 256, filled with bytes that are NaN in every type.
void* allocate(int gpu, size_t bytes);
// False where nothing begins there.
bool release(void* memory);
size_t free_bytes(int gpu);

// The GPU whose memory it is; -1: the host's.
int gpu_of(const void* address);

// Opens the memory of one GPU, or of all, while it lives. One at a time.
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
