// SyncBatchNorm: batch normalisation over the samples of all ranks that share a batch.
#pragma once

#include <vector>

#include "parallel/unroll.h"

namespace troika {

// Gives each batch_norm2d, which normalised this rank's samples, the moments of all `ranks`: it normalises as one device with
// the whole batch would, and all track the same running statistics. Before autodiff, whose sums follow from it.
void sync_batch_norm(Graph& graph, int rank, int ranks);

// Throws INVALID_ARGUMENT where a batch_norm2d has a single value a channel, of so many samples on all ranks together.
void require_several_values(const Graph& graph, int64_t samples);

// What a rank without samples of a part does: it gives zeros where ranks add up statistics, and gradients of -0, in the order
// of the others. `part` is one with samples.
StepPart idle_part(const StepPart& part);

}  // namespace troika
