// Lowering: turns a rank's graph into a plan, by asking the device for a kernel for every node.
#pragma once

#include "core/interruption.h"
#include "core/log.h"
#include "device/backend.h"
#include "plan/plan.h"

namespace troika {

// Kernels choose layouts, and a reorder is inserted if two layouts disagree. Decides the layouts of
// the state table that are still open, and places the table. Runs on the device's worker thread,
// because kernels are made for its number of threads.
Plan lower(const Graph& graph, Device& device, StateTable& state, const Interruption& interruption = {},
           const Log& log = Log());

}  // namespace troika
