// Sums and copies between the data of ranks.
#include "comm/slices.h"

#include <algorithm>
#include <cstring>

#include "comm/pairwise_sum.h"

namespace troika {
namespace {

constexpr int64_t kMostSmall = 64;  // elements of a sum that one rank computes alone

// Writes the sum of elements [begin, end) into the data of each rank, or only of `owner`.
template <typename T>
void sum_slice(const RankData& data, int64_t begin, int64_t end, int owner = -1) {
  sum_all<T>({data.of_ranks, nullptr, data.ranks}, begin, end, [&](const T* sum, int64_t at, int64_t m) {
    for (size_t r = 0; r < data.ranks; ++r)
      if (owner < 0 || r == static_cast<size_t>(owner)) std::copy(sum, sum + m, static_cast<T*>(data.of_ranks[r]) + at);
  });
}

void sum_slice(const Collective& collective, const RankData& data, int rank) {
  with_sum_type(collective.dtype, [&](auto zero) {
    constexpr int64_t kElements = kCacheLine / static_cast<int64_t>(sizeof zero);
    const int64_t lines = (collective.count + kElements - 1) / kElements;
    const Range range = balanced_split(lines, static_cast<int>(data.ranks), rank);
    sum_slice<decltype(zero)>(data, range.begin * kElements, std::min(range.end * kElements, collective.count));
  });
}

void gather(const Collective& collective, const RankData& data, int rank) {
  auto* const own = static_cast<std::byte*>(data.of_ranks[rank]);
  for (const OwnedBytes& piece : *collective.pieces) {
    if (piece.owner == rank) continue;
    const auto* const theirs = static_cast<const std::byte*>(data.of_ranks[piece.owner]);
    std::memcpy(own + piece.begin, theirs + piece.begin, piece.end - piece.begin);
  }
}

void scatter(const Collective& collective, const RankData& data, int rank) {
  constexpr auto kSize = static_cast<int64_t>(sizeof(float));
  for (const OwnedBytes& piece : *collective.pieces)
    if (piece.owner == rank)
      sum_slice<float>(data, static_cast<int64_t>(piece.begin) / kSize, static_cast<int64_t>(piece.end) / kSize, rank);
}

void combine_flags(const RankData& data) {
  int32_t all = 1;
  for (size_t r = 0; r < data.ranks; ++r) all = all && *static_cast<const int32_t*>(data.of_ranks[r]) != 0;
  for (size_t r = 0; r < data.ranks; ++r) *static_cast<int32_t*>(data.of_ranks[r]) = all;
}

}  // namespace

bool is_small(const Collective& collective) {
  return collective.kind == CollectiveKind::all_reduce && collective.count <= kMostSmall;
}

void do_slice(const Collective& collective, const RankData& data, int rank) {
  switch (collective.kind) {
    case CollectiveKind::all_reduce:
      if (data.ranks > 1) sum_slice(collective, data, rank);
      return;
    case CollectiveKind::all_gather: return gather(collective, data, rank);
    case CollectiveKind::reduce_scatter: return scatter(collective, data, rank);
    case CollectiveKind::all_of:
      if (rank == 0) combine_flags(data);
      return;
  }
}

void sum_whole(const Collective& collective, const RankData& data) {
  with_sum_type(collective.dtype, [&](auto zero) { sum_slice<decltype(zero)>(data, 0, collective.count); });
}

}  // namespace troika
