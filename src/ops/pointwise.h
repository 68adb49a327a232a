// Layers that compute each number of the output from the number at the same place of the input, and
// the ops of their gradients.
#pragma once

#include "ops/op_def.h"

namespace troika {

inline std::vector<TensorType> infer_pointwise(const OpInputs& in) {
  in.need_inputs(1, 1);
  return {in.types[0]};
}

inline OpTraits pointwise_traits() {
  return LayerOp{.channels = always<ChannelRule::pass_on>,
                 .reach = Reach::pixel,
                 .fuses_relu = false,
                 .inference = InferenceForm{},
                 .low = LowPrecision{true},
                 .has_product = false};
}

// Inputs of a gradient's op: the layer's input or output, whichever its formula reads, and dy.
inline std::vector<TensorType> infer_pointwise_gradient(const OpInputs& in) {
  in.need_inputs(2, 2);
  return {in.types[1]};
}

inline OpTraits pointwise_gradient_traits() { return GradientOp{.is_of_weights = false, .has_product = false}; }

}  // namespace troika
