// fuse_loss: the last linear layer of a classifier, its cross_entropy, and the gradients of both up
// to the layer's input. On GPUs these are up to seven launches, each of which takes longer than its
// work.
#include <algorithm>
#include <map>
#include <set>

#include "ops/linear.h"
#include "ops/linear_cross_entropy.h"
#include "passes/passes.h"

namespace troika {
namespace {

namespace relu_gradient {
enum Input : size_t { y, dy };
}

// The nodes that one takes the place of. `cast` and `relu` may be null.
struct Chain {
  const Node *linear = nullptr, *loss = nullptr, *slope = nullptr, *cast = nullptr, *gradient = nullptr,
             *relu = nullptr;
  bool has_logits = false;  // they are a result of the step

  std::vector<const Node*> nodes() const { return {linear, loss, slope, cast, gradient, relu}; }
  ValueId dy() const { return (cast ? cast : slope)->outputs[0]; }
  ValueId dx() const { return (relu ? relu : gradient)->outputs[0]; }
};

class LossFusion {
 public:
  explicit LossFusion(const Graph& graph)
      : graph_(graph), uses_(count_uses(graph)), makers_(uses_.size()), readers_(uses_.size()) {
    for (const Node& node : graph.nodes()) {
      for (ValueId id : node.outputs) makers_[id] = &node;
      for (ValueId id : node.inputs)
        if (id != kNoValue) readers_[id].push_back(&node);
    }
  }

  // Returns the chain of a loss. Without an input gradient there is none.
  Chain chain_of(const Node& loss) const {
    Chain chain;
    const ValueId logits = loss.inputs[loss::x];
    const Node* const linear = makers_[logits];
    if (!linear || linear->op != &linear_op || linear->attributes.flag("relu")) return {};
    // Only the host may read them, too: between the pieces of a step.
    if (readers_[logits].size() != 1 || graph_.type(logits).dtype != DType::f32) return {};
    chain.linear = linear;
    chain.has_logits = uses_[logits] > 1;
    chain.loss = &loss;
    chain.slope = only_reader(loss.outputs[loss::probabilities], cross_entropy_gradient_op);
    if (!chain.slope || !std::equal(loss.inputs.begin() + loss::target, loss.inputs.end(),
                                    chain.slope->inputs.begin() + loss::target, chain.slope->inputs.end()))
      return {};
    const ValueId x = linear->inputs[product::x];
    chain.cast = only_reader(chain.slope->outputs[0], cast_op);
    if (graph_.type(chain.dy()).dtype != graph_.type(x).dtype) return {};
    for (const Node* reader : readers_[chain.dy()])
      if (reader->op == &linear_input_gradient_op &&
          are_same(reader->inputs[input_gradient::weight], linear->inputs[product::weight]))
        chain.gradient = reader;
    if (!chain.gradient) return {};
    chain.relu = only_reader(chain.gradient->outputs[0], relu_gradient_op);
    if (chain.relu && chain.relu->inputs[relu_gradient::y] != x) chain.relu = nullptr;
    return chain;
  }

 private:
  // Whether both values are one, or casts of one: recompute casts a parameter again.
  bool are_same(ValueId a, ValueId b) const {
    const auto is_cast = [&](ValueId id) { return makers_[id] && makers_[id]->op == &cast_op; };
    return a == b ||
           (is_cast(a) && is_cast(b) && makers_[a]->inputs == makers_[b]->inputs && graph_.type(a) == graph_.type(b));
  }

  // Returns the node that alone reads a value, if it is of this op; else null.
  const Node* only_reader(ValueId id, const OpDef& op) const {
    return uses_[id] == 1 && readers_[id].size() == 1 && readers_[id][0]->op == &op ? readers_[id][0] : nullptr;
  }

  const Graph& graph_;
  const std::vector<int> uses_;
  std::vector<const Node*> makers_;
  std::vector<std::vector<const Node*>> readers_;
};

// Returns the node for a chain, with the chain's own values.
Node fused(const Chain& chain) {
  Node node{&linear_cross_entropy_op, chain.loss->name, chain.linear->inputs, {}, chain.slope->attributes};
  node.inputs.insert(node.inputs.end(), chain.loss->inputs.begin() + loss::target, chain.loss->inputs.end());
  node.outputs = {chain.loss->outputs[loss::sum], chain.loss->outputs[loss::correct], chain.dy(), chain.dx()};
  if (chain.has_logits) {
    node.outputs.push_back(chain.linear->outputs[0]);
    node.attributes.set("logits", int64_t{1});
  }
  if (is_per_position(*chain.linear)) node.attributes.set("per_position", int64_t{1});
  node.attributes.set("input_relu", int64_t{chain.relu != nullptr});
  return node;
}

}  // namespace

void fuse_loss(Graph& graph, const FusesLoss& fuses) {
  const LossFusion fusion(graph);
  std::map<const Node*, Node> fused_at;  // by the loss, after which all inputs are there
  std::set<const Node*> gone;
  for (const Node& node : graph.nodes()) {
    if (node.op != &cross_entropy_op) continue;
    const Chain chain = fusion.chain_of(node);
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
