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

// Bytes [begin, end) of data that several ranks share. One rank, the owner, has the newest.
struct OwnedBytes {
  size_t begin = 0;
  size_t end = 0;
  int owner = 0;
};

}  // namespace troika
