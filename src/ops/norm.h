// Operands of layer_norm, group_norm and rms_norm and of their gradients, and the rows that they
// normalise.
#pragma once

#include "ops/op_def.h"

namespace troika {

namespace norm {
enum Input : size_t { x, weight, bias, kInputs };  // weight and bias: both or none; rms_norm has no bias
enum Output : size_t { y, inv_std, mean };         // of each row; rms_norm has no mean
}  // namespace norm

namespace norm_gradient {
enum Input : size_t { x, weight, inv_std, dy, mean, kInputs };  // rms_norm has no mean
enum Output : size_t { dx, dweight, dbias };                    // without a weight: dx alone
}  // namespace norm_gradient

// x as rows that are normalised one by one. Number j of row r is then multiplied by number
// r % groups * (length / run) + j / run of the weight.
struct NormRows {
  int64_t rows, length, groups = 1, run = 1;

  // Attribute groups: those of the channels (axis 1) of a sample. Without it, attribute axis: the
  // first axis of a row.
  NormRows(const Node& node, const Shape& x) {
    if (node.attributes.has("groups")) {
      groups = node.attributes.integer("groups");
      rows = x[0] * groups;
      run = x.elements(2, x.rank());
      length = x[1] / groups * run;
    } else {
      const int axis = static_cast<int>(node.attributes.integer("axis"));
      rows = x.elements(0, axis);
      length = x.elements(axis, x.rank());
    }
  }
  int64_t row_weights() const { return length / run; }  // of one row
  int64_t weights() const { return groups * row_weights(); }
};

// The shape rules of the three layers. A weight has the shape `weight`, inv_std and mean the number
// of rows.
std::vector<TensorType> infer_norm(const OpInputs& in, const Shape& weight, bool has_mean);
std::vector<TensorType> infer_norm_gradient(const OpInputs& in);
// Appends the gradient's op, which returns dweight and dbias if anything needs them.
std::vector<ValueId> append_norm_gradient(GradientBuilder& b, const OpDef& op, const Node& node, ValueId dy);

inline OpTraits norm_traits() {
  return LayerOp{.channels = always<ChannelRule::whole>,
                 .reach = Reach::whole,
                 .fuses_relu = false,
                 .inference = InferenceForm{},
                 .low = LowPrecision{true, {norm::weight, norm::bias}},
                 .has_product = false};
}
inline OpTraits norm_gradient_traits() { return GradientOp{.is_of_weights = false, .has_product = false}; }

}  // namespace troika
