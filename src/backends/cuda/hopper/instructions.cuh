// Instructions of Hopper (compute capability 9.0) that CUDA C++ does not have: barriers in shared
// memory, copies of tiles (TMA), products of warpgroups (wgmma), and moves of 8 x 8 matrices.
//
// Shared memory has 32-bit addresses. A row of a tile has 128 bytes, and rows are swizzled: of the
// eight rows after a multiple of 1,024 bytes, row r stores its 16-byte chunk c at place c ^ r.
// Copies and products apply the swizzle to the final address, so that a tile may begin at any row.
#pragma once

#include <cuda.h>
#include <cuda_runtime.h>

#include <cstdint>

#include "backends/cuda/check.h"
#include "backends/cuda/matrix_instructions.cuh"

namespace troika::cuda::hopper {

constexpr int kRowBytes = 128;        // of a tile: 64 channels in 16 bits
constexpr int kSwizzledBytes = 1024;  // tiles begin at a multiple of this
constexpr int kGroup = 128;           // threads of a warpgroup

// Barriers in shared memory, 8 bytes each. A phase ends after `arrivals` arrivals and all expected
// bytes. `parity` is that of the phase's number, from 0.
__device__ inline void init_barrier(uint32_t barrier, int arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals));
}
__device__ inline void publish_barriers() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }
// Arrives, and lets the phase wait for the bytes of copies.
__device__ inline void expect_bytes(uint32_t barrier, int bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}
__device__ inline void arrive(uint32_t barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}
__device__ inline void wait(uint32_t barrier, int parity) {
  asm volatile(
      "{\n.reg .pred p;\nagain:\nmbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\n@p bra done;\nbra again;\n"
      "done:\n}\n" ::"r"(barrier),
      "r"(parity)
      : "memory");
}
__device__ inline bool has_ended(uint32_t barrier, int parity) {
  int ended;
  asm volatile("{\n.reg .pred p;\nmbarrier.test_wait.parity.shared::cta.b64 p, [%1], %2;\nselp.b32 %0, 1, 0, p;\n}\n"
               : "=r"(ended)
               : "r"(barrier), "r"(parity)
               : "memory");
  return ended;
}

// Barriers of a part of the block's threads, by number. The second does not wait.
__device__ inline void sync_threads(int number, int threads) {
  asm volatile("bar.sync %0, %1;" ::"r"(number), "r"(threads) : "memory");
}
__device__ inline void arrive_threads(int number, int threads) {
  asm volatile("bar.arrive %0, %1;" ::"r"(number), "r"(threads) : "memory");
}

// Moves registers between warpgroups. All warps of the group call this.
template <int kRegisters>
__device__ inline void give_registers() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(kRegisters));
}
template <int kRegisters>
__device__ inline void take_registers() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(kRegisters));
}

// Makes this thread's stores to shared memory visible to copies and products.
__device__ inline void publish_stores() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

// Copies the box of a tensor at these coordinates, the fastest first. Elements outside of the
// tensor are read as zeros, and not written.
__device__ inline void load_box(uint32_t to, const CUtensorMap& map, uint32_t barrier, int x, int y, int z) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, %4}], "
      "[%5];" ::"r"(to),
      "l"(&map), "r"(x), "r"(y), "r"(z), "r"(barrier)
      : "memory");
}
__device__ inline void load_box(uint32_t to, const CUtensorMap& map, uint32_t barrier, int x, int y, int z, int w) {
  asm volatile(
      "cp.async.bulk.tensor.4d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, %4, %5}], "
      "[%6];" ::"r"(to),
      "l"(&map), "r"(x), "r"(y), "r"(z), "r"(w), "r"(barrier)
      : "memory");
}
__device__ inline void store_box(const CUtensorMap& map, uint32_t from, int x, int y, int z, int w) {
  asm volatile("cp.async.bulk.tensor.4d.global.shared::cta.tile.bulk_group [%0, {%2, %3, %4, %5}], [%1];" ::"l"(&map),
               "r"(from), "r"(x), "r"(y), "r"(z), "r"(w)
               : "memory");
  asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}
// Waits until at most `kLeft` of this thread's stores still read shared memory, or still write.
template <int kLeft>
__device__ inline void wait_for_reads_of_stores() {
  asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(kLeft) : "memory");
}
template <int kLeft>
__device__ inline void wait_for_stores() {
  asm volatile("cp.async.bulk.wait_group %0;" ::"n"(kLeft) : "memory");
}

