// cross_entropy, label_losses and the losses of values with their gradients: small, plain,
// accumulated in double.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "backends/cpu/kernels.h"
#include "backends/cpu/threads.h"
#include "backends/cpu/value_losses.h"
#include "core/text.h"
#include "ops/losses.h"

namespace troika::cpu {
namespace {

// The factor by which a gradient op's node multiplies: `scale`, the loss scale and the weight of a
// label, if present.
class GradientFactor {
 public:
  GradientFactor(const KernelRequest& request, double scale)
      : scale_(static_cast<float>(scale)),
        is_scaled_(has_input(request, loss::loss_scale)),
        is_weighed_(has_input(request, loss::label_weight)) {}

  float read(void* const* in) const {
    float factor = scale_;
    if (is_weighed_) factor *= *static_cast<const float*>(in[loss::label_weight]);
    if (is_scaled_) factor *= *static_cast<const float*>(in[loss::loss_scale]);
    return factor;
  }

 private:
  float scale_;
  bool is_scaled_, is_weighed_;
};

// The weights of labels, or of samples, that a node may have.
class Weights {
 public:
  explicit Weights(const KernelRequest& request) : are_there_(has_input(request, loss::weights)) {}
  // Null: 1 each.
  const float* read(void* const* in) const {
    return are_there_ ? static_cast<const float*>(in[loss::weights]) : nullptr;
  }

 private:
  bool are_there_;
};

// Softmax over the classes of one label after the other, and what the labels add to the loss.
class CrossEntropy {
 public:
  explicit CrossEntropy(const KernelRequest& request)
      : rows_(request.graph.type(request.node.inputs[loss::x]).shape),
        form_(LabelSettings::of(request.node.attributes)) {}

  struct Sums {
    double loss = 0;
    int64_t correct = 0;
  };

  int64_t labels() const { return rows_.labels(); }

  // Adds the numbers of label i, whose loss is multiplied by `weight`. Softmax subtracts the
  // largest logit, so that it cannot overflow.
  void add(int64_t i, const float* logits, const int32_t* labels, float* probabilities, Sums& sums,
           float weight = 1) const {
    const int64_t classes = rows_.classes, step = rows_.inner, first = i / step * classes * step + i % step;
    const float* const row = logits + first;
    float* const p = probabilities + first;
    int64_t best = 0;
    for (int64_t c = 1; c < classes; ++c)
      if (row[c * step] > row[best * step]) best = c;
    const float most = row[best * step];
    double sum = 0;
    for (int64_t c = 0; c < classes; ++c) {
      const float e = std::exp(row[c * step] - most);
      p[c * step] = e;
      sum += e;
    }
    const float scale = static_cast<float>(1.0 / sum);
    for (int64_t c = 0; c < classes; ++c) p[c * step] *= scale;
    if (labels[i] == form_.ignored) return;
    if (labels[i] < 0 || labels[i] >= classes) {  // trainers refuse it before
      sums.loss = std::numeric_limits<double>::quiet_NaN();
      return;
    }
    const double log_sum = std::log(sum), own = log_sum - (static_cast<double>(row[labels[i] * step]) - most);
    sums.loss += static_cast<double>(weight) * (form_.smoothing > 0 ? smoothed(own, log_sum, row, most) : own);
    sums.correct += best == labels[i] && !std::isnan(sum);
  }

 private:
  double smoothed(double own, double log_sum, const float* row, float most) const {
    double sum_of_logits = 0;
    for (int64_t c = 0; c < rows_.classes; ++c) sum_of_logits += static_cast<double>(row[c * rows_.inner]) - most;
    const double mean = log_sum - sum_of_logits / static_cast<double>(rows_.classes);
    return (1 - form_.smoothing) * own + form_.smoothing * mean;
  }

  const ClassRows rows_;
  const LabelSettings form_;
};

constexpr int64_t kRunLabels = 64;  // whose losses are added up before those of other runs, whatever the team

// The gradient of the logits: a factor per label times (probability - what it should be).
class LabelGradient {
 public:
  explicit LabelGradient(const KernelRequest& request)
      : rows_(request.graph.type(request.node.inputs[loss::x]).shape),
        form_(LabelSettings::of(request.node.attributes)) {
    const double share = form_.smoothing / static_cast<double>(rows_.classes);
    other_ = static_cast<float>(share);
    own_ = static_cast<float>(1 - form_.smoothing + share);
  }

