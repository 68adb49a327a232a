// close_gaps: a convolution with a filter of 1x1 and a stride reads few pixels, as in the shortcuts
// of a ResNet. Its input gradient is zero between them. If another op adds it to a second gradient,
// it is stored without these gaps: with a stride of 2, three quarters of an image are neither
// written nor read.
#include <algorithm>

#include "ops/addend.h"
#include "ops/batch_norm2d.h"
#include "ops/products.h"
#include "passes/links.h"
#include "passes/passes.h"

namespace troika {
namespace {

// Returns the stride of an input gradient with gaps that returns nothing else; 1: it is another
// node.
int64_t stride_of(const Node& node) {
  if (node.op != &conv2d_input_gradient_op || node.attributes.has("sums") || node.attributes.has("pool")) return 1;
  const auto are = [&](const char* name, int64_t value) {
    const std::vector<int64_t>& pair = node.attributes.list(name);
    return std::all_of(pair.begin(), pair.end(), [=](int64_t n) { return n == value; });
  };
  const int64_t stride = node.attributes.list("stride")[0];
  return are("kernel", 1) && are("padding", 0) && are("stride", stride) ? stride : 1;
}

// Returns the places of a node's inputs that are added, that of the addend first. None: it adds
// nothing.
std::vector<size_t> terms_of(const Node& node) {
  const bool is_norm = node.op == &batch_norm2d_gradient_op;
  if (!is_norm && node.op != &conv2d_input_gradient_op) return {};
  const size_t addend = is_norm ? size_t{batch_norm2d_gradient::addend} : size_t{input_gradient::addend};
  if (node.inputs.size() <= addend || node.inputs[addend] == kNoValue) return {};
  return is_norm ? std::vector<size_t>{addend, batch_norm2d_gradient::dy} : std::vector<size_t>{addend};
}

}  // namespace

void close_gaps(Graph& graph, const AddsWithoutGaps& adds) {
  const Links links(graph);
  for (Node& node : graph.nodes()) {
    const std::vector<size_t> terms = terms_of(node);
    for (const size_t term : terms) {
      const ValueId dx = node.inputs[term];
      Node* const gradient = links.maker(dx);
      const int64_t stride = gradient ? stride_of(*gradient) : 1;
      if (stride == 1 || !links.only_reader(dx, *node.op) || !adds(graph, node, stride)) continue;
      TensorType& type = graph.value(dx).type;
      type = addend_type(type, stride);
      gradient->attributes.set("input_shape", type.shape.dims());
      gradient->attributes.set("stride", std::vector<int64_t>{1, 1});
      node.attributes.set("addend_stride", stride);
      std::swap(node.inputs[term], node.inputs[terms[0]]);
      break;
    }
  }
}

}  // namespace troika
