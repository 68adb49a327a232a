// The block that runs, for what stands in for the GPU's instructions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include <cuda_runtime_api.h>

namespace emulated_gpu {

// Ends the process: a kernel did what a GPU does not allow.
[[noreturn]] void stop(const char* why);

// The hardware that a block's threads share, apart from memory. It works while they do not run.
class BlockHardware {
 public:
  virtual ~BlockHardware() = default;
  // Does some of the work that is possible, drawn by lot, or `all` of it. Returns whether there was
  // any.
  virtual bool work(bool all) = 0;
};

// Returns the hardware of the block that runs, which `make` makes at the first call.
BlockHardware& block_hardware(const std::function<std::unique_ptr<BlockHardware>()>& make);

// Waits until `count` exceeds `passed`.
void wait_for(const int64_t& count, int64_t passed);
void yield();              // lets other threads run
unsigned thread_number();  // of the running thread in its block
unsigned draw();           // a number by lot
std::span<std::byte> shared_memory();
// Places in shared memory, and their 32-bit addresses. Bytes beyond the block's end the process.
uint32_t shared_address(const void* place);
std::byte* shared_place(uint32_t address, size_t bytes);
// Offers 8 bytes to the threads of the warp. Returns those of all 32, to be read before the next
// exchange.
const uint64_t* exchange_all(uint64_t bits);

// As launch_threads() of kernel.h, of the kernel `function`, with as much shared memory as Hopper
// has. All blocks of a cooperative launch take turns.
void launch_with_instructions(const void* function, dim3 grid, dim3 threads, size_t shared_bytes, bool is_cooperative,
                              cudaStream_t stream, std::function<void()> thread);

}  // namespace emulated_gpu