  template <typename FactorOf>
  void write(void* const* in, float* dx, FactorOf factor_of) const {
    const auto* probabilities = static_cast<const float*>(in[loss::x]);
    const auto* labels = static_cast<const int32_t*>(in[loss::target]);
    const int64_t classes = rows_.classes, step = rows_.inner;
    parallel_for(rows_.labels(), kRunLabels, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t first = i / step * classes * step + i % step;
        const bool counts = labels[i] != form_.ignored;
        const float factor = factor_of(i);
        for (int64_t c = 0; c < classes; ++c) {
          const int64_t at = first + c * step;
          dx[at] = counts ? factor * (probabilities[at] - (labels[i] == c ? own_ : other_)) : 0.0f;
        }
      }
    });
  }

 private:
  const ClassRows rows_;
  const LabelSettings form_;
  float own_, other_;
};

}  // namespace

// logits -> loss, correct, probabilities.
KernelChoice select_cross_entropy(const CpuDevice&, const KernelRequest& request) {
  const CrossEntropy cross_entropy(request);
  const Weights weights_of(request);
  const int64_t labels = cross_entropy.labels(), runs = (labels + kRunLabels - 1) / kRunLabels;
  auto body = [=](void* const* in, void* const* out, void* scratch) {
    const float* const weights = weights_of.read(in);
    auto* const sums = static_cast<CrossEntropy::Sums*>(scratch);  // by run
    parallel_for(runs, 1, [&](int64_t begin, int64_t end) {
      for (int64_t run = begin; run < end; ++run) {
        sums[run] = {};
        for (int64_t i = run * kRunLabels; i < std::min((run + 1) * kRunLabels, labels); ++i)
          cross_entropy.add(i, static_cast<const float*>(in[loss::x]), static_cast<const int32_t*>(in[loss::target]),
                            static_cast<float*>(out[loss::probabilities]), sums[run], weights ? weights[i] : 1);
      }
    });
    CrossEntropy::Sums whole;
    for (int64_t run = 0; run < runs; ++run) {
      whole.loss += sums[run].loss;
      whole.correct += sums[run].correct;
    }
    *static_cast<double*>(out[loss::sum]) = whole.loss;
    *static_cast<int64_t*>(out[loss::correct]) = whole.correct;
  };
  KernelChoice choice = uniform_choice(request, nullptr, "cpu:cross_entropy", make_kernel(body));
  choice.scratch_bytes = static_cast<size_t>(runs) * sizeof(CrossEntropy::Sums);
  return choice;
}

KernelChoice select_cross_entropy_gradient(const CpuDevice&, const KernelRequest& request) {
  const LabelGradient gradient(request);
  const GradientFactor factor_of(request, request.node.attributes.real("scale"));
  const Weights weights_of(request);
  auto body = [=](void* const* in, void* const* out, void*) {
    const float factor = factor_of.read(in);
    const float* const weights = weights_of.read(in);
    gradient.write(in, static_cast<float*>(out[0]), [=](int64_t i) { return weights ? factor * weights[i] : factor; });
  };
  KernelChoice choice = uniform_choice(request, nullptr, "cpu:cross_entropy_gradient", make_kernel(body));
  choice.may_share = {{0, 0}};
  return choice;
}

// logits -> losses, probabilities.
KernelChoice select_label_losses(const CpuDevice&, const KernelRequest& request) {
  const CrossEntropy cross_entropy(request);
  auto body = [=](void* const* in, void* const* out, void*) {
    parallel_for(cross_entropy.labels(), kRunLabels, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        CrossEntropy::Sums sums;
        cross_entropy.add(i, static_cast<const float*>(in[loss::x]), static_cast<const int32_t*>(in[loss::target]),
                          static_cast<float*>(out[1]), sums);
        static_cast<float*>(out[0])[i] = static_cast<float>(sums.loss);
      }
    });
  };
  return uniform_choice(request, nullptr, "cpu:label_losses", make_kernel(body));
}

