// sgd_update: stochastic gradient descent as PyTorch defines it (dampening 0), in place, over a run of parameters.
#include "core/text.h"
#include "ops/op_def.h"

namespace troika {
namespace {

// Inputs: learning_rates f32 [groups], then for each parameter: parameter, gradient, and momentum where `momentum` > 0.
// Attributes: group (index into learning_rates), momentum, weight_decay, nesterov, scaled, clipped. Where `scaled`, two more
// inputs stand behind these, loss_scale f32 [2] and is_finite i32 [1]: gradients are divided by loss_scale[0], and nothing
// changes where is_finite is 0. Where `clipped`, one more stands at the end, f32 [1], by which gradients are multiplied.
// g = gradient + weight_decay * p;  m = momentum * m + g;  g = nesterov ? g + momentum * m : m;  p -= rate * g
std::vector<TensorType> infer(const OpInputs& in) {
  const size_t stride = in.node.attributes.real("momentum") > 0 ? 3 : 2;
  const bool is_clipped = in.node.attributes.flag("clipped");
  const size_t extra = (in.node.attributes.flag("scaled") ? 2 : 0) + (is_clipped ? 1 : 0), n = in.node.inputs.size();
  if (n < 1 + extra || (n - extra) % stride != 1)
    in.fail(text("has ", n, " inputs, needs ", 1 + extra, " + a multiple of ", stride));
  for (size_t i = 1; i < n - extra; ++i)
    if (!(in.types[i] == in.types[i - (i - 1) % stride]))
      in.fail("gradient or momentum differs in shape from its parameter");
  if (is_clipped && in.types.back() != TensorType{DType::f32, {1}})
    in.fail(text("clip factor is ", name_of(in.types.back().dtype), in.types.back().shape, ", needs f32[1]"));
  return {};
}

}  // namespace

// Every input but the rates may change; a gradient does not, but then nothing reads it afterwards either.
const OpDef sgd_update_op{.name = "sgd_update", .infer = infer, .mutates = {1}, .traits = UpdateOp{}};

}  // namespace troika
