// fuse_pools: a pooling after a convolution, as in LeNet. It leaves a quarter of an image and of
// its gradient: the convolution's kernel writes the pooled image and a mask, and the kernels of its
// gradients read the pooled gradient and the mask. That saves two launches and the passes over both
// images.
#include <algorithm>

#include "ops/fused_pool.h"
#include "ops/products.h"
#include "ops/window.h"
#include "passes/links.h"
#include "passes/passes.h"

namespace troika {
namespace {

bool is_pool(const Node& node) { return node.op == &avg_pool2d_op || node.op == &max_pool2d_op; }
bool is_max_gradient(const Node& node) { return node.op == &max_pool2d_gradient_op; }

bool has_fused_window(const Node& pool) {
  const Window w = Window::of(pool);
  const auto are = [](const int64_t(&pair)[2], int64_t value) { return pair[0] == value && pair[1] == value; };
  return are(w.kernel, kFusedPoolSize) && are(w.stride, kFusedPoolSize) && are(w.padding, 0) && are(w.dilation, 1);
}

// The inputs of a pooling's gradient: places of maxima if there are some, dy, and the output of the
// ReLU before the pooling if there is one.
struct PoolGradient {
  ValueId places = kNoValue, dy, relu = kNoValue, dx;

  explicit PoolGradient(const Node& node) : dx(node.outputs[0]) {
    const size_t dy_place = is_max_gradient(node) ? 1 : 0;
    dy = node.inputs[dy_place];
    if (dy_place > 0) places = node.inputs[0];
    if (node.inputs.size() > dy_place + 1) relu = node.inputs[dy_place + 1];
  }
};

class PoolFusion {
 public:
  PoolFusion(Graph& graph, const FusesPool& fuses, const StageOf& stage_of)
      : graph_(graph), fuses_(fuses), stage_of_(stage_of), links_(graph) {}

  void run() {
    for (Node& node : graph_.nodes())
      if (is_pool_gradient(node)) fuse(node);
    std::erase_if(graph_.nodes(), [](const Node& node) { return node.outputs.empty() && is_removed(node); });
  }

 private:
  static bool is_pool_gradient(const Node& node) { return node.op == &avg_pool2d_gradient_op || is_max_gradient(node); }
  static bool is_removed(const Node& node) { return is_pool(node) || is_pool_gradient(node); }

  // Returns the convolution whose pooled result has this gradient; null if that is not known.
  Node* find_conv2d(const PoolGradient& gradient) const {
    ValueId y = gradient.relu;
    if (gradient.places != kNoValue) {
      const Node* const pool = links_.maker(gradient.places);
      if (!pool || (y != kNoValue && pool->inputs[0] != y)) return nullptr;
      y = pool->inputs[0];
    }
    // An average without a ReLU reads nothing of the forward pass.
    for (const Node* reader : links_.readers(gradient.dx)) {
      if (y != kNoValue || reader->op != &conv2d_weight_gradient_op) continue;
      for (const Node* layer : links_.readers(reader->inputs[weight_gradient::x]))
        if (layer->op == &conv2d_op && layer->name == reader->name) y = layer->outputs[product::y];
    }
    Node* const conv2d = y == kNoValue ? nullptr : links_.maker(y);
    return conv2d && conv2d->op == &conv2d_op && conv2d->outputs.size() == 1 ? conv2d : nullptr;
  }

  // Whether only these nodes, and no output of the graph, read a value.
  bool is_read_by(ValueId id, const std::vector<const Node*>& nodes) const {
    const std::vector<Node*>& readers = links_.readers(id);
    return links_.is_inner(id) && std::is_permutation(readers.begin(), readers.end(), nodes.begin(), nodes.end());
  }

  // Whether a node is a gradient of the convolution that reads dy as its convolution's result.
  static bool is_gradient_of(const Node& conv2d, ValueId dy, const Node& node) {
    if (node.name != conv2d.name) return false;
    if (node.op == &conv2d_weight_gradient_op)
      return node.inputs[weight_gradient::dy] == dy && node.inputs[weight_gradient::x] == conv2d.inputs[product::x];
    return node.op == &conv2d_input_gradient_op && node.inputs[input_gradient::dy] == dy &&
           node.inputs[input_gradient::weight] == conv2d.inputs[product::weight];
  }

  void fuse(Node& node) {
    const PoolGradient gradient(node);
    Node* const conv2d = find_conv2d(gradient);
    // If values were computed again, the convolution might stand after the gradient.
    if (!conv2d || conv2d > &node || (stage_of_ && stage_of_(conv2d->name) != stage_of_(node.name))) return;
    const bool has_relu = conv2d->attributes.flag("relu");
    if (has_relu != (gradient.relu != kNoValue)) return;
    const ValueId y = conv2d->outputs[product::y];
    const std::vector<Node*>& readers = links_.readers(y);
    const auto pool = std::find_if(readers.begin(), readers.end(), [](const Node* n) { return is_pool(*n); });
    if (pool == readers.end()) return;
    std::vector<const Node*> readers_of_y = {*pool};
    if (has_relu) readers_of_y.push_back(&node);
    const bool is_max = (*pool)->op == &max_pool2d_op;
    if (is_max != is_max_gradient(node) || !is_read_by(y, readers_of_y) ||
        (is_max && !is_read_by(gradient.places, {&node})))
      return;
    const std::vector<Node*>& gradients = links_.readers(gradient.dx);
    if (gradients.empty() || !links_.is_inner(gradient.dx) ||
        !std::all_of(gradients.begin(), gradients.end(),
                     [&](const Node* n) { return is_gradient_of(*conv2d, gradient.dx, *n); }))
      return;
    const Shape &image = graph_.type(y).shape, pooled = graph_.type((*pool)->outputs[0]).shape;
    if (!has_fused_window(**pool) || image[2] != kFusedPoolSize * pooled[2] || image[3] != kFusedPoolSize * pooled[3] ||
        graph_.type(gradient.dx) != graph_.type(y) || !fuses_(graph_, *conv2d, **pool))
      return;
    join(*conv2d, **pool, node, gradients);
  }

  void join(Node& conv2d, Node& pool, Node& pool_gradient, const std::vector<Node*>& gradients) {
    const auto kind = static_cast<int64_t>(is_max_gradient(pool_gradient) ? FusedPool::max : FusedPool::average);
    const ValueId mask = graph_.add_value("", fused_pool_mask(graph_.type(pool.outputs[0]).shape)),
                  dy = PoolGradient(pool_gradient).dy;
    conv2d.attributes.set("pool", kind);
    conv2d.outputs = {pool.outputs[0], mask};
    graph_.value(pool.outputs[0]).name = pool.name;  // recompute finds the layer's output by it
    for (Node* node : gradients) {
      node->attributes.set("pool", kind);
      node->inputs[node->op == &conv2d_weight_gradient_op ? size_t{weight_gradient::dy} : size_t{input_gradient::dy}] =
          dy;
      node->inputs.push_back(mask);
    }
    pool.outputs.clear();  // run() removes nodes without outputs
    pool_gradient.outputs.clear();
  }

  Graph& graph_;
  const FusesPool& fuses_;
  const StageOf& stage_of_;
  const Links links_;
};

}  // namespace

void fuse_pools(Graph& graph, const FusesPool& fuses, const StageOf& stage_of) {
  PoolFusion(graph, fuses, stage_of).run();
}

}  // namespace troika
