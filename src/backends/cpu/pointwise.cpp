// Functions of one number (sigmoid, tanh, silu, leaky_relu, abs, exp, log, sqrt, scale) and their
// gradients: flat loops. Functions that are 0 at 0 keep the layout of their input, padding
// included; the others are plain.
#include <cmath>

#include "backends/cpu/activations.h"
#include "backends/cpu/kernels.h"
#include "backends/cpu/threads.h"

namespace troika::cpu {
namespace {

constexpr int64_t kPointwiseGrain = 16384;  // floats a thread at least

TROIKA_VECTORIZE void sigmoid_range(const float* x, float* y, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; ++i) y[i] = sigmoid_lane(x[i]);
}

TROIKA_VECTORIZE void sigmoid_gradient_range(const float* y, const float* dy, float* dx, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; ++i) dx[i] = dy[i] * y[i] * (1 - y[i]);
}

TROIKA_VECTORIZE void tanh_range(const float* x, float* y, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; ++i) y[i] = tanh_lane(x[i]);
}

TROIKA_VECTORIZE void tanh_gradient_range(const float* y, const float* dy, float* dx, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; ++i) dx[i] = dy[i] * (1 - y[i] * y[i]);
}

TROIKA_VECTORIZE void silu_range(const float* x, float* y, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; ++i) y[i] = x[i] * sigmoid_lane(x[i]);
}

TROIKA_VECTORIZE void silu_gradient_range(const float* x, const float* dy, float* dx, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; ++i) {
    const float s = sigmoid_lane(x[i]);
    dx[i] = dy[i] * s * (1 + x[i] * (1 - s));
  }
}

TROIKA_VECTORIZE void leaky_relu_range(const float* x, float* y, float slope, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; ++i) y[i] = x[i] > 0 ? x[i] : slope * x[i];
}

TROIKA_VECTORIZE void leaky_relu_gradient_range(const float* x, const float* dy, float* dx, float slope, int64_t begin,
                                                int64_t end) {
  for (int64_t i = begin; i < end; ++i) dx[i] = x[i] > 0 ? dy[i] : slope * dy[i];
}

TROIKA_VECTORIZE void abs_range(const float* x, float* y, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; ++i) y[i] = std::fabs(x[i]);
}

TROIKA_VECTORIZE void abs_gradient_range(const float* x, const float* dy, float* dx, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; ++i) dx[i] = x[i] > 0 ? dy[i] : x[i] < 0 ? -dy[i] : x[i] * dy[i];
}

TROIKA_VECTORIZE void exp_range(const float* x, float* y, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; ++i) y[i] = exp_of_any_lane(x[i]);
}

TROIKA_VECTORIZE void log_range(const float* x, float* y, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; ++i) y[i] = log_lane(x[i]);
}

TROIKA_VECTORIZE void sqrt_range(const float* x, float* y, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; ++i) y[i] = std::sqrt(x[i]);
}

TROIKA_VECTORIZE void scale_range(const float* x, float* y, float factor, float offset, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; ++i) y[i] = factor * x[i] + offset;
}

int64_t floats_in_layout(const KernelRequest& request, const LayoutPtr& layout) {
  return static_cast<int64_t>(bytes_in(request.graph.type(request.node.inputs[0]), layout) / sizeof(float));
}

// run(x, y, begin, end) computes a range of y.
template <typename Run>
KernelChoice choose_map(const KernelRequest& request, const LayoutPtr& layout, const char* name, Run run) {
  const int64_t n = floats_in_layout(request, layout);
  auto body = [n, run](void* const* in, void* const* out, void*) {
    const auto* x = static_cast<const float*>(in[0]);
    auto* y = static_cast<float*>(out[0]);
    parallel_for(n, kPointwiseGrain, [&](int64_t begin, int64_t end) { run(x, y, begin, end); });
  };
  KernelChoice choice = uniform_choice(request, layout, name, make_kernel(body));
  choice.may_share = {{0, 0}};
  return choice;
}

