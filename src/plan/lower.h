// Lowering: a rank's graph to a plan, by asking the device for a kernel for every node.
#pragma once

#include "device/backend.h"
#include "plan/plan.h"

namespace troika {

// Kernels choose layouts; reorders go where two disagree. Decides the layouts of the state table where they are open, and
// places it. Runs on the device's worker thread, whose number of threads kernels are made for.
Plan lower(const Graph& graph, Device& device, StateTable& state);

}  // namespace troika
