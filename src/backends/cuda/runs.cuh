// Runs of state: tensors, with those that lie one behind the other merged, in tables that a kernel takes by value.
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
};

// Floats of a tensor as it lies.
inline int64_t floats_in(const TensorType& type, const LayoutPtr& layout) {
  return static_cast<int64_t>((layout ? layout->bytes() : type.bytes()) / sizeof(float));
}

constexpr int kChunk = 4096;  // floats that a block takes

template <int kArrays>
struct RunTable {
  // A kernel's parameters have 4 KB.
  static constexpr int kMost = 3600 / (sizeof(Run<kArrays>) + sizeof(int32_t));

  Run<kArrays> runs[kMost];
  int32_t first_chunk[kMost + 1];  // of each run, counted over all; the last entry: their number
  int32_t size;

  unsigned chunks() const { return static_cast<unsigned>(first_chunk[size]); }
};

// As few tables as hold all tensors, in order of address.
template <int kArrays>
std::vector<RunTable<kArrays>> make_tables(std::vector<Run<kArrays>> tensors) {
  std::sort(tensors.begin(), tensors.end(),
            [](const Run<kArrays>& a, const Run<kArrays>& b) { return std::less<>()(a.arrays[0], b.arrays[0]); });
  auto follows = [](const Run<kArrays>& run, const Run<kArrays>& next) {
    for (int i = 0; i < kArrays; ++i)
      if (run.arrays[i] + run.count != next.arrays[i]) return false;
    return true;
  };
  std::vector<Run<kArrays>> runs;
  for (const Run<kArrays>& tensor : tensors) {
    if (tensor.count == 0) continue;
    if (!runs.empty() && follows(runs.back(), tensor))
      runs.back().count += tensor.count;
    else
      runs.push_back(tensor);
  }
  std::vector<RunTable<kArrays>> tables;
  for (const Run<kArrays>& run : runs) {
    if (tables.empty() || tables.back().size == RunTable<kArrays>::kMost) tables.emplace_back();
    RunTable<kArrays>& table = tables.back();
    table.runs[table.size] = run;
    const int64_t chunks = (run.count + kChunk - 1) / kChunk;
    table.first_chunk[table.size + 1] = table.first_chunk[table.size] + static_cast<int32_t>(chunks);
    ++table.size;
  }
  return tables;
}

// What a block takes: `length` floats of a run, from `begin` on, which is a multiple of kChunk.
struct Chunk {
  int run;
  int64_t begin;
  int length;
};

template <int kArrays>
__device__ inline Chunk chunk_of(const RunTable<kArrays>& table, int chunk) {
  int low = 0, high = table.size;  // low's first chunk is not behind, high's is
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
