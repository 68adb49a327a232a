// Barriers, copies of boxes and products of warpgroups.
#include "hopper.h"

#include <atomic>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "core/float16.h"
#include "hopper_faults.h"
#include "tensor_map.h"

namespace emulated_gpu::hopper {
namespace {

constexpr int kRows = 64, kDepth = 16;  // of a product
constexpr size_t kGroup = 128, kMostWarpgroups = 8;

std::atomic<bool> is_spoiled = false;

struct Barrier {
  int arrivals = 0;  // of a phase
  int arrived = 0;
  int64_t bytes = 0;   // expected and not there
  int64_t phases = 0;  // that have ended

  void end_phase_if_all_came() {
    if (arrived < arrivals || bytes != 0) return;
    arrived = 0;
    ++phases;
  }
};

struct ThreadBarrier {
  int arrived = 0;
  int64_t rounds = 0;
};

// A product that 128 threads issue, and carry out together.
struct GroupProduct {
  Product of_thread[kGroup];
};

struct Warpgroup {
  std::deque<std::unique_ptr<GroupProduct>> products;  // that are not done; the first has the number `done`
  int64_t done = 0;
  int64_t issued[kGroup] = {};
  std::vector<int64_t> committed[kGroup];  // products issued before each end_products()

  bool can_work() const {
    if (products.empty()) return false;
    for (const int64_t count : issued)
      if (count <= done) return false;
    return true;
  }
};

struct Copy {
  bool is_load;
  TensorMap map;
  uint32_t address;
  uint32_t barrier;
  std::vector<int> coordinates;
  unsigned thread;
  int64_t number = 0;  // of a thread's store
};

// A wait for all but the last stores of a thread is one for those that came first.
struct Stores {
  int64_t issued = 0;
  std::set<int64_t> pending;

  bool are_done_but(int last) const { return pending.empty() || *pending.begin() >= issued - last; }
};

uint32_t swizzled(uint32_t address) { return address ^ (address >> 7 & 7) << 4; }

float bf16_at(uint32_t address) {
  uint16_t bits;
  std::memcpy(&bits, shared_place(swizzled(address), 2), 2);
  return troika::float_of_bf16(bits);
}

class Hardware : public BlockHardware {
 public:
  static Hardware& get() {
    return static_cast<Hardware&>(block_hardware([] { return std::make_unique<Hardware>(); }));
  }

  Barrier& barrier(uint32_t address) {
    const auto found = barriers.find(address);
    if (found == barriers.end()) stop("a barrier in shared memory is not initialised");
    return found->second;
  }

  bool work(bool all) override {
    bool has_worked = false;
    for (size_t i = 0; i < copies.size();) {
      if (!all && draw() % 2) {
        ++i;
        continue;
      }
      const Copy copy = std::move(copies[i]);
      copies.erase(copies.begin() + static_cast<ptrdiff_t>(i));
      carry_out(copy);
      has_worked = true;
    }
    for (Warpgroup& group : warpgroups)
      while (group.can_work() && (all || draw() % 4)) {
        multiply(group);
        has_worked = true;
      }
    return has_worked;
  }

  std::map<uint32_t, Barrier> barriers;
  std::map<int, ThreadBarrier> thread_barriers;
  std::deque<Copy> copies;
  std::map<unsigned, Stores> stores;  // of each thread
  int64_t stores_done = 0;
  Warpgroup warpgroups[kMostWarpgroups];

 private:
  void carry_out(const Copy& copy) {
    const TensorMap& map = copy.map;
    const int64_t elements = map.box_elements();
    for (int64_t i = 0; i < elements; ++i) {
      std::byte* const here = shared_place(swizzled(copy.address + static_cast<uint32_t>(2 * i)), 2);
      void* const there = map.element(copy.coordinates, i);  // null: outside
      if (copy.is_load && there)
        std::memcpy(here, there, 2);
      else if (copy.is_load)
        std::memset(here, 0, 2);
      else if (there)
        std::memcpy(there, here, 2);
    }
    if (copy.is_load) {
      Barrier& b = barrier(copy.barrier);
      b.bytes -= 2 * elements;
      b.end_phase_if_all_came();
    } else {
      stores[copy.thread].pending.erase(copy.number);
      ++stores_done;
    }
  }

