// How n samples are cut over several devices: in order. By default sizes differ by at most one, the
// larger first.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

namespace troika {

struct Range {
  int64_t begin = 0;
  int64_t end = 0;
  int64_t size() const { return end - begin; }
  bool operator==(const Range&) const = default;
};

// Returns piece `index` of `n` samples cut into `pieces`: 10 over 4 are 3, 3, 2, 2.
inline Range balanced_split(int64_t n, int64_t pieces, int64_t index) {
  const int64_t base = n / pieces, extra = n % pieces;
  const int64_t begin = index * base + (index < extra ? index : extra);
  return {begin, begin + base + (index < extra ? 1 : 0)};
}

// The sizes of the shares of a batch.
struct ShareSizes {
  int64_t shares = 1;
  std::vector<double> parts = {};  // by share, above 0: their sizes are as these; empty: equal
  bool operator==(const ShareSizes&) const = default;

  // Returns the rows of a share in a batch of `n` samples. Shares 3 and 1 have 8 and 2 rows of 10.
  Range rows(int64_t n, int64_t share) const {
    if (parts.empty()) return balanced_split(n, shares, share);
    return {first_row(n, share), first_row(n, share + 1)};
  }
  // Returns the share with most rows; the first of equal ones.
  int64_t largest() const { return std::max_element(parts.begin(), parts.end()) - parts.begin(); }
  // Returns the part of a batch that shares [first, first + count) have.
  double fraction(int64_t first, int64_t count) const {
    if (parts.empty()) return static_cast<double>(count) / static_cast<double>(shares);
    return sum_before(first + count) / sum_before(shares) - sum_before(first) / sum_before(shares);
  }

 private:
  double sum_before(int64_t share) const { return std::accumulate(parts.begin(), parts.begin() + share, 0.0); }
  int64_t first_row(int64_t n, int64_t share) const {
    if (share == shares) return n;
    return static_cast<int64_t>(static_cast<double>(n) * (sum_before(share) / sum_before(shares)) + 0.5);
  }
};

// Returns the samples of the smallest part that has any. Each share of a batch of `n` samples is
// cut into `pieces`. `is_joined`: the pieces with the same number are one part.
inline int64_t smallest_part(const ShareSizes& sizes, int64_t n, int64_t pieces, bool is_joined) {
  int64_t least = n;
  for (int64_t piece = 0; piece < pieces; ++piece) {
    int64_t together = 0;
    for (int64_t share = 0; share < sizes.shares; ++share) {
      const int64_t part = balanced_split(sizes.rows(n, share).size(), pieces, piece).size();
      together += part;
      if (!is_joined && part > 0) least = std::min(least, part);
    }
    if (is_joined && together > 0) least = std::min(least, together);
  }
  return least;
}

// The shares of a batch that a process computes: [first, first + count) of all.
struct Division {
  ShareSizes sizes = {};
  int64_t first = 0, count = 1;
  bool operator==(const Division&) const = default;

  bool is_whole() const { return count == sizes.shares; }
  // Returns the process's rows of a batch of `n` samples.
  Range rows(int64_t n) const {
    if (count == 0) return {};
    return {sizes.rows(n, first).begin, sizes.rows(n, first + count - 1).end};
  }
  // Returns the range of batches of which the process may have so many rows.
  Range batches_of(int64_t rows_of_process) const {
    const double fraction = sizes.fraction(first, count), rows = static_cast<double>(rows_of_process);
    const auto least = static_cast<int64_t>((rows - static_cast<double>(count)) / fraction);
    return {least > 1 ? least : 1, static_cast<int64_t>((rows + static_cast<double>(count)) / fraction) + 2};
  }
};

// Bytes [begin, end) of data that several ranks share. One rank, the owner, has the newest.
struct OwnedBytes {
  size_t begin = 0;
  size_t end = 0;
  int owner = 0;
};

}  // namespace troika
