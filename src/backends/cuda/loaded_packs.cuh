// Packs that a thread has loaded: several at once, so that their loads are in flight together.
#pragma once

#include <type_traits>

#include "backends/cuda/elements.cuh"

namespace troika::cuda {

// N packs in registers, as words: elements of 16 bits would take a register each.
template <typename P, int N>
class LoadedPacks {
 public:
  // from[at], from[at + stride] and so on, as many of the N as are left.
  __device__ void load(const P* from, int64_t at, int64_t stride, int left) {
#pragma unroll
    for (int i = 0; i < N; ++i)
      if (i < left) words_[i] = reinterpret_cast<const Words*>(from)[at + i * stride];
  }

  // from[place_of(i)] for as many as are left; zeros if the place is below 0.
  template <typename PlaceOf>
  __device__ void load_from(const P* from, int left, PlaceOf place_of) {
#pragma unroll
    for (int i = 0; i < N; ++i)
      if (i < left) {
        const int64_t place = place_of(i);
        words_[i] = place < 0 ? Words{} : reinterpret_cast<const Words*>(from)[place];
      }
  }

  __device__ P operator[](int i) const { return reinterpret_cast<const P&>(words_[i]); }

 private:
  using Words = std::conditional_t<sizeof(P) == sizeof(uint4), uint4, P>;
  Words words_[N];
};

}  // namespace troika::cuda
