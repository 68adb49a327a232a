// SyncBatchNorm: batch normalisation over the samples of all ranks that share a batch.
#pragma once

#include <vector>

#include "parallel/unroll.h"

namespace troika {

// Makes each batch_norm2d normalise with the moments of all `ranks` instead of only this rank's
// samples. All ranks then normalise as one device with the whole batch would, and track the same
// running statistics. To be run before autodiff, which derives the backward sums.
void sync_batch_norm(Graph& graph, int rank, int ranks);

// Throws INVALID_ARGUMENT if a batch_norm2d has a single value per channel in so many samples of
// all ranks.
void require_several_values(const Graph& graph, int64_t samples);

// Returns the network of a rank without samples. It contributes zeros to the sums of statistics,
// and gradients of -0, in the order of the other ranks. `network` has samples.
Network idle_network(const Network& network);

}  // namespace troika
