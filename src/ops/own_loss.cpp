// own_loss: a loss that the caller computes. The network's output passes through, and the targets
// are the gradient of the loss.
#include "core/text.h"
#include "ops/losses.h"
#include "ops/op_def.h"

namespace troika {
namespace {

// Inputs: x [n, ...]; the gradient of the loss with respect to x, of x's shape. Output: x.
std::vector<TensorType> infer(const OpInputs& in) {
  in.need_inputs(2, 2);
  if (in.types[loss::x] != in.types[loss::target])
    in.fail(text("the gradient is ", name_of(in.types[loss::target].dtype), in.shape(loss::target),
                 ", the model's output ", name_of(in.types[loss::x].dtype), in.shape(loss::x)));
  return {in.types[loss::x]};
}

std::vector<ValueId> gradient(GradientBuilder&, const Node& node, const std::vector<ValueId>&) {
  return {node.inputs[loss::target], kNoValue};
}

}  // namespace

const OpDef own_loss_op{.name = "own_loss", .infer = infer, .gradient = gradient, .is_view = true, .traits = LossOp{}};

}  // namespace troika
