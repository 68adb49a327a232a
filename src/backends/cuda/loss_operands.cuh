// Operands of the losses for device code: labels with their settings, and the factor of a gradient.
#pragma once

#include "backends/cuda/kernels.h"
#include "ops/losses.h"

namespace troika::cuda {

// Properties of logits and labels for device code: ClassRows and LabelSettings.
struct Labels {
  int64_t count, classes, inner;
  float own, other;  // what the probability of the label's class should be, and that of the other classes
  double smoothing;
  int32_t ignored;
  bool ignores;

  Labels(const Shape& logits, const Attributes& attributes) {
    const ClassRows rows(logits);
    const auto form = LabelSettings::of(attributes);
    count = rows.labels();
    classes = rows.classes;
    inner = rows.inner;
    smoothing = form.smoothing;
    const double share = smoothing / static_cast<double>(classes);
    own = static_cast<float>(1 - smoothing + share);
    other = static_cast<float>(share);
    ignores = form.ignored.has_value();
    ignored = form.ignored.value_or(0);
  }

  __device__ bool counts(int32_t label) const { return !(ignores && label == ignored); }
  __device__ bool is_class(int32_t label) const { return label >= 0 && label < classes; }
  // The first logit of label i; the next ones follow in steps of `inner`.
  __device__ int64_t first_logit(int64_t i) const {
    return inner == 1 ? i * classes : i / inner * classes * inner + i % inner;
  }
};

// The optional inputs of a loss. Input i is at place first + i of the node's inputs; null: absent.
inline const float* operand_of(const Arguments& a, loss::Input i, size_t first = 0) {
  return a.inputs.size() > first + i ? a.in<float>(first + i) : nullptr;
}

// The factor of a gradient. Pointers are null if there is no loss scale, no weight of a label, or
// if labels have no weights of their own.
struct Factor {
  const float *loss_scale = nullptr, *label_weight = nullptr;
  float scale = 1;
  const float* each = nullptr;  // of each label, or sample

  explicit Factor(const float* of_labels) : each(of_labels) {}

  Factor(const Arguments& a, float s, size_t first = 0)
      : loss_scale(operand_of(a, loss::loss_scale, first)),
        label_weight(operand_of(a, loss::label_weight, first)),
        scale(s),
        each(operand_of(a, loss::weights, first)) {}

  __device__ float read() const {
    float factor = scale;
    if (label_weight) factor *= *label_weight;
    if (loss_scale) factor *= *loss_scale;
    return factor;
  }
};

}  // namespace troika::cuda
