// Cutting a rank's batch into parts that go through the network one behind the other.
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
  int64_t together = 0;  // samples of all ranks' micro-batches at this one's place, which SyncBatchNorm normalises
};

// `logical_shards` = 0: a rank's samples, [offset, offset + count) of the batch, cut into `micro_batches`. Else the batch of
// `global` samples is cut into logical shards, whatever the number of ranks, and these are the rank's; BatchNorm tracks the
// first of all. Those without samples, the last ones, are left out.
std::vector<MicroBatch> cut_micro_batches(int64_t micro_batches, Range own);
// The same over `ranks` that normalise together: as many on every rank, of which some have no samples.
std::vector<MicroBatch> cut_aligned_micro_batches(int64_t micro_batches, int64_t global, int64_t ranks, int64_t rank);
std::vector<MicroBatch> cut_logical_shards(int64_t logical_shards, int64_t global, int64_t ranks, int64_t rank);
Range samples_of_shards(int64_t logical_shards, int64_t global, int64_t ranks, int64_t rank);  // of all of them

// What is wrong with this number of logical shards: "logical_shards is 6, need a power of 2". Empty: nothing. Sums of gradients come
// out the same on any number of devices where each device's shards are a branch of the tree.
std::string refusal_of_shards(int64_t logical_shards, int64_t micro_batches, int64_t devices);

// Lets batch_norm2d leave its running statistics alone.
void stop_tracking(Graph& graph);

}  // namespace troika
