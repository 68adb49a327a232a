// A layer that multiplies x by a weight (conv2d, linear): its bias and its gradients.
#pragma once

#include "core/text.h"
#include "ops/op_def.h"
#include "ops/products.h"

namespace troika {

// Throws if there is a bias of another shape than [channels].
inline void check_bias(const OpInputs& in, int64_t channels) {
  if (in.has(product::bias) && in.shape(product::bias) != Shape{channels})
    in.fail(text("bias has shape ", in.shape(product::bias), ", needs [", channels, "]"));
}

// The op of a gradient, and the attributes that the layer passes to it.
struct BackwardOp {
  const OpDef& op;
  Attributes attributes;
};

// Appends both gradients. The weight gradient comes first: its bucket can travel while the input
// gradient is computed.
inline std::vector<ValueId> append_product_gradients(GradientBuilder& b, const Node& node, ValueId dy,
                                                     BackwardOp of_weight, BackwardOp of_input) {
  const ValueId x = node.inputs[product::x], weight = node.inputs[product::weight], bias = node.inputs[product::bias];
  ValueId dz = b.through_relu(node, node.outputs[0], dy);
  // The gradient of sums in f32 is a factor of both products, in the type of the others.
  const DType dtype = b.type(x).dtype;
  if (b.type(dz).dtype != dtype) dz = b.append(cast_op, node, {dz}, {{"dtype", static_cast<int64_t>(dtype)}});
  std::vector<ValueId> gradients(product::kInputs, kNoValue);
  if (b.needs(weight) || b.needs(bias)) {
    of_weight.attributes.set("bias", int64_t{b.needs(bias)});
    const auto d = b.append_all(of_weight.op, node, {x, dz}, of_weight.attributes);
    gradients[product::weight] = d[weight_gradient::dweight];
    if (b.needs(bias)) gradients[product::bias] = d[weight_gradient::dbias];
  }
  if (b.needs(x)) {
    of_input.attributes.set("input_shape", b.type(x).shape.dims());
    gradients[product::x] = b.append(of_input.op, node, {weight, dz}, of_input.attributes);
  }
  return gradients;
}

// Output: dx of `input_shape`.
inline std::vector<TensorType> infer_product_input_gradient(const OpInputs& in) {
  in.need_inputs(2, 2);
  return {{in.types[1].dtype, Shape(in.node.attributes.list("input_shape"))}};
}

// Returns the output types, which are f32 for any x: dweight, and dbias [channels] if `bias`.
// Channels are axis 0 of the weight.
inline std::vector<TensorType> product_weight_gradient_types(const OpInputs& in, const Shape& weight) {
  std::vector<TensorType> types = {{DType::f32, weight}};
  if (in.node.attributes.flag("bias")) types.push_back({DType::f32, {weight[0]}});
  return types;
}

}  // namespace troika
