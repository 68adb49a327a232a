// The part of a collective that one rank does, on data of all ranks that it can reach.
#pragma once

#include <cstddef>

#include "comm/collective.h"

namespace troika {

// The data of each rank of a group, at an address of this process.
struct RankData {
  void* const* of_ranks;
  size_t ranks;
};

// Whether one rank computes the whole: slices of a few numbers would cost more wake-ups than work.
bool is_small(const Collective& collective);

// Does the rank's part, once all ranks have started. An all_reduce: sums the rank's slice in pairs,
// then pairs of pairs, into the data of all ranks; no other rank touches the slice. An all_gather:
// copies what the others own; no rank writes what it owns before all have copied. A reduce_scatter:
// sums what the rank owns, which no other rank reads. Flags: rank 0 combines them, before any other
// rank touches its own.
void do_slice(const Collective& collective, const RankData& data, int rank);

// The parts of all ranks of an all_reduce.
void sum_whole(const Collective& collective, const RankData& data);

}  // namespace troika
