// cross_entropy and mean_squared_error with their gradients: small, plain, accumulated in double.
#include <cmath>

#include "backends/cpu/kernels.h"
#include "backends/cpu/threads.h"

namespace troika::cpu {

// logits [n, classes] -> loss, correct, probabilities.
KernelChoice select_cross_entropy(const CpuDevice&, const KernelRequest& request) {
  const Shape& x = request.graph.type(request.node.inputs[0]).shape;
  const int64_t n = x[0], classes = x[1];
  auto body = [=](void* const* in, void* const* out, void*) {
    const auto* logits = static_cast<const float*>(in[0]);
    const auto* labels = static_cast<const int32_t*>(in[1]);
    auto* probabilities = static_cast<float*>(out[2]);
    double loss = 0;
    int64_t correct = 0;
    for (int64_t i = 0; i < n; ++i) {
      const float* row = logits + i * classes;
      int64_t best = 0;
      for (int64_t c = 1; c < classes; ++c)
        if (row[c] > row[best]) best = c;
      // log sum exp, taken around the largest so that it cannot overflow
      double sum = 0;
      for (int64_t c = 0; c < classes; ++c) {
        const float e = std::exp(row[c] - row[best]);
        probabilities[i * classes + c] = e;
        sum += e;
      }
      const float scale = static_cast<float>(1.0 / sum);
      for (int64_t c = 0; c < classes; ++c) probabilities[i * classes + c] *= scale;
      loss += std::log(sum) - (static_cast<double>(row[labels[i]]) - row[best]);
      correct += best == labels[i];
    }
    *static_cast<double*>(out[0]) = loss;
    *static_cast<int64_t*>(out[1]) = correct;
  };
  return uniform_choice(request, nullptr, "cpu:cross_entropy", make_kernel(body));
}

KernelChoice select_cross_entropy_gradient(const CpuDevice&, const KernelRequest& request) {
  const Shape& x = request.graph.type(request.node.inputs[0]).shape;
  const int64_t n = x[0], classes = x[1];
  const float scale = static_cast<float>(request.node.attributes.real("scale"));
  const bool is_scaled = has_input(request, 2);
  auto body = [=](void* const* in, void* const* out, void*) {
    const auto* probabilities = static_cast<const float*>(in[0]);
    const auto* labels = static_cast<const int32_t*>(in[1]);
    auto* dx = static_cast<float*>(out[0]);
    const float factor = is_scaled ? scale * *static_cast<const float*>(in[2]) : scale;
    for (int64_t i = 0; i < n; ++i)
      for (int64_t c = 0; c < classes; ++c)
        dx[i * classes + c] = factor * (probabilities[i * classes + c] - (labels[i] == c ? 1.0f : 0.0f));
  };
  KernelChoice choice = uniform_choice(request, nullptr, "cpu:cross_entropy_gradient", make_kernel(body));
  choice.may_share = {{0, 0}};
  return choice;
}

// outputs [n, k], targets [n, k] -> loss.
KernelChoice select_mean_squared_error(const CpuDevice&, const KernelRequest& request) {
  const Shape& x = request.graph.type(request.node.inputs[0]).shape;
  const int64_t elements = x.elements(), k = x[1];
  auto body = [=](void* const* in, void* const* out, void*) {
    const auto *output = static_cast<const float*>(in[0]), *target = static_cast<const float*>(in[1]);
    double loss = 0;
    for (int64_t i = 0; i < elements; ++i) {
      const double d = static_cast<double>(output[i]) - target[i];
      loss += d * d;
    }
    *static_cast<double*>(out[0]) = loss / static_cast<double>(k);
  };
  return uniform_choice(request, nullptr, "cpu:mean_squared_error", make_kernel(body));
}

KernelChoice select_mean_squared_error_gradient(const CpuDevice&, const KernelRequest& request) {
  const Shape& x = request.graph.type(request.node.inputs[0]).shape;
  const int64_t elements = x.elements();
  const bool is_scaled = has_input(request, 2);
  const float scale = static_cast<float>(2.0 * request.node.attributes.real("scale") / static_cast<double>(x[1]));
  auto body = [=](void* const* in, void* const* out, void*) {
    const auto *output = static_cast<const float*>(in[0]), *target = static_cast<const float*>(in[1]);
    auto* dx = static_cast<float*>(out[0]);
    const float factor = is_scaled ? scale * *static_cast<const float*>(in[2]) : scale;
    for (int64_t i = 0; i < elements; ++i) dx[i] = factor * (output[i] - target[i]);
  };
  return uniform_choice(request, nullptr, "cpu:mean_squared_error_gradient", make_kernel(body));
}

}  // namespace troika::cpu
