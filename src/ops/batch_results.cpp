// batch_results: this rank's losses and correct labels in one tensor, with 0 for those of other
// ranks. The sum of these tensors over the world has every loss in the order of samples, for any
// number of ranks.
#include "core/text.h"
#include "ops/op_def.h"

namespace troika {
namespace {

const TensorType kLoss{DType::f64, {1}}, kCorrect{DType::i64, {1}};

// Inputs: losses f64 [1] of the rank's micro-batches in the order of samples, then their correct
// labels, i64 [1] each. Attributes: losses, the number of losses among the inputs; first, the place
// of the first loss among those of the whole batch; places, the number of losses of the whole
// batch. Output: f64 [places + 1], the losses, then the number of correct labels, which a double
// holds exactly up to 2^53.
std::vector<TensorType> infer(const OpInputs& in) {
  const Attributes& a = in.node.attributes;
  const int64_t losses = a.integer("losses"), first = a.integer("first"), places = a.integer("places");
  const auto inputs = static_cast<int64_t>(in.types.size());
  if (losses < 0 || losses > inputs || first < 0 || places < 1 || losses > places - first)
    in.fail(text(inputs, " inputs, ", losses, " losses from place ", first, " on, of ", places));
  for (int64_t i = 0; i < inputs; ++i) {
    const TensorType &type = in.types[static_cast<size_t>(i)], &need = i < losses ? kLoss : kCorrect;
    if (type != need)
      in.fail(text("input ", i, " is ", name_of(type.dtype), type.shape, ", needs ", name_of(need.dtype), need.shape));
  }
  return {{DType::f64, {places + 1}}};
}

}  // namespace

const OpDef batch_results_op{.name = "batch_results", .infer = infer, .traits = LossOp{}};

}  // namespace troika
