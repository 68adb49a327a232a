// Operands of the losses and of their gradients, and the classes of cross_entropy.
#pragma once

#include "core/text.h"
#include "ops/channel_axis.h"
#include "ops/op_def.h"

namespace troika {

namespace loss {
enum Input : size_t { x, target, loss_scale, label_weight, weights, kMostInputs };  // the last three or none
enum Output : size_t { sum, correct, probabilities };                      // losses of values have only `sum`
}  // namespace loss

// Returns the shape of the labels of x: its shape without the axis of classes. [n] has none.
inline Shape labels_shape(const Shape& x) {
  std::vector<int64_t> dims = x.dims();
  if (x.rank() < 2) return x;
  dims.erase(dims.begin() + channel_axis(x));
  return Shape(std::move(dims));
}

// Refuses weights that are not f32 of the shape of the labels.
inline void check_weights(const OpInputs& in, const Shape& labels) {
  if (const TensorType need{DType::f32, labels}; in.has(loss::weights) && in.types[loss::weights] != need)
    in.fail(text("weights are ", name_of(in.types[loss::weights].dtype), in.shape(loss::weights), ", needs f32",
                 labels));
}

// How cross_entropy reads its labels. Nodes have both as attributes, ignore_index and smoothing,
// which are absent by default.
struct LabelSettings {
  std::optional<int32_t> ignored;  // a label that is not counted
  double smoothing = 0;            // PyTorch's label_smoothing, in [0, 1)

  static LabelSettings of(const Attributes& attributes) {
    LabelSettings settings;
    if (attributes.has("ignore_index")) settings.ignored = static_cast<int32_t>(attributes.integer("ignore_index"));
    if (attributes.has("smoothing")) settings.smoothing = attributes.real("smoothing");
    return settings;
  }
  void write(Attributes& attributes) const {
    if (ignored) attributes.set("ignore_index", int64_t{*ignored});
    if (smoothing > 0) attributes.set("smoothing", smoothing);
  }
};

// x as cross_entropy reads it: logit c of label (o, i) is element (o * classes + c) * inner + i.
struct ClassRows {
  int64_t outer, classes, inner;

  explicit ClassRows(const Shape& x)
      : outer(x.elements(0, channel_axis(x))),
        classes(x[channel_axis(x)]),
        inner(x.elements(channel_axis(x) + 1, x.rank())) {}
  int64_t labels() const { return outer * inner; }
};

}  // namespace troika
