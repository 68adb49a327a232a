// fuse_sums: a convolution's kernel may sum what it stores, so that batch_norm2d does not read its
// input once more for mean and variance. In the same way the kernel of an input gradient may apply
// the ReLU's gradient and sum for batch_norm2d's gradient. At the end of a ResNet's block the
// kernel adds another gradient before.
//
// The kernel computes the ReLU's sign again from batch_norm2d's input. With a residual that would
// be one more image to read, so batch_norm2d writes a mask, a bit for each element.
#include <algorithm>

#include "ops/batch_norm2d.h"
#include "ops/products.h"
#include "passes/passes.h"

namespace troika {
namespace {

namespace norm_gradient = batch_norm2d_gradient;

// Adds the output of sums to a node of a convolution with c channels.
void add_sums(Graph& graph, Node& node, int64_t rows, int64_t channels) {
  node.attributes.set("sums", rows);
  node.outputs.push_back(graph.add_value("", {DType::f32, {rows, 2 * channels + 1}}));
}

// Returns the place of the node that makes each value; -1: an input, or state.
std::vector<ptrdiff_t> places_of_makers(const Graph& graph) {
  std::vector<ptrdiff_t> places(graph.values().size(), -1);
  for (size_t i = 0; i < graph.nodes().size(); ++i)
    for (ValueId id : graph.nodes()[i].outputs) places[id] = static_cast<ptrdiff_t>(i);
  return places;
}

void fuse_moments(Graph& graph, const KernelsOfSums& kernels) {
  std::vector<Node*> makers(graph.values().size(), nullptr);  // the convolution that makes each value
  for (Node& node : graph.nodes()) {
    if (node.op == &conv2d_op && !node.attributes.flag("relu") && !node.attributes.has("pool") &&
        node.inputs[product::bias] == kNoValue)
      makers[node.outputs[0]] = &node;
    if (node.op != &batch_norm2d_op || !makers[node.inputs[batch_norm2d::x]]) continue;
    Node& conv2d = *makers[node.inputs[batch_norm2d::x]];
    const bool has_moments =
        node.inputs.size() > batch_norm2d::moments && node.inputs[batch_norm2d::moments] != kNoValue;
    if (has_moments) continue;  // of all ranks
    if (conv2d.outputs.size() == 1) {
      const int64_t rows = kernels.rows(graph, conv2d);
      if (rows == 0) continue;
      add_sums(graph, conv2d, rows, graph.type(conv2d.outputs[0]).shape[1]);
      makers.push_back(nullptr);
    }
    node.inputs.resize(std::max<size_t>(node.inputs.size(), batch_norm2d::moments + 1), kNoValue);
    node.inputs[batch_norm2d::moments] = conv2d.outputs[1];
  }
}

void replace_uses(Graph& graph, ValueId old, ValueId now) {
  for (Node& node : graph.nodes()) std::replace(node.inputs.begin(), node.inputs.end(), old, now);
  for (Output& output : graph.outputs)
    if (output.id == old) output.id = now;
}

// Gradients of batch_norm2d with a ReLU, one after the other.
class GradientFusion {
 public:
  GradientFusion(Graph& graph, const KernelsOfSums& kernels)
      : graph_(graph),
        kernels_(kernels),
        uses_(count_uses(graph)),
        places_(places_of_makers(graph)),
        makers_(graph.values().size(), nullptr) {}

  void run() {
    for (Node& node : graph_.nodes()) {
      if (node.op == &batch_norm2d_op || node.op == &conv2d_input_gradient_op) makers_[node.outputs[0]] = &node;
      if (node.op != &batch_norm2d_gradient_op || node.inputs[norm_gradient::y] == kNoValue) continue;
      Node* const forward = makers_[node.inputs[norm_gradient::y]];
      if (!forward || forward->op != &batch_norm2d_op) continue;
      const bool has_addend = node.inputs.size() > norm_gradient::addend, has_dz = node.attributes.flag("residual");
      if (!has_dz) {
        if (node.inputs.size() == norm_gradient::dy + 1) fuse(node, *forward, node.inputs[norm_gradient::dy], kNoValue);
      } else if (kernels_.has_mask(graph_, *forward)) {
        if (has_addend && (fuse(node, *forward, node.inputs[norm_gradient::dy], node.inputs[norm_gradient::addend]) ||
                           fuse(node, *forward, node.inputs[norm_gradient::addend], node.inputs[norm_gradient::dy])))
          continue;
        node.inputs[norm_gradient::y] = mask_of(*forward);
      }
    }
  }

