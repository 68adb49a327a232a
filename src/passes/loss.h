// The loss of a step, and the pass that appends it.
#pragma once

#include "graph/graph.h"
#include "ops/losses.h"
#include "ops/op_def.h"

namespace troika {

enum class Loss : int32_t {
  cross_entropy = 1,
  mean_squared_error = 2,
  mean_absolute_error = 3,
  huber = 4,
  binary_cross_entropy = 5,
};
const OpDef& op_of(Loss loss);
inline std::string_view name_of(Loss loss) { return op_of(loss).name; }

// How the loss of a step is computed.
struct LossForm {
  Loss kind = Loss::cross_entropy;
  LabelSettings labels = {};  // for cross_entropy
  double delta = 1;           // for huber
  double scale = 1;           // weight of one label in the gradient; for losses of values, of one sample
  bool is_weighed = false;    // the gradient is multiplied by the input kLabelWeight as well
  bool has_weights = false;   // a label's loss and gradient are multiplied by its own number of a new input "weights"
  bool is_scaled = false;     // and by the state kLossScale
};

// Appends the loss of the graph's output against a new input "target", and makes {loss[, correct]}
// the outputs.
void append_loss(Graph& graph, const LossForm& form);

// Appends a loss that the caller computes: the gradient of the output is a new input "target", and
// {output} stays the output.
void append_own_loss(Graph& graph);

// Returns the number of labels of a sample, over which a loss is summed; 1 for losses of values.
// `output` is [batch, ...].
int64_t labels_per_sample(Loss kind, const Shape& output);

// The name of the weight of a label: f32 [1], 1 / (labels of the whole batch that are not ignored,
// or the sum of their weights).
constexpr const char* kLabelWeight = "(label weight)";

}  // namespace troika
