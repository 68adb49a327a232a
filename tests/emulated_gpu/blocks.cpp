// The threads of a block run as fibers. One fiber runs until its thread ends or waits. A fiber
// whose thread has ended takes the next thread, so that a kernel without barriers needs only one
// fiber.
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <numeric>
#include <random>
#include <vector>

#include "kernel.h"
#include "streams.h"

namespace emulated_gpu {

Index thread_index, block_index, block_size, grid_size;

namespace {

constexpr unsigned kWarp = 32, kMostThreads = 1024;
constexpr size_t kStackBytes = 128 << 10, kMostStaticAndDynamicShared = 48 << 10;

[[noreturn]] void stop(const char* why) {
  std::fprintf(stderr, "emulated GPU: %s\n", why);
  std::abort();
}

// Saves the callee-saved registers on the stack and stores the stack's top in `from`. Then
// continues at the point at which the stack `to` was saved in the same way.
extern "C" void emulated_switch(void** from, void* to);
#if defined(__x86_64__)
asm(R"(
.text
.hidden emulated_switch
.globl emulated_switch
.type emulated_switch, @function
emulated_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size emulated_switch, .-emulated_switch
)");
#else
#error "GPUs in software need x86-64: threads of a block are switched by hand"
#endif

struct Fiber {
  void* top = nullptr;  // the top of the fiber's stack, while it waits
  std::unique_ptr<std::byte[]> stack{new std::byte[kStackBytes]};
  Index thread;
  // The count of rounds that the fiber waits for to exceed `round`; null: the fiber is idle.
  const int64_t* waits_for = nullptr;
  int64_t round = 0;
};

struct Warp {
  uint64_t values[2][kWarp];
  int64_t rounds = 0;  // that have ended
  unsigned arrived = 0;
};

// The block that runs. Blocks run one at a time.
struct Block {
  const std::function<void()>* thread = nullptr;
  unsigned threads = 0, begun = 0, ended = 0, arrived = 0;
  std::vector<unsigned> order;
  int64_t rounds = 0;  // of the barrier
  bool all = true, all_of_round[2] = {true, true};
  std::vector<Warp> warps;
  std::vector<std::unique_ptr<Fiber>> fibers;
  std::vector<Fiber*> waiting, ready, idle;
  Fiber* current = nullptr;
  void* scheduler = nullptr;  // the top of its stack, while a fiber runs
  std::vector<std::byte> shared;
  uint64_t number = 0;
  std::minstd_rand lot{std::random_device{}()};
};

Block& block = *new Block;  // never destroyed

Index index_of(unsigned thread) {
  return {thread % block_size.x, thread / block_size.x % block_size.y, thread / block_size.x / block_size.y};
}

unsigned number_of(Index thread) { return thread.x + block_size.x * (thread.y + block_size.y * thread.z); }

void end_round_where_all_came() {
  if (block.arrived == 0 || block.arrived + block.ended < block.threads) return;
  block.all_of_round[block.rounds % 2] = block.all;
  block.all = true;
  block.arrived = 0;
  ++block.rounds;
}

// Switches from the fiber `self` to the scheduler. Returns when the fiber is resumed.
void leave(Fiber* self) { emulated_switch(&self->top, block.scheduler); }

void run_fiber() {
  while (true) {
    while (block.begun < block.threads) {
      Fiber* const self = block.current;
      self->thread = thread_index = index_of(block.order[block.begun++]);
      (*block.thread)();
      ++block.ended;
      end_round_where_all_came();
    }
    Fiber* const self = block.current;
    block.idle.push_back(self);
    leave(self);
  }
}

void wait_for(const int64_t& rounds, int64_t round) {
  if (rounds > round) return;
  Fiber* const self = block.current;
  self->waits_for = &rounds;
  self->round = round;
  block.waiting.push_back(self);
  leave(self);
}

void resume(Fiber* fiber) {
  block.current = fiber;
  thread_index = fiber->thread;
  emulated_switch(&block.scheduler, fiber->top);
}

Fiber* idle_fiber() {
  if (block.idle.empty()) {
    auto fiber = std::make_unique<Fiber>();
    // Prepares the stack as if the fiber had been left at the beginning of run_fiber: six registers
    // and the return address, with the stack aligned as at a call. The tops of the stacks are
    // shifted, so that they map to different sets of a cache; otherwise a cache would hold few of
    // them.
    const size_t shift = block.fibers.size() % 61 * 320;
    const auto top = reinterpret_cast<uintptr_t>(fiber->stack.get() + kStackBytes - shift) / 16 * 16 - 8;
    auto* const frame = reinterpret_cast<void**>(top) - 7;
    std::fill(frame, frame + 6, nullptr);
    frame[6] = reinterpret_cast<void*>(run_fiber);
    fiber->top = frame;
    block.fibers.push_back(std::move(fiber));
    return block.fibers.back().get();
  }
  Fiber* const fiber = block.idle.back();
  block.idle.pop_back();
  return fiber;
}

void run_block() {
  ++block.number;
  block.begun = block.ended = block.arrived = 0;
  block.rounds = 0;
  block.warps.assign((block.threads + kWarp - 1) / kWarp, Warp());
  std::fill(block.shared.begin(), block.shared.end(), std::byte{0xff});
  std::rotate(block.order.begin(), block.order.begin() + block.lot() % block.threads, block.order.end());
  while (block.ended < block.threads) {
    if (block.begun < block.threads) {
      resume(idle_fiber());
      continue;
    }
    const auto first_ready = std::partition(block.waiting.begin(), block.waiting.end(),
                                            [](const Fiber* fiber) { return *fiber->waits_for <= fiber->round; });
    if (first_ready == block.waiting.end())
      stop("threads of a block wait for others that have ended or wait elsewhere");
    block.ready.assign(first_ready, block.waiting.end());
    block.waiting.erase(first_ready, block.waiting.end());
    std::rotate(block.ready.begin(), block.ready.begin() + static_cast<ptrdiff_t>(block.lot() % block.ready.size()),
                block.ready.end());
    if (block.lot() % 2) std::reverse(block.ready.begin(), block.ready.end());
    for (Fiber* fiber : block.ready) resume(fiber);
  }
}

void run_grid(dim3 grid, dim3 threads, size_t shared_bytes, const std::function<void()>& thread) {
  grid_size = {grid.x, grid.y, grid.z};
  block_size = {threads.x, threads.y, threads.z};
  block.thread = &thread;
  block.threads = threads.x * threads.y * threads.z;
  block.shared.resize(shared_bytes);
  block.order.resize(block.threads);
  std::iota(block.order.begin(), block.order.end(), 0u);
  std::shuffle(block.order.begin(), block.order.end(), block.lot);
  std::vector<uint64_t> blocks(uint64_t{grid.x} * grid.y * grid.z);
  std::iota(blocks.begin(), blocks.end(), uint64_t{0});
  std::shuffle(blocks.begin(), blocks.end(), block.lot);
  for (const uint64_t b : blocks) {
    block_index = {static_cast<unsigned>(b % grid.x), static_cast<unsigned>(b / grid.x % grid.y),
                   static_cast<unsigned>(b / grid.x / grid.y)};
    run_block();
  }
}

}  // namespace

void barrier() { barrier_and(true); }

bool barrier_and(bool value) {
  const int64_t round = block.rounds;
  block.all = block.all && value;
  ++block.arrived;
  end_round_where_all_came();
  wait_for(block.rounds, round);
  return block.all_of_round[round % 2];
}

uint64_t exchange(uint64_t bits, unsigned from) {
  const unsigned self = number_of(thread_index);
  Warp& warp = block.warps[self / kWarp];
  const int64_t round = warp.rounds;
  warp.values[round % 2][self % kWarp] = bits;
  const unsigned lanes = std::min(kWarp, block.threads - self / kWarp * kWarp);
  if (++warp.arrived == lanes) {
    warp.arrived = 0;
    ++warp.rounds;
  }
  wait_for(warp.rounds, round);
  return warp.values[round % 2][from % kWarp];
}

void* dynamic_shared() { return block.shared.data(); }
uint64_t block_number() { return block.number; }

void set_last_error(cudaError_t status);  // of the runtime

void launch_threads(dim3 grid, dim3 threads, size_t shared_bytes, cudaStream_t stream, std::function<void()> thread) {
  constexpr unsigned kMostHigh = 65535;
  const uint64_t in_block = uint64_t{threads.x} * threads.y * threads.z;
  if (grid.x == 0 || grid.y == 0 || grid.z == 0 || grid.x > 0x7fffffffu || grid.y > kMostHigh || grid.z > kMostHigh ||
      in_block == 0 || in_block > kMostThreads || threads.z > 64 || shared_bytes > kMostStaticAndDynamicShared)
    return set_last_error(cudaErrorInvalidConfiguration);
  if (const cudaError_t status = why_not(stream); status != cudaSuccess) return set_last_error(status);
  enqueue(stream, {[=, run = std::move(thread)] { run_grid(grid, threads, shared_bytes, run); }});
}

}  // namespace emulated_gpu
