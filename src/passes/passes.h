// Graph-to-graph passes of one rank.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "ops/op_def.h"

namespace troika {

// Returns a copy of the graph for another batch: dimension 0 of the input is replaced, and every
// shape is inferred anew.
Graph rebatch(const Graph& graph, int64_t batch);

// Turns training mode into evaluation mode: batch_norm2d reads its running statistics, and dropout
// disappears.
void to_inference(Graph& graph);

// Merges neighbours that one kernel computes in one pass: relu into the op before it, a residual
// add into batch_norm2d, a flattening into linear. To be run before the backward pass exists, so
// that gradients are those of the merged ops. Leaves out joins of sequences that are cut again
// (fuse_steps). If layers belong to stages of a pipeline, no node gets an input that a later stage
// makes.
using StageOf = std::function<int(const std::string& layer)>;
void fuse(Graph& graph, const StageOf& stage_of = {});
void fuse_steps(Graph& graph);  // nodes that nothing reads any more stay in the graph

// Makes batch_norm2d_gradient add the two gradients of a value with two readers, as after each
// block of a ResNet.
void fuse_adds(Graph& graph);

// Lets the gradient of a pooling apply that of the ReLU before it. To be run after autodiff.
void fuse_relus(Graph& graph);

// Lets convolutions apply the pooling of 2 x 2 pixels that follows, and their gradients the
// gradients of the pooling and of the ReLU before it: the image before the pooling, and its
// gradient, are never stored. To be run after autodiff and fuse_relus, before recompute. `fuses`
// returns whether the device's kernels can, for a conv2d and its max_pool2d or avg_pool2d. Layers
// of two stages stay apart.
using FusesPool = std::function<bool(const Graph&, const Node& conv2d, const Node& pool)>;
void fuse_pools(Graph& graph, const FusesPool& fuses, const StageOf& stage_of = {});

// Lets convolutions store a pooled image, and read its gradient, as the linear layers around them
// do: `plain_pool` (ops/fused_pool.h). To be run after fuse_pools and fuse_loss.
void plain_pools(Graph& graph);

// Lets convolutions and their input gradients return the sums of their results that batch_norm2d
// and its gradient need, if the device's kernel has them at once. To be run after autodiff,
// fuse_adds and fuse_pools.
struct KernelsOfSums {
  // Returns the number of rows of sums of a conv2d or conv2d_input_gradient; 0: its kernel has
  // none.
  std::function<int64_t(const Graph&, const Node&)> rows;
  // Returns whether the kernel of a batch_norm2d can write a mask of its ReLU.
  std::function<bool(const Graph&, const Node&)> has_mask;
};
void fuse_sums(Graph& graph, const KernelsOfSums& kernels);

// Lets convolutions and their weight gradients apply the batch_norm2d and ReLU before them, so that
// the normalised image is never stored. `normalizes` returns whether the kernels of this conv2d and
// of its weight gradient can. To be run after fuse_sums.
using NormalizesInput = std::function<bool(const Graph&, const Node& conv2d)>;
void fuse_norms(Graph& graph, const NormalizesInput& normalizes);

// Stores the input gradient of a convolution of 1x1 without the zeros that its stride leaves, if a
// batch_norm2d_gradient or conv2d_input_gradient adds it to another gradient. `adds` returns
// whether the kernel of this node can. To be run after fuse_adds and fuse_sums.
using AddsWithoutGaps = std::function<bool(const Graph&, const Node&, int64_t stride)>;
void close_gaps(Graph& graph, const AddsWithoutGaps& adds);

// Merges the last linear layer of a classifier with its cross_entropy and the gradients of both,
// if the device has a kernel for that. To be run after autodiff. Logits are rounded in another
// order than by two kernels.
using FusesLoss = std::function<bool(const Graph&, const Node& linear)>;
void fuse_loss(Graph& graph, const FusesLoss& fuses);

// Widens gradients of weights to f32 by one node before their first reader, if the convolution's
// kernel returns 16 bits: a launch for each is longer than its work. `rounds` returns whether it
// does. To be run if nothing sums gradients, because a sum would wait for the last of them.
using RoundsGradient = std::function<bool(const Graph&, const Node&)>;
void fuse_widening(Graph& graph, const RoundsGradient& rounds);

// Removes biases of convolutions that batch_norm2d subtracts again in training. To be run after
// autodiff.
void absorb_biases(Graph& graph);

// Lets batch_norm2d_gradient return the gradient of a convolution's bias that is the same as that
// of batch_norm2d's own. To be run after fuse_adds.
void share_sums(Graph& graph);

// Sets the gradients of biases that batch_norm2d subtracts again to 0, all by one node.
void zero_biases(Graph& graph);

// Merges the casts of parameters into one node, at the place of the first cast: there are many, and
// each is shorter than its launch.
void fuse_casts(Graph& graph);

// Lets the update keep the 16-bit copies of parameters, which fuse_casts makes in each step. To be
// run if nothing else changes parameters.
void keep_copies(Graph& graph);

// Lets gradients of weights run concurrently with the launches that follow, if they have at least
// so many operations, until a launch needs their memory (plan/launch_order.h). Sets the attribute
// `beside`.
void run_beside(Graph& graph, double least_operations);

// Cuts off rows and columns of an input image that no later layer reads: they are beyond the last
// whole window of a later convolution or pooling. No layer then computes them. All other values and
// all gradients stay the same.
void crop_unread(Graph& graph);

// Appends the backward pass of outputs[0] for the named parameters. Their gradients become values
// of Role::gradient with the names of the parameters. With `of_inputs`, the gradient of the samples
// becomes an output; if they are cropped, it is the gradient of the part that is left.
void autodiff(Graph& graph, const std::vector<std::string>& trainable, bool of_inputs = false);

// Removes nodes whose results nothing reads.
void remove_dead_code(Graph& graph);

// Helpers of the passes.
std::vector<int> count_uses(const Graph& graph);       // for each value: how often nodes and outputs use it
std::vector<ValueId> find_memory(const Graph& graph);  // for each value: itself, or the value that a view shows

}  // namespace troika
