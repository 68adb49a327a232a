// How n samples are cut over several devices: in order, with sizes that differ by at most one, the
// larger first.
#pragma once

#include <cstddef>
#include <cstdint>

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

// The shares of a batch that a process computes: shares [first, first + count) of `shares`.
struct Division {
  int64_t shares = 1, first = 0, count = 1;
  bool operator==(const Division&) const = default;

  bool is_whole() const { return count == shares; }
  // Returns the process's rows of a batch of `n` samples.
  Range rows(int64_t n) const {
    if (count == 0) return {};
    return {balanced_split(n, shares, first).begin, balanced_split(n, shares, first + count - 1).end};
  }
  // Returns the range of batches of which the process may have so many rows.
  Range batches_of(int64_t rows_of_process) const {
    const int64_t least = rows_of_process / count;
    return {least > 1 ? (least - 1) * shares : 1, (least + 2) * shares};
  }
};

// Bytes [begin, end) of data that several ranks share. One rank, the owner, has the newest.
struct OwnedBytes {
  size_t begin = 0;
  size_t end = 0;
  int owner = 0;
};

}  // namespace troika
