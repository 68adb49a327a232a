// Whether the processes of a world store their state in the same layouts.
#pragma once

#include <vector>

#include "train/local_ranks.h"

namespace troika {

// Compares the tables of parts of a model, which are placed, between the processes whose ranks have
// them. A bucket must have the same bytes in all processes. Kernels prefer other layouts for other
// numbers of samples, and on other processors. Collective. COMM.
bool have_same_layouts(const LocalRanks& ranks, const RankMap& map, const std::vector<StateTable>& tables);

}  // namespace troika