// probabilities, labels, gradients of the losses -> dx.
KernelChoice select_label_losses_gradient(const CpuDevice&, const KernelRequest& request) {
  const LabelGradient gradient(request);
  auto body = [=](void* const* in, void* const* out, void*) {
    const auto* of_losses = static_cast<const float*>(in[2]);
    gradient.write(in, static_cast<float*>(out[0]), [=](int64_t i) { return of_losses[i]; });
  };
  KernelChoice choice = uniform_choice(request, nullptr, "cpu:label_losses_gradient", make_kernel(body));
  choice.may_share = {{0, 0}};
  return choice;
}

namespace {

constexpr int64_t kRunValues = 16384;  // whose sum one thread adds up, so that sums do not depend on threads

// outputs [n, ...], targets [n, ...] -> loss.
template <typename Loss>
KernelChoice choose_value_loss(const KernelRequest& request, const Loss& loss_of) {
  const Shape& x = request.graph.type(request.node.inputs[0]).shape;
  const int64_t elements = x.elements(), k = x.elements(1, x.rank()), runs = (elements + kRunValues - 1) / kRunValues;
  const Weights weights_of(request);
  auto body = [=](void* const* in, void* const* out, void* scratch) {
    const auto *output = static_cast<const float*>(in[0]), *target = static_cast<const float*>(in[1]);
    const float* const weights = weights_of.read(in);
    auto* sums = static_cast<double*>(scratch);
    parallel_for(runs, 1, [&](int64_t begin, int64_t end) {
      for (int64_t run = begin; run < end; ++run) {
        double sum = 0;
        for (int64_t i = run * kRunValues; i < std::min((run + 1) * kRunValues, elements); ++i)
          sum += weights ? weights[i / k] * loss_of.value(output[i], target[i]) : loss_of.value(output[i], target[i]);
        sums[run] = sum;
      }
    });
    *static_cast<double*>(out[0]) = std::accumulate(sums, sums + runs, 0.0) / static_cast<double>(k);
  };
  KernelChoice choice = uniform_choice(request, nullptr, text("cpu:", request.node.op), make_kernel(body));
  choice.scratch_bytes = static_cast<size_t>(runs) * sizeof(double);
  return choice;
}

template <typename Loss>
KernelChoice choose_value_loss_gradient(const KernelRequest& request, const Loss& loss_of) {
  const Shape& x = request.graph.type(request.node.inputs[0]).shape;
  const int64_t elements = x.elements(), k = x.elements(1, x.rank());
  const GradientFactor factor_of(request,
                                 Loss::kFactor * request.node.attributes.real("scale") / static_cast<double>(k));
  const Weights weights_of(request);
  auto body = [=](void* const* in, void* const* out, void*) {
    const auto *output = static_cast<const float*>(in[0]), *target = static_cast<const float*>(in[1]);
    auto* dx = static_cast<float*>(out[0]);
    const float factor = factor_of.read(in);
    const float* const weights = weights_of.read(in);
    parallel_for(elements, kRunValues, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        dx[i] = (weights ? factor * weights[i / k] : factor) * loss_of.slope(output[i], target[i]);
    });
  };
  return uniform_choice(request, nullptr, text("cpu:", request.node.op), make_kernel(body));
}

}  // namespace

#define TROIKA_VALUE_LOSS(op, Loss)                                                     \
  KernelChoice select_##op(const CpuDevice&, const KernelRequest& request) {            \
    return choose_value_loss(request, Loss(request.node));                              \
  }                                                                                     \
  KernelChoice select_##op##_gradient(const CpuDevice&, const KernelRequest& request) { \
    return choose_value_loss_gradient(request, Loss(request.node));                     \
  }
TROIKA_VALUE_LOSS(mean_squared_error, SquaredError)
TROIKA_VALUE_LOSS(mean_absolute_error, AbsoluteError)
TROIKA_VALUE_LOSS(huber, HuberLoss)
TROIKA_VALUE_LOSS(binary_cross_entropy, BinaryCrossEntropy)
#undef TROIKA_VALUE_LOSS

}  // namespace troika::cpu
