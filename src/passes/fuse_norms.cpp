// fuse_norms: a batch_norm2d with a ReLU before a convolution. The convolution's kernel normalises
// the pixels that it has loaded, and so does that of its weight gradient. So the normalised image
// is never stored. Its readers read batch_norm2d's input, which is as large, and no pass reads one
// image and writes the other.
//
// With recompute, the normalised image is what is kept, and batch_norm2d's gradient reads it, too.
// Then such a layer stays as it is.
#include "ops/batch_norm2d.h"
#include "ops/products.h"
#include "passes/links.h"
#include "passes/passes.h"

namespace troika {
namespace {

// The readers of a normalised image. Each but the first may be absent.
struct Readers {
  Node *conv2d = nullptr, *weight_gradient = nullptr;
  Node* input_gradient = nullptr;  // applies the gradient of the ReLU (fuse_sums)
};

// Returns whether the kernel of batch_norm2d has its statistics without reading x, and nothing but
// a ReLU follows.
bool is_plain(const Node& norm) {
  return norm.op == &batch_norm2d_op && norm.attributes.flag("relu") && !norm.attributes.flag("mask") &&
         norm.inputs[batch_norm2d::residual] == kNoValue && norm.inputs.size() > batch_norm2d::moments &&
         norm.inputs[batch_norm2d::moments] != kNoValue;
}

// Returns the nodes that read z. There is no conv2d among them if another node reads z.
Readers readers_of(const Links& links, ValueId z) {
  Readers found;
  if (!links.is_inner(z)) return {};
  for (Node* node : links.readers(z)) {
    const auto reads_at = [&](size_t place) {
      return node->inputs.size() > place && node->inputs[place] == z && !node->attributes.has("pool");
    };
    if (node->op == &conv2d_op && reads_at(product::x) && node->inputs[product::bias] == kNoValue &&
        !node->attributes.flag("relu") && !found.conv2d)
      found.conv2d = node;
    else if (node->op == &conv2d_weight_gradient_op && reads_at(weight_gradient::x) && node->outputs.size() == 1 &&
             !found.weight_gradient)
      found.weight_gradient = node;
    else if (node->op == &conv2d_input_gradient_op && reads_at(input_gradient::norm_y) &&
             node->inputs.size() == input_gradient::addend && !found.input_gradient)
      found.input_gradient = node;
    else
      return {};
  }
  return found;
}

}  // namespace

void fuse_norms(Graph& graph, const NormalizesInput& normalizes) {
  const Links links(graph);
  for (Node& norm : graph.nodes()) {
    if (!is_plain(norm)) continue;
    const Readers readers = readers_of(links, norm.outputs[batch_norm2d::y]);
    if (!readers.conv2d || !normalizes(graph, *readers.conv2d)) continue;
    for (Node* const node : {readers.conv2d, readers.weight_gradient}) {
      if (!node) continue;
      node->inputs[0] = norm.inputs[batch_norm2d::x];
      node->inputs.insert(node->inputs.end(), {norm.inputs[batch_norm2d::weight], norm.inputs[batch_norm2d::bias],
                                               norm.outputs[batch_norm2d::mean], norm.outputs[batch_norm2d::inv_std]});
      node->attributes.set("normalizes", int64_t{1});
    }
    if (readers.input_gradient) readers.input_gradient->inputs[input_gradient::norm_y] = kNoValue;
    norm.attributes.set("skips_y", int64_t{1});
  }
}

}  // namespace troika
