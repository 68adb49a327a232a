// The number formats that a step computes in.
#pragma once

#include "graph/graph.h"

namespace troika {

// Mixed precision: ops whose traits say so compute in `low` (bf16 or f16), with casts of their
// inputs. Parameters, statistics, losses and outputs stay f32. To be run before autodiff, which
// derives the backward casts from the forward casts.
void mixed_precision(Graph& graph, DType low);

// Allows convolutions and linear layers, forward and backward, to round their f32 factors to TF32
// if the device can.
void allow_tf32(Graph& graph);

}  // namespace troika
