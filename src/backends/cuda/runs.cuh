// Runs of state: tensors, merged if they are stored one after another, in tables that a kernel
// takes by value.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <vector>

#include "backends/cuda/kernels.h"

namespace troika::cuda {

// `count` floats from each of the addresses on; addresses of state are multiples of 64 bytes.
template <int kArrays>
struct Run {
  float* arrays[kArrays];
  int64_t count;

  const void* address() const { return arrays[0]; }
  // Whether the other run continues this one.
  bool is_followed_by(const Run& next) const {
    for (int i = 0; i < kArrays; ++i)
      if (arrays[i] + count != next.arrays[i]) return false;
    return true;
  }
};

// Returns the floats of a tensor in its layout.
inline int64_t floats_in(const TensorType& type, const LayoutPtr& layout) {
  return static_cast<int64_t>((layout ? layout->bytes() : type.bytes()) / sizeof(float));
}

constexpr int kChunk = 4096;  // floats that a block takes

// `Run` is Run<...>, or a type with the same members.
template <typename Run>
struct RunTable {
  // A kernel's parameters have 4 KB.
  static constexpr int kMost = 3600 / (sizeof(Run) + sizeof(int32_t));

  Run runs[kMost];
  int32_t first_chunk[kMost + 1];  // of each run, counted over all; the last entry: their number
  int32_t size;

  unsigned chunks() const { return static_cast<unsigned>(first_chunk[size]); }
};

// As few tables as hold all tensors, in order of address.
template <typename Run>
std::vector<RunTable<Run>> make_tables(std::vector<Run> tensors) {
  std::sort(tensors.begin(), tensors.end(),
            [](const Run& a, const Run& b) { return std::less<>()(a.address(), b.address()); });
  std::vector<Run> runs;
  for (const Run& tensor : tensors) {
    if (tensor.count == 0) continue;
    if (!runs.empty() && runs.back().is_followed_by(tensor))
      runs.back().count += tensor.count;
    else
      runs.push_back(tensor);
  }
  std::vector<RunTable<Run>> tables;
  for (const Run& run : runs) {
    if (tables.empty() || tables.back().size == RunTable<Run>::kMost) tables.emplace_back();
    RunTable<Run>& table = tables.back();
    table.runs[table.size] = run;
    const int64_t chunks = (run.count + kChunk - 1) / kChunk;
    table.first_chunk[table.size + 1] = table.first_chunk[table.size] + static_cast<int32_t>(chunks);
    ++table.size;
  }
  return tables;
}

// The part of a block: `length` floats of a run, from `begin` on, which is a multiple of kChunk.
struct Chunk {
  int run;
  int64_t begin;
  int length;
};

template <typename Run>
__device__ inline Chunk chunk_of(const RunTable<Run>& table, int chunk) {
  int low = 0, high = table.size;  // low's first chunk is not after the chunk, high's is
  while (high - low > 1) {
    const int middle = (low + high) / 2;
    if (table.first_chunk[middle] <= chunk)
      low = middle;
    else
      high = middle;
  }
  const int64_t begin = int64_t{chunk - table.first_chunk[low]} * kChunk, left = table.runs[low].count - begin;
  return {low, begin, left < kChunk ? static_cast<int>(left) : kChunk};
}

}  // namespace troika::cuda
