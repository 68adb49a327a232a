// Layers that normalise.
#include <cmath>

#include "core/text.h"
#include "models/addition.h"
#include "models/layer_text.h"
#include "ops/batch_norm2d.h"
#include "ops/op_def.h"

namespace troika {
namespace {

void check_eps(const std::string& kind, const std::string& name, double eps) {
  if (!(eps > 0) || !std::isfinite(eps)) fail_layer(kind, name, text("eps is ", eps, ", needs a number above 0"));
}

// Vectors and signals are normalised as images [batch, C, L, 1].
ValueId add_batch_norm(Model& model, bool is_1d, const std::string& name, ValueId input, double eps, double momentum) {
  const char* const kind = is_1d ? "batch_norm1d" : "batch_norm2d";
  Addition layer(model, "batch_norm2d", name, kind);
  const Shape x = layer.input(input);
  const int64_t channels = channels_of(x);
  if (is_1d && x.rank() != 2 && x.rank() != 3)
    fail_layer(kind, name, text("input has shape ", x, ", needs [batch, channels] or [batch, channels, length]"));
  check_eps(kind, name, eps);
  if (!(momentum >= 0 && momentum <= 1)) fail_layer(kind, name, text("momentum is ", momentum, ", needs 0 to 1"));
  const TensorType type{DType::f32, {channels}};
  layer.parameter("weight", type);
  layer.parameter("bias", type);
  layer.buffer("running_mean", type);
  layer.buffer("running_var", type);
  layer.buffer("num_batches_tracked", {DType::i64, {}});
  layer.absent();
  const Attributes settings = {{"eps", eps}, {"momentum", momentum}};
  if (!is_1d) return layer.commit(settings, batch_norm_text("BatchNorm2d", channels, eps, momentum), settings);
  const auto append = [&](Graph& graph, const std::vector<ValueId>& given) {
    const std::vector<int64_t> image = {channels, x.rank() == 3 ? x[2] : 1, 1}, sample = without_batch(x).dims();
    std::vector<ValueId> inputs = given;
    inputs[batch_norm2d::x] = append_node(graph, reshape_op, name, {given[0]}, {{"shape", image}})[0];
    const ValueId y = append_node(graph, batch_norm2d_op, name, inputs, settings)[0];
    return append_node(graph, reshape_op, name, {y}, {{"shape", sample}})[0];
  };
  return layer.commit_nodes(append, batch_norm_text("BatchNorm1d", channels, eps, momentum), settings);
}

ValueId add_norm_of_axes(Model& model, const OpDef& op, const std::string& name, ValueId input, int64_t axes,
                         double eps) {
  const std::string kind(op.name);
  Addition layer(model, kind.c_str(), name);
  const Shape& x = layer.input(input);
  if (axes < 1 || axes >= x.rank())
    fail_layer(kind, name, text("axes is ", axes, ", input has shape ", x, ", needs 1 to ", x.rank() - 1));
  check_eps(kind, name, eps);
  const int64_t first = x.rank() - axes;
  const Shape normalized(std::vector<int64_t>(x.dims().begin() + first, x.dims().end()));
  const bool has_bias = &op == &layer_norm_op;
  layer.parameter("weight", {DType::f32, normalized});
  if (has_bias) layer.parameter("bias", {DType::f32, normalized});
  return layer.commit({{"axis", first}, {"eps", eps}},
                      norm_of_axes_text(has_bias ? "LayerNorm" : "RMSNorm", normalized, eps),
                      {{"axes", axes}, {"eps", eps}});
}

}  // namespace

ValueId add_batch_norm2d(Model& model, const std::string& name, ValueId input, double eps, double momentum) {
  return add_batch_norm(model, false, name, input, eps, momentum);
}

ValueId add_batch_norm1d(Model& model, const std::string& name, ValueId input, double eps, double momentum) {
  return add_batch_norm(model, true, name, input, eps, momentum);
}

ValueId add_layer_norm(Model& model, const std::string& name, ValueId input, int64_t axes, double eps) {
  return add_norm_of_axes(model, layer_norm_op, name, input, axes, eps);
}

ValueId add_rms_norm(Model& model, const std::string& name, ValueId input, int64_t axes, double eps) {
  return add_norm_of_axes(model, rms_norm_op, name, input, axes, eps);
}

ValueId add_group_norm(Model& model, const std::string& name, ValueId input, int64_t groups, double eps) {
  Addition layer(model, "group_norm", name);
  const int64_t channels = channels_of(layer.input(input));
  check_eps("group_norm", name, eps);
  layer.parameter("weight", {DType::f32, {channels}});
  layer.parameter("bias", {DType::f32, {channels}});
  const Attributes settings = {{"groups", groups}, {"eps", eps}};
  return layer.commit(settings, group_norm_text(groups, channels, eps), settings);
}

}  // namespace troika
