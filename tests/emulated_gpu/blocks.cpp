// The threads of a block run as fibers. One fiber runs until its thread ends or waits. A fiber
// whose thread has ended takes the next thread, so that a kernel without barriers needs only one
// fiber.
#include "blocks.h"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <numeric>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "kernel.h"
#include "kernel_faults.h"
#include "streams.h"

namespace emulated_gpu {

Index thread_index, block_index, block_size, grid_size;

namespace {

constexpr unsigned kWarp = 32, kMostThreads = 1024;
constexpr size_t kStackBytes = 128 << 10, kMostStaticAndDynamicShared = 48 << 10;

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

struct Block {
  const std::function<void()>* thread = nullptr;
  Index index;
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
  std::unique_ptr<BlockHardware> hardware;  // null until it is asked for
};

// Never destroyed. Blocks run one at a time, except for those of a cooperative launch, which take
// turns.
std::vector<std::unique_ptr<Block>>& blocks = *new std::vector<std::unique_ptr<Block>>;
Block* running = nullptr;
uint64_t begun_blocks = 0;
std::minstd_rand& lot = *new std::minstd_rand(std::random_device{}());

Index index_of(unsigned thread) {
  return {thread % block_size.x, thread / block_size.x % block_size.y, thread / block_size.x / block_size.y};
}

void end_round_where_all_came() {
  if (running->arrived == 0 || running->arrived + running->ended < running->threads) return;
  running->all_of_round[running->rounds % 2] = running->all;
  running->all = true;
  running->arrived = 0;
  ++running->rounds;
}

// Switches from the fiber `self` to the scheduler. Returns when the fiber is resumed.
void leave(Fiber* self) { emulated_switch(&self->top, running->scheduler); }

void run_fiber() {
  while (true) {
    while (running->begun < running->threads) {
      Fiber* const self = running->current;
      self->thread = thread_index = index_of(running->order[running->begun++]);
      (*running->thread)();
      ++running->ended;
      end_round_where_all_came();
    }
    Fiber* const self = running->current;
    running->idle.push_back(self);
    leave(self);
  }
}

void resume(Fiber* fiber) {
  running->current = fiber;
  thread_index = fiber->thread;
  emulated_switch(&running->scheduler, fiber->top);
}

Fiber* idle_fiber() {
  if (running->idle.empty()) {
    auto fiber = std::make_unique<Fiber>();
    // Prepares the stack as if the fiber had been left at the beginning of run_fiber: six registers
    // and the return address, with the stack aligned as at a call. The tops of the stacks are
    // shifted, so that they map to different sets of a cache; otherwise a cache would hold few of
    // them.
    const size_t shift = running->fibers.size() % 61 * 320;
    const auto top = reinterpret_cast<uintptr_t>(fiber->stack.get() + kStackBytes - shift) / 16 * 16 - 8;
    auto* const frame = reinterpret_cast<void**>(top) - 7;
    std::fill(frame, frame + 6, nullptr);
    frame[6] = reinterpret_cast<void*>(run_fiber);
    fiber->top = frame;
    running->fibers.push_back(std::move(fiber));
    return running->fibers.back().get();
  }
  Fiber* const fiber = running->idle.back();
  running->idle.pop_back();
  return fiber;
}

void begin_block(Block& block, const std::function<void()>& thread, uint64_t place) {
  block.thread = &thread;
  block.index = {static_cast<unsigned>(place % grid_size.x), static_cast<unsigned>(place / grid_size.x % grid_size.y),
                 static_cast<unsigned>(place / grid_size.x / grid_size.y)};
  block.number = ++begun_blocks;
  block.threads = block_size.x * block_size.y * block_size.z;
  block.begun = block.ended = block.arrived = 0;
  block.rounds = 0;
  block.warps.assign((block.threads + kWarp - 1) / kWarp, Warp());
  block.hardware.reset();
  std::fill(block.shared.begin(), block.shared.end(), std::byte{0xff});
  if (block.order.size() != block.threads) {
    block.order.resize(block.threads);
    std::iota(block.order.begin(), block.order.end(), 0u);
    std::shuffle(block.order.begin(), block.order.end(), lot);
  }
  std::rotate(block.order.begin(), block.order.begin() + lot() % block.threads, block.order.end());
}

// Lets the block's threads run, each until it ends or waits. Returns false if all wait.
bool advance(Block& block) {
  running = &block;
  block_index = block.index;
  if (block.begun < block.threads) {
    resume(idle_fiber());
    return true;
  }
  const bool has_worked = block.hardware && block.hardware->work(false);
  const auto first_ready = std::partition(block.waiting.begin(), block.waiting.end(),
                                          [](const Fiber* fiber) { return *fiber->waits_for <= fiber->round; });
  if (first_ready == block.waiting.end()) return has_worked || (block.hardware && block.hardware->work(true));
  block.ready.assign(first_ready, block.waiting.end());
  block.waiting.erase(first_ready, block.waiting.end());
  std::rotate(block.ready.begin(), block.ready.begin() + static_cast<ptrdiff_t>(lot() % block.ready.size()),
              block.ready.end());
  if (lot() % 2) std::reverse(block.ready.begin(), block.ready.end());
  for (Fiber* fiber : block.ready) resume(fiber);
  return true;
}

void end_block(Block& block) {
  while (block.hardware && block.hardware->work(true)) {}
  block.hardware.reset();
}

// Runs as many blocks at once as there are in `at_once`.
void run_blocks(const std::vector<uint64_t>& places, size_t at_once, size_t shared_bytes,
                const std::function<void()>& thread) {
  while (blocks.size() < at_once) blocks.push_back(std::make_unique<Block>());
  for (size_t first = 0; first < places.size(); first += at_once) {
    const size_t count = std::min(at_once, places.size() - first);
    for (size_t i = 0; i < count; ++i) {
      blocks[i]->shared.resize(shared_bytes);
      begin_block(*blocks[i], thread, places[first + i]);
    }
    while (true) {
      bool is_left = false, has_advanced = false;
      for (size_t i = 0; i < count; ++i) {
        if (blocks[i]->ended == blocks[i]->threads) continue;
        is_left = true;
        has_advanced = advance(*blocks[i]) || has_advanced;
      }
      if (!is_left) break;
      if (!has_advanced) stop("threads of a block wait for others that have ended or wait elsewhere");
    }
    for (size_t i = 0; i < count; ++i) end_block(*blocks[i]);
  }
  blocks.resize(1);  // a cooperative launch has many
}

void run_grid(dim3 grid, dim3 threads, size_t shared_bytes, bool is_cooperative, const std::function<void()>& thread) {
  grid_size = {grid.x, grid.y, grid.z};
  block_size = {threads.x, threads.y, threads.z};
  std::vector<uint64_t> places(uint64_t{grid.x} * grid.y * grid.z);
  std::iota(places.begin(), places.end(), uint64_t{0});
  std::shuffle(places.begin(), places.end(), lot);
  run_blocks(places, is_cooperative ? places.size() : 1, shared_bytes, thread);
}

}  // namespace

void stop(const char* why) {
  std::fprintf(stderr, "emulated GPU: %s\n", why);
  std::abort();
}

unsigned thread_number() { return thread_index.x + block_size.x * (thread_index.y + block_size.y * thread_index.z); }

namespace {

void wait(const int64_t& count, int64_t passed) {
  Fiber* const self = running->current;
  self->waits_for = &count;
  self->round = passed;
  running->waiting.push_back(self);
  leave(self);
}

}  // namespace

void wait_for(const int64_t& count, int64_t passed) {
  if (count <= passed) wait(count, passed);
}

void yield() {
  static const int64_t kReached = 1;
  wait(kReached, 0);
}

void barrier() { barrier_and(true); }

bool barrier_and(bool value) {
  const int64_t round = running->rounds;
  running->all = running->all && value;
  ++running->arrived;
  end_round_where_all_came();
  wait_for(running->rounds, round);
  return running->all_of_round[round % 2];
}

const uint64_t* exchange_all(uint64_t bits) {
  const unsigned self = thread_number();
  Warp& warp = running->warps[self / kWarp];
  const int64_t round = warp.rounds;
  warp.values[round % 2][self % kWarp] = bits;
  const unsigned lanes = std::min(kWarp, running->threads - self / kWarp * kWarp);
  if (++warp.arrived == lanes) {
    warp.arrived = 0;
    ++warp.rounds;
  }
  wait_for(warp.rounds, round);
  return warp.values[round % 2];
}

uint64_t exchange(uint64_t bits, unsigned from) { return exchange_all(bits)[from % kWarp]; }

void* dynamic_shared() { return running->shared.data(); }
std::span<std::byte> shared_memory() { return running->shared; }

constexpr uint32_t kFirstAddress = 1024;  // the first bytes of shared memory are the system's

uint32_t shared_address(const void* place) {
  return kFirstAddress + static_cast<uint32_t>(static_cast<const std::byte*>(place) - shared_memory().data());
}

std::byte* shared_place(uint32_t address, size_t bytes) {
  const std::span<std::byte> shared = shared_memory();
  if (address < kFirstAddress || address - kFirstAddress + bytes > shared.size())
    stop("an instruction reaches beyond the block's shared memory");
  return shared.data() + (address - kFirstAddress);
}

uint64_t block_number() { return running->number; }
unsigned draw() { return static_cast<unsigned>(lot()); }

BlockHardware& block_hardware(const std::function<std::unique_ptr<BlockHardware>()>& make) {
  if (!running->hardware) running->hardware = make();
  return *running->hardware;
}

void set_last_error(cudaError_t status);  // of the runtime

namespace {

void enqueue_grid(const void* function, dim3 grid, dim3 threads, size_t shared_bytes, size_t most_shared,
                  bool is_cooperative, cudaStream_t stream, std::function<void()> thread) {
  constexpr unsigned kMostHigh = 65535;
  const uint64_t in_block = uint64_t{threads.x} * threads.y * threads.z;
  if (grid.x == 0 || grid.y == 0 || grid.z == 0 || grid.x > 0x7fffffffu || grid.y > kMostHigh || grid.z > kMostHigh ||
      in_block == 0 || in_block > kMostThreads || threads.z > 64 || shared_bytes > most_shared)
    return set_last_error(cudaErrorInvalidConfiguration);
  if (const cudaError_t status = why_not(stream); status != cudaSuccess) return set_last_error(status);
  enqueue(stream, {.run = [=, run = std::move(thread)] { run_grid(grid, threads, shared_bytes, is_cooperative, run); },
                   .function = function,
                   .is_cooperative = is_cooperative});
}

std::mutex faulty_mutex;
std::string& faulty_kernel = *new std::string;

}  // namespace

void lose_blocks_of(const std::string& kernel) {
  const std::lock_guard lock(faulty_mutex);
  faulty_kernel = kernel;
}

std::atomic<int> code_version = 90;

void report_code_for(int version) { code_version = version; }

bool loses_block(const char* name) {
  const std::lock_guard lock(faulty_mutex);
  return !faulty_kernel.empty() && std::string_view(name).starts_with(faulty_kernel);
}

bool loses_block_with(const char* parameters) {
  const std::lock_guard lock(faulty_mutex);
  return !faulty_kernel.empty() && std::string_view(parameters).find(faulty_kernel) != std::string_view::npos;
}

void launch_threads(const void* function, dim3 grid, dim3 threads, size_t shared_bytes, cudaStream_t stream,
                    std::function<void()> thread) {
  enqueue_grid(function, grid, threads, shared_bytes, kMostStaticAndDynamicShared, false, stream, std::move(thread));
}

void launch_with_instructions(const void* function, dim3 grid, dim3 threads, size_t shared_bytes, bool is_cooperative,
                              cudaStream_t stream, std::function<void()> thread) {
  constexpr size_t kMostShared = 227 << 10;
  enqueue_grid(function, grid, threads, shared_bytes, kMostShared, is_cooperative, stream, std::move(thread));
}

}  // namespace emulated_gpu
