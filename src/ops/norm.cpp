// Shapes of layer_norm, group_norm and rms_norm, and the op of their gradients.
#include "ops/norm.h"

#include "core/text.h"

namespace troika {

std::vector<TensorType> infer_norm(const OpInputs& in, const Shape& weight, bool has_mean) {
  in.need_inputs(has_mean ? 3 : 2, has_mean ? 3 : 2);
  for (size_t i = norm::weight; i < in.types.size(); ++i) {
    const char* const name = i == norm::weight ? "weight" : "bias";
    if (in.has(i) && in.shape(i) != weight) in.fail(text(name, " has shape ", in.shape(i), ", needs ", weight));
    if (in.has(i) != in.has(norm::weight)) in.fail("has a weight or a bias, needs both or none");
  }
  if (!(in.node.attributes.real("eps") >= 0))
    in.fail(text("eps is ", in.node.attributes.real("eps"), ", needs at least 0"));
  const TensorType per_row{DType::f32, {NormRows(in.node, in.shape(norm::x)).rows}};
  std::vector<TensorType> types = {in.types[norm::x], per_row};
  if (has_mean) types.push_back(per_row);
  return types;
}

// Attribute weights: whether dweight is an output, and dbias if there is a mean.
std::vector<TensorType> infer_norm_gradient(const OpInputs& in) {
  in.need_inputs(norm_gradient::mean, norm_gradient::kInputs);
  std::vector<TensorType> types = {in.types[norm_gradient::x]};
  const bool has_mean = in.types.size() > norm_gradient::mean;
  if (in.node.attributes.flag("weights"))
    types.insert(types.end(), has_mean ? 2 : 1, {DType::f32, in.shape(norm_gradient::weight)});
  return types;
}

std::vector<ValueId> append_norm_gradient(GradientBuilder& b, const OpDef& op, const Node& node, ValueId dy) {
  const ValueId weight = node.inputs[norm::weight];
  std::vector<ValueId> inputs = {node.inputs[norm::x], weight, node.outputs[norm::inv_std], dy};
  if (node.outputs.size() > norm::mean) inputs.push_back(node.outputs[norm::mean]);
  bool needs_weights = b.needs(weight);
  if (node.inputs.size() > norm::bias) needs_weights = needs_weights || b.needs(node.inputs[norm::bias]);
  Attributes attributes = node.attributes;
  attributes.set("weights", int64_t{needs_weights});
  const std::vector<ValueId> d = b.append_all(op, node, inputs, attributes);
  std::vector<ValueId> gradients(node.inputs.size(), kNoValue);
  gradients[norm::x] = d[norm_gradient::dx];
  if (!needs_weights) return gradients;
  gradients[norm::weight] = d[norm_gradient::dweight];
  if (gradients.size() > norm::bias) gradients[norm::bias] = d[norm_gradient::dbias];
  return gradients;
}

}  // namespace troika
