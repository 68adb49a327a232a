// Hopper's instructions in software: stands in for backends/cuda/hopper/instructions.cuh, whose
// comments say what each does. Copies and products are carried out late, at a time drawn by lot, so
// that a kernel which does not wait for them computes wrong results.
#pragma once

#include <cuda.h>
#include <cuda_runtime_api.h>

#include <cstdint>

#include "blocks.h"
#include "kernel.h"
#include "matrix_instructions.h"

namespace emulated_gpu::hopper {

void init_barrier(uint32_t barrier, int arrivals);
void expect_bytes(uint32_t barrier, int bytes);
void arrive(uint32_t barrier);
void wait(uint32_t barrier, int parity);
bool has_ended(uint32_t barrier, int parity);
void sync_threads(int number, int threads);
void arrive_threads(int number, int threads);

// `coordinates` has the map's rank.
void load_box(uint32_t to, const CUtensorMap& map, uint32_t barrier, std::initializer_list<int> coordinates);
void store_box(const CUtensorMap& map, uint32_t from, std::initializer_list<int> coordinates);
void wait_for_stores(int left);

uint4 load_shared(uint32_t address);
void store_shared(uint32_t address, uint4 v);
void store_matrices(uint32_t address, const uint32_t* fragments, int count);
uint32_t pack_bf16(float low, float high);

void end_products();
void wait_for_products(int left);
// A product of this thread's warpgroup: [64, 16] times [n, 16], both of bf16. An operand in shared
// memory has a description, and may be transposed.
struct Product {
  int n = 0;
  bool transposes_a = false, transposes_b = false;
  uint32_t fragment[4] = {};  // a, if it is in registers
  bool has_fragment = true;
  uint64_t a = 0, b = 0;  // descriptions
  bool adds = true;
  float* d = nullptr;  // n / 2 numbers
};
void issue(const Product& product);

void wait_for_blocks(unsigned* turns);

}  // namespace emulated_gpu::hopper

namespace troika::cuda::hopper {

constexpr int kRowBytes = 128, kSwizzledBytes = 1024, kGroup = 128;

using emulated_gpu::hopper::arrive;
using emulated_gpu::hopper::arrive_threads;
using emulated_gpu::hopper::end_products;
using emulated_gpu::hopper::expect_bytes;
using emulated_gpu::hopper::has_ended;
using emulated_gpu::hopper::init_barrier;
using emulated_gpu::hopper::load_shared;
using emulated_gpu::hopper::pack_bf16;
using emulated_gpu::hopper::store_shared;
using emulated_gpu::hopper::sync_threads;
using emulated_gpu::hopper::wait;
using emulated_gpu::hopper::wait_for_blocks;

inline void publish_barriers() {}
inline void publish_stores() {}
inline void begin_products() {}
template <int kRegisters>
void give_registers() {}
template <int kRegisters>
void take_registers() {}

inline void load_box(uint32_t to, const CUtensorMap& map, uint32_t barrier, int x, int y, int z) {
  emulated_gpu::hopper::load_box(to, map, barrier, {x, y, z});
}
inline void load_box(uint32_t to, const CUtensorMap& map, uint32_t barrier, int x, int y, int z, int w) {
  emulated_gpu::hopper::load_box(to, map, barrier, {x, y, z, w});
}
inline void store_box(const CUtensorMap& map, uint32_t from, int x, int y, int z, int w) {
  emulated_gpu::hopper::store_box(map, from, {x, y, z, w});
}
template <int kLeft>
void wait_for_reads_of_stores() {
  emulated_gpu::hopper::wait_for_stores(kLeft);
}
template <int kLeft>
void wait_for_stores() {
  emulated_gpu::hopper::wait_for_stores(kLeft);
}

inline void store_matrices(uint32_t address, uint32_t a, uint32_t b, uint32_t c, uint32_t d) {
  const uint32_t fragments[] = {a, b, c, d};
  emulated_gpu::hopper::store_matrices(address, fragments, 4);
}
inline void store_matrices(uint32_t address, uint32_t a, uint32_t b) {
  const uint32_t fragments[] = {a, b};
  emulated_gpu::hopper::store_matrices(address, fragments, 2);
}

template <int kLeft>
void wait_for_products() {
  emulated_gpu::hopper::wait_for_products(kLeft);
}
inline uint64_t describe(uint32_t address, uint32_t block_bytes = 16) {
  return uint64_t{address >> 4} | uint64_t{block_bytes >> 4} << 16 | uint64_t{kSwizzledBytes >> 4} << 32;
}
constexpr uint64_t moved_by(int bytes) { return static_cast<uint64_t>(bytes) >> 4; }

template <int kN>
struct Columns {};

template <int kFirst, int kN, int kSize>
void wgmma(Columns<kN>, float (&d)[kSize], const uint32_t (&a)[4], uint64_t b, int adds) {
  static_assert(kFirst + kN / 2 <= kSize && kN % 8 == 0 && kN <= 256);
  emulated_gpu::hopper::issue(
      {.n = kN, .fragment = {a[0], a[1], a[2], a[3]}, .b = b, .adds = adds != 0, .d = d + kFirst});
}
template <bool kTransposes, int kN, int kSize>
void wgmma_shared(Columns<kN>, float (&d)[kSize], uint64_t a, uint64_t b, int adds) {
  static_assert(kN / 2 <= kSize && kN % 8 == 0 && kN <= 256);
  emulated_gpu::hopper::issue(
      {.n = kN, .transposes_a = kTransposes, .has_fragment = false, .a = a, .b = b, .adds = adds != 0, .d = d});
}
template <int kN, int kSize>
void wgmma_transposed(Columns<kN>, float (&d)[kSize], uint64_t a, uint64_t b) {
  static_assert(kN / 2 <= kSize && kN % 8 == 0 && kN <= 256);
  emulated_gpu::hopper::issue(
      {.n = kN, .transposes_a = true, .transposes_b = true, .has_fragment = false, .a = a, .b = b, .d = d});
}
template <int kFirst, int kN, int kSize>
void wgmma_transposed(Columns<kN>, float (&d)[kSize], const uint32_t (&a)[4], uint64_t b) {
  static_assert(kFirst + kN / 2 <= kSize && kN % 8 == 0 && kN <= 256);
  emulated_gpu::hopper::issue(
      {.n = kN, .transposes_b = true, .fragment = {a[0], a[1], a[2], a[3]}, .b = b, .d = d + kFirst});
}

struct LaunchShape {
  int blocks, threads, shared_bytes;
  bool is_cooperative = false;
};

template <typename... Parameters, typename... Values>
void launch(void (*kernel)(Parameters...), const LaunchShape& shape, cudaStream_t stream, const Values&... values) {
  emulated_gpu::launch_with_instructions(
      reinterpret_cast<const void*>(kernel), dim3(static_cast<unsigned>(shape.blocks)),
      dim3(static_cast<unsigned>(shape.threads)), static_cast<size_t>(shape.shared_bytes), shape.is_cooperative, stream,
      [kernel, held = std::tuple<std::decay_t<const Values>...>(values...)] { std::apply(kernel, held); });
}

}  // namespace troika::cuda::hopper
