// fuse_loss: the last linear layer of a classifier, its cross_entropy, and the gradients of both up
// to the layer's input. On GPUs these are up to seven launches, each of which takes longer than its
// work.
#include <algorithm>
#include <map>
#include <set>

#include "ops/linear.h"
#include "ops/linear_cross_entropy.h"
#include "ops/relu.h"
#include "passes/links.h"
#include "passes/passes.h"

namespace troika {
namespace {

// The nodes that one takes the place of. `cast` and `relu` may be null.
struct Chain {
  const Node *linear = nullptr, *loss = nullptr, *slope = nullptr, *cast = nullptr, *gradient = nullptr,
             *relu = nullptr;
  bool has_logits = false;  // they are a result of the step

  std::vector<const Node*> nodes() const { return {linear, loss, slope, cast, gradient, relu}; }
  ValueId dy() const { return (cast ? cast : slope)->outputs[0]; }
  ValueId dx() const { return (relu ? relu : gradient)->outputs[0]; }
};

// Whether both values are one, or casts of one: recompute casts a parameter again.
bool are_same(const Graph& graph, const Links& links, ValueId a, ValueId b) {
  const Node *const of_a = links.maker(a), *const of_b = links.maker(b);
  const auto is_cast = [](const Node* node) { return node && node->op == &cast_op; };
  return a == b || (is_cast(of_a) && is_cast(of_b) && of_a->inputs == of_b->inputs && graph.type(a) == graph.type(b));
}

// Returns the chain of a loss. Without an input gradient there is none.
Chain chain_of(const Graph& graph, const Links& links, const Node& loss) {
  Chain chain;
  const ValueId logits = loss.inputs[loss::x];
  const Node* const linear = links.maker(logits);
  if (!linear || linear->op != &linear_op || linear->attributes.flag("relu")) return {};
  // Only the host may read them, too: between the pieces of a step.
  if (links.readers(logits).size() != 1 || graph.type(logits).dtype != DType::f32) return {};
  chain.linear = linear;
  chain.has_logits = !links.is_inner(logits);
  chain.loss = &loss;
  chain.slope = links.only_reader(loss.outputs[loss::probabilities], cross_entropy_gradient_op);
  if (!chain.slope || !std::equal(loss.inputs.begin() + loss::target, loss.inputs.end(),
                                  chain.slope->inputs.begin() + loss::target, chain.slope->inputs.end()))
    return {};
  const ValueId x = linear->inputs[product::x];
  chain.cast = links.only_reader(chain.slope->outputs[0], cast_op);
  if (graph.type(chain.dy()).dtype != graph.type(x).dtype) return {};
  for (const Node* reader : links.readers(chain.dy()))
    if (reader->op == &linear_input_gradient_op &&
        are_same(graph, links, reader->inputs[input_gradient::weight], linear->inputs[product::weight]))
      chain.gradient = reader;
  if (!chain.gradient) return {};
  chain.relu = links.only_reader(chain.gradient->outputs[0], relu_gradient_op);
  if (chain.relu && chain.relu->inputs[relu_gradient::y] != x) chain.relu = nullptr;
  return chain;
}

// Returns the node for a chain, with the chain's own values.
Node fused(const Chain& chain) {
  Node node{&linear_cross_entropy_op, chain.loss->name, chain.linear->inputs, {}, chain.slope->attributes};
  node.inputs.insert(node.inputs.end(), chain.loss->inputs.begin() + loss::target, chain.loss->inputs.end());
  node.outputs = {chain.loss->outputs[loss::sum], chain.loss->outputs[loss::correct], chain.dy(), chain.dx()};
  if (chain.has_logits) {
    node.outputs.push_back(chain.linear->outputs[0]);
    node.attributes.set("logits", int64_t{1});
  }
  for (const char* flag : {"per_position", "tf32"})
    if (chain.linear->attributes.flag(flag)) node.attributes.set(flag, int64_t{1});
  node.attributes.set("input_relu", int64_t{chain.relu != nullptr});
  return node;
}

}  // namespace

void fuse_loss(Graph& graph, const FusesLoss& fuses) {
  const Links links(graph);
  std::map<const Node*, Node> fused_at;  // by the loss, after which all inputs are there
  std::set<const Node*> gone;
  for (const Node& node : graph.nodes()) {
    if (node.op != &cross_entropy_op) continue;
    const Chain chain = chain_of(graph, links, node);
    if (!chain.loss || !fuses(graph, *chain.linear)) continue;
    fused_at.emplace(&node, fused(chain));
    for (const Node* of_chain : chain.nodes())
      if (of_chain) gone.insert(of_chain);
  }
  if (fused_at.empty()) return;
  std::vector<Node> nodes;
  for (Node& node : graph.nodes())
    if (const auto found = fused_at.find(&node); found != fused_at.end())
      nodes.push_back(std::move(found->second));
    else if (gone.count(&node) == 0)
      nodes.push_back(std::move(node));
  graph.nodes() = std::move(nodes);
  remove_dead_code(graph);  // a second cast of the weight
}

}  // namespace troika