 private:
  // Fuses the node with the input gradient that makes `made`, to which `added` is added, if that is
  // possible. Returns whether it was.
  bool fuse(Node& node, Node& forward, ValueId made, ValueId added) {
    Node* const gradient = makers_[made];
    if (!gradient || gradient->op != &conv2d_input_gradient_op || gradient->attributes.has("pool") ||
        uses_[made] != 1 || gradient->outputs.size() > 1)
      return false;
    const bool has_addend = added != kNoValue;
    std::vector<ValueId> more = {node.inputs[norm_gradient::x],      node.inputs[norm_gradient::y],
                                 node.inputs[norm_gradient::weight], forward.inputs[batch_norm2d::bias],
                                 node.inputs[norm_gradient::mean],   node.inputs[norm_gradient::inv_std]};
    if (has_addend) more.push_back(added);
    // If values are computed again, one of them may be made only after the input gradient.
    if (std::any_of(more.begin(), more.end(), [&](ValueId id) { return places_[id] >= places_[made]; })) return false;
    const int64_t rows = kernels_.rows(graph_, *gradient);
    if (rows == 0) return false;
    if (has_addend) more[input_gradient::norm_y - input_gradient::norm_x] = mask_of(forward);
    gradient->inputs.insert(gradient->inputs.end(), more.begin(), more.end());
    add_sums(graph_, *gradient, rows, graph_.type(made).shape[1]);
    const ValueId sums = gradient->outputs[input_gradient::sums];
    add_value(places_[made]);
    if (has_addend) {  // the gradient before the ReLU is what the node called dz
      const auto dz = node.outputs.begin() + norm_gradient::dz;
      replace_uses(graph_, *dz, made);
      node.outputs.erase(dz);
      node.attributes.set("residual", int64_t{0});
    }
    node.inputs.resize(norm_gradient::all_sums + 1, kNoValue);
    node.inputs[norm_gradient::y] = kNoValue;  // dy has its mask
    node.inputs[norm_gradient::dy] = made;
    node.inputs[norm_gradient::own_sums] = node.inputs[norm_gradient::all_sums] = sums;
    node.attributes.set("relu", int64_t{0});
    return true;
  }

  // Returns the mask of a batch_norm2d with a ReLU, which it writes from now on.
  ValueId mask_of(Node& forward) {
    if (!forward.attributes.flag("mask")) {
      forward.attributes.set("mask", int64_t{1});
      const ValueId y_of_forward = forward.outputs[batch_norm2d::y];
      forward.outputs.push_back(graph_.add_value("", {DType::u8, {graph_.type(y_of_forward).shape.elements() / 8}}));
      add_value(places_[y_of_forward]);
    }
    return forward.outputs[batch_norm2d::mask];
  }

  // To be called after the graph got a value, whose maker is at this place.
  void add_value(ptrdiff_t place) {
    makers_.push_back(nullptr);
    places_.push_back(place);
    uses_.push_back(1);
  }

  Graph& graph_;
  const KernelsOfSums& kernels_;
  std::vector<int> uses_;
  std::vector<ptrdiff_t> places_;
  std::vector<Node*> makers_;  // the batch_norm2d or input gradient of each value
};

}  // namespace

void fuse_sums(Graph& graph, const KernelsOfSums& kernels) {
  fuse_moments(graph, kernels);
  GradientFusion(graph, kernels).run();
}

}  // namespace troika
