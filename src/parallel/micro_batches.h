// Cuts a rank's batch into micro-batches, which go through the network one after another.
#pragma once

#include <string>
#include <vector>

#include "core/split.h"
#include "graph/graph.h"

namespace troika {

// Samples of a rank that go through the network together.
struct MicroBatch {
  Range samples;                  // in the whole batch
  bool tracks_statistics = true;  // of BatchNorm
  // samples of all ranks' micro-batches with this number, which SyncBatchNorm normalises together
  int64_t together = 0;
};

// With `logical_shards` = 0, a rank's samples [offset, offset + count) are cut into
// `micro_batches`. Else the batch of `global` samples is cut into logical shards, whatever the
// number of ranks, and the rank gets its own shards; BatchNorm tracks the first shard of all.
// Shards without samples, the last ones, are left out.
std::vector<MicroBatch> cut_micro_batches(int64_t micro_batches, Range own);
// The same over shares that normalise together: every share has as many micro-batches, some without
// samples.
std::vector<MicroBatch> cut_aligned_micro_batches(int64_t micro_batches, int64_t global, const ShareSizes& sizes,
                                                  int64_t share);
std::vector<MicroBatch> cut_logical_shards(int64_t logical_shards, int64_t global, int64_t ranks, int64_t rank);
// of all the rank's shards
Range samples_of_shards(int64_t logical_shards, int64_t global, int64_t ranks, int64_t rank);

// Returns the reason why this number of logical shards is refused, such as "logical_shards is 6,
// need a power of 2"; empty: none. Sums of gradients have the same bits on any number of devices
// only if each device's shards are a branch of the tree of sums.
std::string refusal_of_shards(int64_t logical_shards, int64_t micro_batches, int64_t devices);

// Makes batch_norm2d keep its running statistics unchanged.
void stop_tracking(Graph& graph);

}  // namespace troika