// 16 bytes of shared memory.
__device__ inline uint4 load_shared(uint32_t address) {
  uint4 v;
  asm volatile("ld.shared.v4.b32 {%0, %1, %2, %3}, [%4];"
               : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
               : "r"(address)
               : "memory");
  return v;
}
__device__ inline void store_shared(uint32_t address, uint4 v) {
  asm volatile("st.shared.v4.b32 [%0], {%1, %2, %3, %4};" ::"r"(address), "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w)
               : "memory");
}

// Stores the fragments that load_matrices() loads: the transposes of four matrices, and of two,
// for which lanes 0 to 15 have the addresses.
__device__ inline void store_matrices(uint32_t address, uint32_t a, uint32_t b, uint32_t c, uint32_t d) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(address), "r"(a), "r"(b),
               "r"(c), "r"(d)
               : "memory");
}
__device__ inline void store_matrices(uint32_t address, uint32_t a, uint32_t b) {
  asm volatile("stmatrix.sync.aligned.m8n8.x2.trans.shared.b16 [%0], {%1, %2};" ::"r"(address), "r"(a), "r"(b)
               : "memory");
}

// Two numbers rounded to bf16, `low` in the low half.
__device__ inline uint32_t pack_bf16(float low, float high) {
  uint32_t r;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(high), "f"(low));
  return r;
}

// Products of a warpgroup. Between begin_products() and end_products() a thread issues products; a
// wait for all but the last `kLeft` such groups follows before it reads their results, or changes
// what they read.
__device__ inline void begin_products() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ inline void end_products() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
template <int kLeft>
__device__ inline void wait_for_products() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kLeft) : "memory");
}

// Describes a tile of swizzled rows that a product reads: 1,024 bytes from eight rows to the next
// eight, and `block_bytes` from 64 elements of a row to the next 64 if rows are longer.
__device__ inline uint64_t describe(uint32_t address, uint32_t block_bytes = 16) {
  return static_cast<uint64_t>((address & 0x3ffff) >> 4) | static_cast<uint64_t>(block_bytes >> 4) << 16 |
         static_cast<uint64_t>(kSwizzledBytes >> 4) << 32 | static_cast<uint64_t>(1) << 62;
}
// The number that moves a description by this many bytes, if it is added.
__host__ __device__ constexpr uint64_t moved_by(int bytes) { return static_cast<uint64_t>(bytes) >> 4; }

template <int kN>
struct Columns {};

// wgmma<kFirst>(Columns<N>(), d, a, b, adds): d = a b, or d += a b if `adds`. a is [64, 16], in
// registers; b [N, 16], rows of a tile; d [64, N] in f32, d[kFirst] and on. Lane l of warp w has
// rows 16 w + l / 4 and 8 more, and of each 8 columns those at 2 (l % 4) and 1 more.
// clang-format off
#define P0 "%0, %1, %2, %3"
#define P1 "%4, %5, %6, %7"
#define P2 "%8, %9, %10, %11"
#define P3 "%12, %13, %14, %15"
#define P4 "%16, %17, %18, %19"
#define P5 "%20, %21, %22, %23"
#define P6 "%24, %25, %26, %27"
#define P7 "%28, %29, %30, %31"
#define P8 "%32, %33, %34, %35"
#define P9 "%36, %37, %38, %39"
#define P10 "%40, %41, %42, %43"
#define P11 "%44, %45, %46, %47"
#define P12 "%48, %49, %50, %51"
#define P13 "%52, %53, %54, %55"
#define P14 "%56, %57, %58, %59"
#define P15 "%60, %61, %62, %63"
#define P16 "%64, %65, %66, %67"
#define P17 "%68, %69, %70, %71"
#define P18 "%72, %73, %74, %75"
#define P19 "%76, %77, %78, %79"
#define P20 "%80, %81, %82, %83"
#define P21 "%84, %85, %86, %87"
#define P22 "%88, %89, %90, %91"
#define P23 "%92, %93, %94, %95"
#define P24 "%96, %97, %98, %99"
#define P25 "%100, %101, %102, %103"
#define P26 "%104, %105, %106, %107"
#define P27 "%108, %109, %110, %111"
#define P28 "%112, %113, %114, %115"
#define P29 "%116, %117, %118, %119"
#define P30 "%120, %121, %122, %123"
#define P31 "%124, %125, %126, %127"
#define D4(i) "+f"(d[kFirst + i]), "+f"(d[kFirst + i + 1]), "+f"(d[kFirst + i + 2]), "+f"(d[kFirst + i + 3])
#define D16(i) D4(i), D4(i + 4), D4(i + 8), D4(i + 12)
#define D32(i) D16(i), D16(i + 16)
#define ALL(...) __VA_ARGS__
#define WGMMA(n, places, results, a0, a1, a2, a3, b_place, adds_place)                                                 \
  template <int kFirst, int kSize>                                                                                     \
  __device__ inline void wgmma(Columns<n>, float (&d)[kSize], const uint32_t (&a)[4], uint64_t b, int adds) {          \
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %" #adds_place ", 0;\n"                                             \
                 "wgmma.mma_async.sync.aligned.m64n" #n "k16.f32.bf16.bf16 {" places "}, {%" #a0 ", %" #a1 ", %" #a2    \
                 ", %" #a3 "}, %" #b_place ", p, 1, 1, 0;\n}\n"                                                        \
                 : results                                                                                             \
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(adds));                                     \
  }
