// Graph-to-graph passes of one rank.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "ops/losses.h"
#include "ops/op_def.h"

namespace troika {

// A copy of the graph for another batch: the input's dimension 0 is replaced and every shape inferred anew.
Graph rebatch(const Graph& graph, int64_t batch);

// Training mode to evaluation mode: batch_norm2d takes its running statistics, dropout disappears.
void to_inference(Graph& graph);

enum class Loss : int32_t { cross_entropy = 1, mean_squared_error = 2 };

// How the loss of a step is made.
struct LossForm {
  Loss kind = Loss::cross_entropy;
  LabelSettings labels = {};
  double scale = 1;         // what one label (of mean_squared_error: one sample) weighs in the gradient
  bool is_weighed = false;  // the gradient is multiplied by the input kLabelWeight as well
  bool is_scaled = false;   // and by the state kLossScale
};

// Appends the loss of the graph's output against a new input "target", and makes {loss[, correct]}
// the outputs.
void append_loss(Graph& graph, const LossForm& form);

// The labels of a sample, over which a loss is summed; 1 for mean_squared_error. `output`: [batch,
// ...].
int64_t labels_per_sample(Loss kind, const Shape& output);

// The name of the weight of a label: f32 [1], 1 / (labels of the whole batch that are not ignored).
constexpr const char* kLabelWeight = "(label weight)";

// Mixed precision: ops that say so compute in `low` (bf16 or f16), by casts of what they read; parameters, statistics,
// losses and the outputs stay f32. Before autodiff, whose casts follow from the forward ones.
void mixed_precision(Graph& graph, DType low);

// Lets convolutions and linear layers, forward and backward, round their f32 factors to TF32 where the device can.
void allow_tf32(Graph& graph);

// Merges neighbours that one kernel computes in one pass, before the backward pass exists, so that gradients are those of
// the merged ops: relu into what it follows, a residual add into batch_norm2d, a flattening into linear. Joins of sequences that
// are cut again are left out (fuse_steps). Where the layers lie in stages of a pipeline, no node comes to read what a later
// stage makes.
using StageOf = std::function<int(const std::string& layer)>;
void fuse(Graph& graph, const StageOf& stage_of = {});
void fuse_steps(Graph& graph);  // nodes that nothing reads any more are left

// Lets batch_norm2d_gradient add up the two gradients of a value that is read twice, as behind each block of a ResNet.
void fuse_adds(Graph& graph);

// Leaves out biases of convolutions that batch_norm2d in training takes out again. Behind autodiff.
void absorb_biases(Graph& graph);

// Gives 0 for the gradients of biases that batch_norm2d takes out again, of all by one node.
void zero_biases(Graph& graph);

// Makes the casts of parameters one node, where the first of them is: they are many, and short beside a launch.
void fuse_casts(Graph& graph);

// Lets gradients of weights of at least so many operations run beside the launches that follow, until one needs their memory
// (see plan/launch_order.h). Attribute: beside.
void run_beside(Graph& graph, double least_operations);

// Cuts from an input image the rows and columns that end, through convolutions and pooling, behind the last whole window of
// a later layer, so that no layer computes them. What is left keeps its values, and so do all gradients.
void crop_unread(Graph& graph);

// Appends the backward pass of outputs[0] for the parameters named, whose gradients become values of Role::gradient named
// as the parameter.
void autodiff(Graph& graph, const std::vector<std::string>& trainable);

// Removes nodes whose results nothing reads.
void remove_dead_code(Graph& graph);

// Helpers of the passes.
std::vector<int> count_uses(const Graph& graph);       // by nodes and as outputs, for each value
std::vector<ValueId> find_memory(const Graph& graph);  // for each value: itself, or of a view the value that it shows

}  // namespace troika
