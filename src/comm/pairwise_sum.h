// Sums in a fixed order: ranks in pairs, then pairs of pairs.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace troika {

// The order is a tree over positions 0 .. n - 1. A node covers positions [first, first + width),
// with a width that is a power of 2; its sum is that of its halves. Positions from n on do not
// exist.
constexpr int64_t kSumBlock = 1024;  // elements that stay in the first-level cache
constexpr int kMostSumDepth = 16;    // of pairs of pairs
// Bytes of a cache line. Slices of ranks meet at lines, so that two ranks never write to the same
// one.
constexpr int64_t kCacheLine = 64;

// Summands by position. A summand may already be the sum of a node that begins at its position.
struct Summands {
  const void* const* data;  // null: belongs to a node that begins earlier
  const size_t* widths;     // of the nodes; null: 1 each
  size_t n;                 // positions
  size_t width_at(size_t position) const { return widths ? widths[position] : 1; }
};

// Returns elements [at, at + m) of the node's sum: in place if it is a summand, else in `sums`.
template <typename T>
const T* sum_block(const Summands& summands, size_t first, size_t width, int64_t at, int64_t m, T* sums) {
  if (width == 1 || summands.width_at(first) >= std::min(width, summands.n - first))
    return static_cast<const T*>(summands.data[first]) + at;
  const size_t half = width / 2;
  const T* const left = sum_block(summands, first, half, at, m, sums);
  if (first + half >= summands.n) return left;
  const T* const right = sum_block(summands, first + half, half, at, m, sums + kSumBlock);
  for (int64_t i = 0; i < m; ++i) sums[i] = left[i] + right[i];
  return sums;
}

// Calls write(sum, at, m) for each block of elements [begin, end) of a node's sum.
template <typename T, typename Write>
void sum_node(const Summands& summands, size_t first, size_t width, int64_t begin, int64_t end, Write write) {
  alignas(kCacheLine) T sums[kMostSumDepth * kSumBlock];
  for (int64_t at = begin; at < end; at += kSumBlock) {
    const int64_t m = std::min(kSumBlock, end - at);
    write(sum_block(summands, first, width, at, m, sums), at, m);
  }
}

// The same for the sum over all positions.
template <typename T, typename Write>
void sum_all(const Summands& summands, int64_t begin, int64_t end, Write write) {
  sum_node<T>(summands, 0, std::bit_ceil(summands.n), begin, end, write);
}

}  // namespace troika