WGMMA(16, P0 ", " P1, ALL(D4(0), D4(4)), 8, 9, 10, 11, 12, 13)
WGMMA(32, P0 ", " P1 ", " P2 ", " P3, ALL(D16(0)), 16, 17, 18, 19, 20, 21)
WGMMA(56, P0 ", " P1 ", " P2 ", " P3 ", " P4 ", " P5 ", " P6, ALL(D16(0), D4(16), D4(20), D4(24)), 28, 29, 30, 31, 32, 33)
WGMMA(64, P0 ", " P1 ", " P2 ", " P3 ", " P4 ", " P5 ", " P6 ", " P7, ALL(D32(0)), 32, 33, 34, 35, 36, 37)
WGMMA(72, P0 ", " P1 ", " P2 ", " P3 ", " P4 ", " P5 ", " P6 ", " P7 ", " P8, ALL(D32(0), D4(32)), 36, 37, 38, 39, 40, 41)
WGMMA(112, P0 ", " P1 ", " P2 ", " P3 ", " P4 ", " P5 ", " P6 ", " P7 ", " P8 ", " P9 ", " P10 ", " P11 ", " P12 ", " P13, ALL(D32(0), D16(32), D4(48), D4(52)), 56, 57, 58, 59, 60, 61)
WGMMA(120, P0 ", " P1 ", " P2 ", " P3 ", " P4 ", " P5 ", " P6 ", " P7 ", " P8 ", " P9 ", " P10 ", " P11 ", " P12 ", " P13 ", " P14, ALL(D32(0), D16(32), D4(48), D4(52), D4(56)), 60, 61, 62, 63, 64, 65)
WGMMA(128, P0 ", " P1 ", " P2 ", " P3 ", " P4 ", " P5 ", " P6 ", " P7 ", " P8 ", " P9 ", " P10 ", " P11 ", " P12 ", " P13 ", " P14 ", " P15, ALL(D32(0), D32(32)), 64, 65, 66, 67, 68, 69)
#undef WGMMA

// wgmma_shared<kTransposes>(Columns<128>(), d, a, b, adds): the same with a in shared memory, too,
// as [64, 16], or as [16, 64] if `kTransposes`.
template <bool kTransposes, int kSize>
__device__ inline void wgmma_shared(Columns<128>, float (&d)[kSize], uint64_t a, uint64_t b, int adds) {
  constexpr int kFirst = 0;
  asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %66, 0;\n"
               "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {" P0 ", " P1 ", " P2 ", " P3 ", " P4 ", " P5 ", " P6 ", " P7 ", " P8 ", " P9 ", " P10 ", " P11 ", " P12 ", " P13 ", " P14 ", " P15 "}, %64, %65, p, 1, 1, %67, 0;\n}\n"
               : D32(0), D32(32)
               : "l"(a), "l"(b), "r"(adds), "n"(static_cast<int>(kTransposes)));
}

// d += a b with both in shared memory, transposed: a is stored as [16, 64], b as [16, N], of which
// 64 columns are a block of rows.
#define WGMMA_TRANSPOSED(n, places, results, a_place, b_place)                                                         \
  template <int kSize>                                                                                                 \
  __device__ inline void wgmma_transposed(Columns<n>, float (&d)[kSize], uint64_t a, uint64_t b) {                     \
    constexpr int kFirst = 0;                                                                                          \
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, 1, 0;\n"                                                            \
                 "wgmma.mma_async.sync.aligned.m64n" #n "k16.f32.bf16.bf16 {" places "}, %" #a_place ", %" #b_place    \
                 ", p, 1, 1, 1, 1;\n}\n"                                                                               \
                 : results                                                                                             \
                 : "l"(a), "l"(b));                                                                                    \
  }
