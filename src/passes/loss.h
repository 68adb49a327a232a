// The loss of a step, and the pass that appends it.
#pragma once

#include "graph/graph.h"
#include "ops/losses.h"

namespace troika {

enum class Loss : int32_t { cross_entropy = 1, mean_squared_error = 2 };

// How the loss of a step is computed.
struct LossForm {
  Loss kind = Loss::cross_entropy;
  LabelSettings labels = {};
  double scale = 1;         // weight of one label in the gradient; for mean_squared_error, of one sample
  bool is_weighed = false;  // the gradient is multiplied by the input kLabelWeight as well
  bool is_scaled = false;   // and by the state kLossScale
};

// Appends the loss of the graph's output against a new input "target", and makes {loss[, correct]}
// the outputs.
void append_loss(Graph& graph, const LossForm& form);

// Appends a loss that the caller computes: the gradient of the output is a new input "target", and
// {output} stays the output.
void append_own_loss(Graph& graph);

// Returns the number of labels of a sample, over which a loss is summed; 1 for mean_squared_error.
// `output` is [batch, ...].
int64_t labels_per_sample(Loss kind, const Shape& output);

// The name of the weight of a label: f32 [1], 1 / (labels of the whole batch that are not ignored).
constexpr const char* kLabelWeight = "(label weight)";

}  // namespace troika
