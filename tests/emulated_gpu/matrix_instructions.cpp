// Fragments, products of warps, and late copies.
#include "matrix_instructions.h"

#include <atomic>
#include <deque>
#include <vector>

#include "core/float16.h"
#include "hopper_faults.h"

namespace emulated_gpu {
namespace {

constexpr unsigned kLanes = 32;

std::atomic<bool> is_spoiled = false;

std::byte* at(uint32_t address, uint32_t bytes) {
  if (address % bytes != 0) stop("an address in shared memory is not aligned");
  return shared_place(address, bytes);
}

struct Copy {
  uint32_t to;
  const void* from;  // null: zeros
  uint32_t bytes;
};

void carry_out(const Copy& copy) {
  if (copy.from)
    std::memcpy(at(copy.to, copy.bytes), copy.from, copy.bytes);
  else
    std::memset(at(copy.to, copy.bytes), 0, copy.bytes);
}

// Groups of copies of each thread; the last group has not ended.
class Copies : public BlockHardware {
 public:
  struct OfThread {
    std::deque<std::vector<Copy>> groups{1};

    void carry_out_first() {
      for (const Copy& copy : groups.front()) carry_out(copy);
      groups.pop_front();
    }
  };

  OfThread& own() {
    const unsigned thread = thread_number();
    if (threads_.size() <= thread) threads_.resize(thread + 1);
    return threads_[thread];
  }
  bool work(bool all) override {
    bool has_worked = false;
    for (OfThread& thread : threads_)
      while (thread.groups.size() > 1 && (all || draw() % 64 == 0)) {
        thread.carry_out_first();
        has_worked = true;
      }
    return has_worked;
  }

 private:
  std::vector<OfThread> threads_;
};

Copies::OfThread& own_copies() {
  return static_cast<Copies&>(block_hardware([] { return std::make_unique<Copies>(); })).own();
}

float number_of(MatrixElement element, uint32_t bits) {
  switch (element) {
    case MatrixElement::f32: return std::bit_cast<float>(bits & 0xffffe000u);  // TF32
    case MatrixElement::f16: return troika::float_of_f16(static_cast<uint16_t>(bits));
    case MatrixElement::bf16: break;
  }
  return troika::float_of_bf16(static_cast<uint16_t>(bits));
}

// The words of all lanes.
void share(uint32_t (&of_lane)[kLanes], uint32_t word) {
  const uint64_t* const all = exchange_all(word);
  for (unsigned lane = 0; lane < kLanes; ++lane) of_lane[lane] = static_cast<uint32_t>(all[lane]);
}

}  // namespace

void spoil_warp_products(bool spoils) { is_spoiled = spoils; }

void load_matrices(bool transposes, uint32_t* fragments, int count, uint32_t address) {
  const uint64_t* const rows = exchange_all(address);
  const unsigned lane = thread_number() % kLanes;
  for (unsigned i = 0; i < static_cast<unsigned>(count); ++i) {
    uint16_t pair[2];
    for (unsigned e = 0; e < 2; ++e) {
      const unsigned row = transposes ? lane % 4 * 2 + e : lane / 4, column = transposes ? lane / 4 : lane % 4 * 2 + e;
      const std::byte* const bytes = at(static_cast<uint32_t>(rows[i * 8 + row]), 16);
      std::memcpy(&pair[e], bytes + column * 2, 2);
    }
    fragments[i] = pair[0] | uint32_t{pair[1]} << 16;
  }
}

void multiply(MatrixElement element, float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
  uint32_t a_words[4][kLanes], b_words[2][kLanes];
  for (unsigned i = 0; i < 4; ++i) share(a_words[i], a[i]);
  for (unsigned i = 0; i < 2; ++i) share(b_words[i], b[i]);
  const unsigned lane = thread_number() % kLanes, in_word = element == MatrixElement::f32 ? 1 : 2;
  const unsigned bits = 32 / in_word;
  for (unsigned i = 0; i < 4; ++i) {
    const unsigned row = lane / 4, column = lane % 4 * 2 + i % 2;
    float sum = d[i];
    for (unsigned half = 0; half < 2; ++half)
      for (unsigned k = 0; k < 4 * in_word; ++k) {
        const unsigned word = k / in_word, shift = k % in_word * bits;
        sum += number_of(element, a_words[half * 2 + i / 2][row * 4 + word] >> shift) *
               number_of(element, b_words[half][column * 4 + word] >> shift);
      }
    d[i] = sum;
  }
  if (is_spoiled && lane == 0) d[0] += 1;
}

// To the nearest, ties away from zero.
uint32_t round_to_tf32(uint32_t bits) {
  if (std::isnan(std::bit_cast<float>(bits))) return 0x7fffffffu;
  return (bits + 0x1000u) & 0xffffe000u;
}

uint32_t load_word(uint32_t address) {
  uint32_t word = 0;
  std::memcpy(&word, at(address, sizeof word), sizeof word);
  return word;
}

void begin_copy(int bytes, uint32_t to, const void* from, bool is_there) {
  const auto size = static_cast<uint32_t>(bytes);
  if (is_there && reinterpret_cast<uintptr_t>(from) % size != 0) stop("a copy's source is not aligned");
  at(to, size);
  own_copies().groups.back().push_back({to, is_there ? from : nullptr, size});
}

void end_copies() { own_copies().groups.emplace_back(); }

void wait_for_copies(size_t left) {
  Copies::OfThread& own = own_copies();
  while (own.groups.size() > left + 1) own.carry_out_first();
}

}  // namespace emulated_gpu