WGMMA_TRANSPOSED(64, P0 ", " P1 ", " P2 ", " P3 ", " P4 ", " P5 ", " P6 ", " P7, ALL(D32(0)), 32, 33)
WGMMA_TRANSPOSED(128, P0 ", " P1 ", " P2 ", " P3 ", " P4 ", " P5 ", " P6 ", " P7 ", " P8 ", " P9 ", " P10 ", " P11 ", " P12 ", " P13 ", " P14 ", " P15, ALL(D32(0), D32(32)), 64, 65)
WGMMA_TRANSPOSED(192, P0 ", " P1 ", " P2 ", " P3 ", " P4 ", " P5 ", " P6 ", " P7 ", " P8 ", " P9 ", " P10 ", " P11 ", " P12 ", " P13 ", " P14 ", " P15 ", " P16 ", " P17 ", " P18 ", " P19 ", " P20 ", " P21 ", " P22 ", " P23, ALL(D32(0), D32(32), D32(64)), 96, 97)
WGMMA_TRANSPOSED(256, P0 ", " P1 ", " P2 ", " P3 ", " P4 ", " P5 ", " P6 ", " P7 ", " P8 ", " P9 ", " P10 ", " P11 ", " P12 ", " P13 ", " P14 ", " P15 ", " P16 ", " P17 ", " P18 ", " P19 ", " P20 ", " P21 ", " P22 ", " P23 ", " P24 ", " P25 ", " P26 ", " P27 ", " P28 ", " P29 ", " P30 ", " P31, ALL(D32(0), D32(32), D32(64), D32(96)), 128, 129)
#undef WGMMA_TRANSPOSED

// The same with a in registers, as of wgmma(), and 64 columns; the results are d[kFirst] and on.
template <int kFirst, int kSize>
__device__ inline void wgmma_transposed(Columns<64>, float (&d)[kSize], const uint32_t (&a)[4], uint64_t b) {
  asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, 1, 0;\n"
               "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {" P0 ", " P1 ", " P2 ", " P3 ", " P4 ", " P5 ", " P6 ", " P7 "}, {%32, %33, %34, %35}, %36, p, 1, 1, 1;\n}\n"
               : D32(0)
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));
}
#undef P0
#undef P1
#undef P2
#undef P3
#undef P4
#undef P5
#undef P6
#undef P7
#undef P8
#undef P9
#undef P10
#undef P11
#undef P12
#undef P13
#undef P14
#undef P15
#undef P16
#undef P17
#undef P18
#undef P19
#undef P20
#undef P21
#undef P22
#undef P23
#undef P24
#undef P25
#undef P26
#undef P27
#undef P28
#undef P29
#undef P30
#undef P31
#undef D4
#undef D16
#undef D32
#undef ALL
// clang-format on

// Waits for all blocks of a cooperative launch. `turns`: two numbers, 0 at first, that outlive the
// launch. One thread of each block calls this.
__device__ inline void wait_for_blocks(unsigned* turns) {
  __threadfence();
  volatile unsigned* const turn = turns + 1;
  const unsigned before = *turn;
  __threadfence();
  if (atomicAdd(turns, 1) == gridDim.x - 1) {
    *turns = 0;
    __threadfence();
    *turn = before + 1;
  } else {
    while (*turn == before) {}
  }
  __threadfence();
}

struct LaunchShape {
  int blocks, threads, shared_bytes;
  bool is_cooperative = false;  // all blocks run at once
};

template <typename... Parameters, typename... Values>
void launch(void (*kernel)(Parameters...), const LaunchShape& shape, cudaStream_t stream, const Values&... values) {
  check_launch(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shape.shared_bytes));
  cudaLaunchAttribute cooperative{};
  cooperative.id = cudaLaunchAttributeCooperative;
  cooperative.val.cooperative = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = static_cast<unsigned>(shape.blocks);
  config.blockDim = static_cast<unsigned>(shape.threads);
  config.dynamicSmemBytes = static_cast<size_t>(shape.shared_bytes);
  config.stream = stream;
  config.attrs = &cooperative;
  config.numAttrs = shape.is_cooperative ? 1 : 0;
  check_launch(cudaLaunchKernelEx(&config, kernel, values...));
}

}  // namespace troika::cuda::hopper