  // Operands are described by their first row, and by the bytes from 64 elements of a row to the
  // next.
  void multiply(Warpgroup& group) {
    const auto product = std::move(group.products.front());
    group.products.pop_front();
    const Product& first = product->of_thread[0];
    for (const Product& p : product->of_thread)
      if (p.n != first.n || p.a != first.a || p.b != first.b || p.adds != first.adds)
        stop("the threads of a warpgroup do not issue the same product");
    const size_t n = static_cast<size_t>(first.n);
    const auto row = [](uint64_t description, int i) {
      const auto start = static_cast<uint32_t>(description & 0x3fff) << 4;
      return start + static_cast<uint32_t>(description >> 32 & 0x3fff) * 16 * static_cast<uint32_t>(i / 8) +
             static_cast<uint32_t>(i % 8) * 128;
    };
    const auto column = [](uint64_t description, size_t i) {
      return static_cast<uint32_t>(description >> 16 & 0x3fff) * 16 * static_cast<uint32_t>(i / 64) +
             static_cast<uint32_t>(i % 64) * 2;
    };
    // Element k of row i of an operand.
    const auto element = [&](uint64_t description, bool is_transposed, size_t i, int k) {
      return bf16_at(is_transposed ? row(description, k) + column(description, i)
                                   : row(description, static_cast<int>(i)) + static_cast<uint32_t>(2 * k));
    };
    float a[kRows][kDepth];
    std::vector<float> b(kDepth * n), d(kRows * n, 0.0f);
    for (int k = 0; k < kDepth; ++k)
      for (size_t j = 0; j < n; ++j) b[static_cast<size_t>(k) * n + j] = element(first.b, first.transposes_b, j, k);
    for (int i = 0; i < kRows; ++i)
      for (int k = 0; k < kDepth; ++k)
        a[i][k] = first.has_fragment ? fragment_element(*product, i, k)
                                     : element(first.a, first.transposes_a, static_cast<size_t>(i), k);
    for (size_t i = 0; i < kRows; ++i)
      for (size_t k = 0; k < kDepth; ++k)
        for (size_t j = 0; j < n; ++j) d[i * n + j] += a[i][k] * b[k * n + j];
    if (is_spoiled) d[0] += 1;
    for (size_t t = 0; t < kGroup; ++t) {
      const Product& p = product->of_thread[t];
      const size_t r = t / 32 * 16 + t % 32 / 4, c = t % 4 * 2;
      for (size_t j = 0; j < n / 2; ++j) {
        const float sum = d[(r + j / 2 % 2 * 8) * n + j / 4 * 8 + c + j % 2];
        p.d[j] = p.adds ? p.d[j] + sum : sum;
      }
    }
    ++group.done;
  }

