// Two operands of one op whose shapes may differ: an axis of size 1, or one that is missing, is
// repeated.
#pragma once

#include "ops/op_def.h"

namespace troika {

// The loops over the numbers of an op's result, outermost first: `a` and `b` are the operands'
// steps from one number of the loop to the next, 0 if the operand repeats. Loops that can be one
// are one. There is always at least one loop.
struct BroadcastLoops {
  int count = 0;
  int64_t size[kMaxRank] = {}, a[kMaxRank] = {}, b[kMaxRank] = {};
};
BroadcastLoops broadcast_loops(const Shape& a, const Shape& b, const Shape& result);

// The shape of an operand, with an axis for each of the result's. Axes are aligned at their ends,
// or, with the attribute `axis`, from that axis on.
Shape aligned_shape(const Node& node, const Shape& operand, int rank);

// The type of op's result for a and b. Attribute broadcast: shapes may differ. Without it, they
// must be the same.
std::vector<TensorType> infer_pair(const OpInputs& in);

// Returns the sum of dy over the axes on which an operand of `shape` is repeated.
ValueId sum_to(GradientBuilder& b, const Node& node, ValueId dy, const Shape& shape);

// Layers of two inputs that are computed number by number.
inline ChannelRule pair_rule(const Node& node) {
  return node.attributes.flag("broadcast") ? ChannelRule::whole : ChannelRule::add;
}
inline OpTraits pair_traits() {
  return LayerOp{.channels = pair_rule,
                 .reach = Reach::whole,
                 .fuses_relu = false,
                 .inference = InferenceForm{},
                 .low = LowPrecision{true},
                 .has_product = false};
}

// The attributes with which a gradient reads an operand as the forward pass did.
Attributes broadcast_attributes(const Node& node);

}  // namespace troika
