// share_sums: the gradient dz of a batch_norm2d's residual is the dy of the convolution that made
// the residual, as at the shortcut of a ResNet's block. The sums of dz per channel are the gradient
// of batch_norm2d's bias. They are the gradient of the convolution's bias as well, so
// batch_norm2d_gradient returns them twice. Else the convolution would read its dy once more.
#include <algorithm>

#include "ops/batch_norm2d.h"
#include "ops/products.h"
#include "passes/passes.h"

namespace troika {
namespace {

constexpr ptrdiff_t kNowhere = -1;

// Returns, for each value, the place of the batch_norm2d_gradient whose dbias sums the value.
std::vector<ptrdiff_t> places_of_sums(const Graph& graph) {
  std::vector<ptrdiff_t> places(graph.values().size(), kNowhere);
  std::vector<ValueId> summed(graph.values().size(), kNoValue);  // the dz of each batch_norm2d_gradient_sums
  for (size_t i = 0; i < graph.nodes().size(); ++i) {
    const Node& node = graph.nodes()[i];
    if (node.op == &batch_norm2d_gradient_sums_op && node.attributes.flag("residual"))
      summed[node.outputs[batch_norm2d_gradient_sums::sums]] = node.outputs[batch_norm2d_gradient_sums::dz];
    if (node.op != &batch_norm2d_gradient_op) continue;
    if (node.attributes.flag("residual"))
      places[node.outputs[batch_norm2d_gradient::dz]] = static_cast<ptrdiff_t>(i);
    else if (node.inputs.size() > batch_norm2d_gradient::own_sums &&
             node.inputs[batch_norm2d_gradient::own_sums] != kNoValue &&
             summed[node.inputs[batch_norm2d_gradient::own_sums]] != kNoValue)
      places[summed[node.inputs[batch_norm2d_gradient::own_sums]]] = static_cast<ptrdiff_t>(i);
  }
  return places;
}

}  // namespace

void share_sums(Graph& graph) {
  const std::vector<ptrdiff_t> places = places_of_sums(graph);
  std::vector<Node>& nodes = graph.nodes();
  for (size_t i = 0; i < nodes.size(); ++i) {
    Node& node = nodes[i];
    if (node.op != &conv2d_weight_gradient_op || !node.attributes.flag("bias")) continue;
    const ptrdiff_t place = places[node.inputs[weight_gradient::dy]];
    if (place == kNowhere || place > static_cast<ptrdiff_t>(i)) continue;
    Node& batch_norm2d = nodes[static_cast<size_t>(place)];
    if (batch_norm2d.attributes.flag("has_dbias_too")) continue;
    batch_norm2d.attributes.set("has_dbias_too", int64_t{1});
    batch_norm2d.outputs.push_back(node.outputs[weight_gradient::dbias]);
    node.outputs.pop_back();
    node.attributes.set("bias", int64_t{0});
  }
}

}  // namespace troika