// run(x, dy, dx, begin, end) computes a range of dx; x may be the forward pass's output.
template <typename Run>
KernelChoice choose_gradient_map(const KernelRequest& request, const LayoutPtr& layout, const char* name, Run run) {
  const int64_t n = floats_in_layout(request, layout);
  auto body = [n, run](void* const* in, void* const* out, void*) {
    const auto *x = static_cast<const float*>(in[0]), *dy = static_cast<const float*>(in[1]);
    auto* dx = static_cast<float*>(out[0]);
    parallel_for(n, kPointwiseGrain, [&](int64_t begin, int64_t end) { run(x, dy, dx, begin, end); });
  };
  KernelChoice choice = uniform_choice(request, layout, name, make_kernel(body));
  choice.may_share = {{0, 1}, {0, 0}};
  return choice;
}

}  // namespace

KernelChoice select_sigmoid(const CpuDevice&, const KernelRequest& request) {
  return choose_map(request, nullptr, "cpu:sigmoid", sigmoid_range);
}

KernelChoice select_sigmoid_gradient(const CpuDevice&, const KernelRequest& request) {
  return choose_gradient_map(request, request.input_layouts[0], "cpu:sigmoid_gradient", sigmoid_gradient_range);
}

KernelChoice select_tanh(const CpuDevice&, const KernelRequest& request) {
  return choose_map(request, request.input_layouts[0], "cpu:tanh", tanh_range);
}

KernelChoice select_tanh_gradient(const CpuDevice&, const KernelRequest& request) {
  return choose_gradient_map(request, request.input_layouts[0], "cpu:tanh_gradient", tanh_gradient_range);
}

KernelChoice select_silu(const CpuDevice&, const KernelRequest& request) {
  return choose_map(request, request.input_layouts[0], "cpu:silu", silu_range);
}

KernelChoice select_silu_gradient(const CpuDevice&, const KernelRequest& request) {
  return choose_gradient_map(request, request.input_layouts[0], "cpu:silu_gradient", silu_gradient_range);
}

KernelChoice select_leaky_relu(const CpuDevice&, const KernelRequest& request) {
  const auto slope = static_cast<float>(request.node.attributes.real("slope"));
  return choose_map(
      request, request.input_layouts[0], "cpu:leaky_relu",
      [slope](const float* x, float* y, int64_t begin, int64_t end) { leaky_relu_range(x, y, slope, begin, end); });
}

KernelChoice select_leaky_relu_gradient(const CpuDevice&, const KernelRequest& request) {
  const auto slope = static_cast<float>(request.node.attributes.real("slope"));
  return choose_gradient_map(request, request.input_layouts[0], "cpu:leaky_relu_gradient",
                             [slope](const float* x, const float* dy, float* dx, int64_t begin, int64_t end) {
                               leaky_relu_gradient_range(x, dy, dx, slope, begin, end);
                             });
}

KernelChoice select_abs(const CpuDevice&, const KernelRequest& request) {
  return choose_map(request, request.input_layouts[0], "cpu:abs", abs_range);
}

KernelChoice select_abs_gradient(const CpuDevice&, const KernelRequest& request) {
  return choose_gradient_map(request, request.input_layouts[0], "cpu:abs_gradient", abs_gradient_range);
}

KernelChoice select_exp(const CpuDevice&, const KernelRequest& request) {
  return choose_map(request, nullptr, "cpu:exp", exp_range);
}

KernelChoice select_log(const CpuDevice&, const KernelRequest& request) {
  return choose_map(request, nullptr, "cpu:log", log_range);
}

KernelChoice select_sqrt(const CpuDevice&, const KernelRequest& request) {
  return choose_map(request, request.input_layouts[0], "cpu:sqrt", sqrt_range);
}

KernelChoice select_scale(const CpuDevice&, const KernelRequest& request) {
  const auto factor = static_cast<float>(request.node.attributes.real("factor")),
             offset = static_cast<float>(request.node.attributes.real("offset"));
  return choose_map(request, offset == 0 && std::isfinite(factor) ? request.input_layouts[0] : nullptr, "cpu:scale",
                    [factor, offset](const float* x, float* y, int64_t begin, int64_t end) {
                      scale_range(x, y, factor, offset, begin, end);
                    });
}

}  // namespace troika::cpu
