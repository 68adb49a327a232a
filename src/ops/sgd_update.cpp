// sgd_update: stochastic gradient descent as PyTorch defines it (dampening 0), in place, over a run of parameters.
#include "core/text.h"
#include "ops/op_def.h"

namespace troika {
namespace {

// Inputs: learning_rates f32 [groups], then for each parameter: parameter, gradient, and momentum where `momentum` > 0.
// Attributes: group (index into learning_rates), momentum, weight_decay, nesterov.
// g = gradient + weight_decay * p;  m = momentum * m + g;  g = nesterov ? g + momentum * m : m;  p -= rate * g
std::vector<TensorType> infer(const OpInputs& in) {
  const size_t stride = in.node.attributes.real("momentum") > 0 ? 3 : 2;
  if (in.node.inputs.size() % stride != 1)
    in.fail(text("has ", in.node.inputs.size(), " inputs, needs 1 + a multiple of ", stride));
  for (size_t i = 1; i < in.types.size(); ++i)
    if (!(in.types[i] == in.types[i - (i - 1) % stride]))
      in.fail("gradient or momentum differs in shape from its parameter");
  return {};
}

}  // namespace

extern const OpDef sgd_update_op;
// Every input but the rates may change; a gradient does not, but then nothing reads it afterwards either.
const OpDef sgd_update_op{.name = "sgd_update", .infer = infer, .mutates = {1}};

}  // namespace troika