  static float fragment_element(const GroupProduct& product, int i, int k) {
    const int lane = i % 8 * 4 + k % 8 / 2;
    const Product& p = product.of_thread[i / 16 * 32 + lane];
    const uint32_t pair = p.fragment[i / 8 % 2 + k / 8 * 2];
    return troika::float_of_bf16(static_cast<uint16_t>(k % 2 ? pair >> 16 : pair));
  }
};

Warpgroup& own_warpgroup(size_t& thread) {
  const unsigned number = thread_number();
  thread = number % kGroup;
  return Hardware::get().warpgroups[number / kGroup];
}

TensorMap decode(const CUtensorMap& map) {
  TensorMap decoded;
  std::memcpy(static_cast<void*>(&decoded), &map, sizeof decoded);
  return decoded;
}

}  // namespace

void spoil_products(bool spoils) { is_spoiled = spoils; }

void init_barrier(uint32_t barrier, int arrivals) {
  shared_place(barrier, 8);
  if (barrier % 8) stop("a barrier is not aligned to 8 bytes");
  Hardware::get().barriers[barrier] = {.arrivals = arrivals};
}

void expect_bytes(uint32_t barrier, int bytes) {
  Hardware::get().barrier(barrier).bytes += bytes;
  arrive(barrier);
}

void arrive(uint32_t barrier) {
  Barrier& b = Hardware::get().barrier(barrier);
  if (++b.arrived > b.arrivals) stop("a barrier has more arrivals than a phase takes");
  b.end_phase_if_all_came();
}

void wait(uint32_t barrier, int parity) {
  const Barrier& b = Hardware::get().barrier(barrier);
  if (b.phases % 2 == parity) wait_for(b.phases, b.phases);
}

bool has_ended(uint32_t barrier, int parity) {
  const Barrier& b = Hardware::get().barrier(barrier);
  if (b.phases % 2 != parity) return true;
  yield();
  return b.phases % 2 != parity;
}

void sync_threads(int number, int threads) {
  ThreadBarrier& b = Hardware::get().thread_barriers[number];
  const int64_t round = b.rounds;
  arrive_threads(number, threads);
  wait_for(b.rounds, round);
}

void arrive_threads(int number, int threads) {
  ThreadBarrier& b = Hardware::get().thread_barriers[number];
  if (++b.arrived < threads) return;
  b.arrived = 0;
  ++b.rounds;
}

void load_box(uint32_t to, const CUtensorMap& map, uint32_t barrier, std::initializer_list<int> coordinates) {
  if (to % 128) stop("a box is not loaded to a multiple of 128 bytes");
  Hardware::get().copies.push_back({true, decode(map), to, barrier, coordinates, thread_number()});
}

void store_box(const CUtensorMap& map, uint32_t from, std::initializer_list<int> coordinates) {
  if (from % 128) stop("a box is not stored from a multiple of 128 bytes");
  Stores& stores = Hardware::get().stores[thread_number()];
  stores.pending.insert(stores.issued);
  Hardware::get().copies.push_back({false, decode(map), from, 0, coordinates, thread_number(), stores.issued++});
}

void wait_for_stores(int left) {
  Hardware& hardware = Hardware::get();
  while (!hardware.stores[thread_number()].are_done_but(left)) wait_for(hardware.stores_done, hardware.stores_done);
}

uint4 load_shared(uint32_t address) {
  if (address % 16) stop("a load of 16 bytes is not aligned");
  uint4 v;
  std::memcpy(&v, shared_place(address, sizeof v), sizeof v);
  return v;
}

void store_shared(uint32_t address, uint4 v) {
  if (address % 16) stop("a store of 16 bytes is not aligned");
  std::memcpy(shared_place(address, sizeof v), &v, sizeof v);
}

void store_matrices(uint32_t address, const uint32_t* fragments, int count) {
  const uint64_t* const rows = exchange_all(address);
  const unsigned lane = thread_number() % 32;
  for (unsigned i = 0; i < static_cast<unsigned>(count); ++i)
    for (unsigned e = 0; e < 2; ++e) {
      const auto element = static_cast<uint16_t>(fragments[i] >> 16 * e);
      std::memcpy(shared_place(static_cast<uint32_t>(rows[i * 8 + lane % 4 * 2 + e]) + lane / 4 * 2, 2), &element, 2);
    }
}

uint32_t pack_bf16(float low, float high) {
  return troika::bf16_of_float(low) | uint32_t{troika::bf16_of_float(high)} << 16;
}

void issue(const Product& product) {
  size_t thread = 0;
  Warpgroup& group = own_warpgroup(thread);
  const auto place = static_cast<size_t>(group.issued[thread]++ - group.done);
  if (place == group.products.size()) group.products.push_back(std::make_unique<GroupProduct>());
  group.products[place]->of_thread[thread] = product;
}

void end_products() {
  size_t thread = 0;
  Warpgroup& group = own_warpgroup(thread);
  group.committed[thread].push_back(group.issued[thread]);
}

void wait_for_products(int left) {
  size_t thread = 0;
  Warpgroup& group = own_warpgroup(thread);
  const auto& committed = group.committed[thread];
  if (committed.size() <= static_cast<size_t>(left)) return;
  wait_for(group.done, committed[committed.size() - 1 - static_cast<size_t>(left)] - 1);
}

void wait_for_blocks(unsigned* turns) {
  const unsigned before = turns[1];
  if (++turns[0] == grid_size.x) {
    turns[0] = 0;
    turns[1] = before + 1;
    return;
  }
  while (turns[1] == before) yield();
}

}  // namespace emulated_gpu::hopper
