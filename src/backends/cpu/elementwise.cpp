// relu, gelu, their gradients, add and fill: flat loops over whatever layout their inputs share,
// padding included (it stays 0).
#include "backends/cpu/activations.h"
#include "backends/cpu/arithmetic.h"
#include "backends/cpu/kernels.h"
#include "backends/cpu/threads.h"

namespace troika::cpu {
namespace {

constexpr int64_t kElementwiseGrain = 16384;  // floats a thread at least

TROIKA_VECTORIZE void relu_range(const float* x, float* y, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; ++i) y[i] = x[i] < 0 ? 0.0f : x[i];
}

// A number below 0 has its sign bit set and no NaN's magnitude.
TROIKA_VECTORIZE void relu_range_bf16(uint16_t* y, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; ++i) y[i] = y[i] > 0x8000 && y[i] <= 0xff80 ? uint16_t{0} : y[i];
}

TROIKA_VECTORIZE void relu_gradient_range(const float* y, const float* dy, float* dx, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; ++i) dx[i] = y[i] <= 0 ? 0.0f : dy[i];
}

// In 16 bits: the numbers up to 0 are 0 and those from -0 to -infinity, `least`.
TROIKA_VECTORIZE void relu_gradient_range_16(const uint16_t* y, const uint16_t* dy, uint16_t* dx, uint16_t least,
                                             int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; ++i) dx[i] = y[i] == 0 || (y[i] >= 0x8000 && y[i] <= least) ? uint16_t{0} : dy[i];
}

TROIKA_VECTORIZE void gelu_range(const float* x, float* y, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; ++i) y[i] = gelu_lane(x[i]);
}

TROIKA_VECTORIZE void gelu_gradient_range(const float* x, const float* dy, float* dx, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; ++i) dx[i] = gelu_slope_lane(x[i]) * dy[i];
}

TROIKA_VECTORIZE void add_range(const float* a, const float* b, float* y, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; ++i) y[i] = a[i] + b[i];
}

TROIKA_VECTORIZE void add_relu_range(const float* a, const float* b, float* y, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; ++i) {
    const float sum = a[i] + b[i];
    y[i] = sum < 0 ? 0.0f : sum;
  }
}

}  // namespace

void relu_in_place(float* y, int64_t n) {
  parallel_for(n, kElementwiseGrain, [&](int64_t begin, int64_t end) { relu_range(y, y, begin, end); });
}

void relu_in_place_bf16(uint16_t* y, int64_t n) {
  parallel_for(n, kElementwiseGrain, [&](int64_t begin, int64_t end) { relu_range_bf16(y, begin, end); });
}

void relu_gradient(DType dtype, const void* y, const void* dy, void* dx, int64_t n) {
  const uint16_t least = dtype == DType::bf16 ? 0xff80 : 0xfc00;
  parallel_for(n, kElementwiseGrain, [&](int64_t begin, int64_t end) {
    if (dtype == DType::f32)
      relu_gradient_range(static_cast<const float*>(y), static_cast<const float*>(dy), static_cast<float*>(dx), begin,
                          end);
    else
      relu_gradient_range_16(static_cast<const uint16_t*>(y), static_cast<const uint16_t*>(dy),
                             static_cast<uint16_t*>(dx), least, begin, end);
  });
}

namespace {

int64_t floats_in(const KernelRequest& request, ValueId value, const LayoutPtr& layout) {
  return static_cast<int64_t>(bytes_in(request.graph.type(value), layout) / sizeof(float));
}

}  // namespace

KernelChoice select_relu(const CpuDevice&, const KernelRequest& request) {
  const LayoutPtr layout = request.input_layouts[0];
  const int64_t n = floats_in(request, request.node.inputs[0], layout);
  auto body = [n](void* const* in, void* const* out, void*) {
    const auto* x = static_cast<const float*>(in[0]);
    auto* y = static_cast<float*>(out[0]);
    parallel_for(n, kElementwiseGrain, [&](int64_t begin, int64_t end) { relu_range(x, y, begin, end); });
  };
  KernelChoice choice = uniform_choice(request, layout, "cpu:relu", make_kernel(body));
  choice.may_share = {{0, 0}};
  return choice;
}

KernelChoice select_relu_gradient(const CpuDevice&, const KernelRequest& request) {
  const LayoutPtr layout = request.input_layouts[0];
  const TensorType& type = request.graph.type(request.node.inputs[0]);
  const DType dtype = type.dtype;
  const auto n = static_cast<int64_t>(bytes_in(type, layout) / size_of(dtype));
  auto body = [dtype, n](void* const* in, void* const* out, void*) { relu_gradient(dtype, in[0], in[1], out[0], n); };
  KernelChoice choice = uniform_choice(request, layout, "cpu:relu_gradient", make_kernel(body));
  choice.may_share = {{0, 1}};
  return choice;
}

KernelChoice select_gelu(const CpuDevice&, const KernelRequest& request) {
  const LayoutPtr layout = request.input_layouts[0];
  const int64_t n = floats_in(request, request.node.inputs[0], layout);
  auto body = [n](void* const* in, void* const* out, void*) {
    const auto* x = static_cast<const float*>(in[0]);
    auto* y = static_cast<float*>(out[0]);
    parallel_for(n, kElementwiseGrain, [&](int64_t begin, int64_t end) { gelu_range(x, y, begin, end); });
  };
  KernelChoice choice = uniform_choice(request, layout, "cpu:gelu", make_kernel(body));
  choice.may_share = {{0, 0}};
  return choice;
}

KernelChoice select_gelu_gradient(const CpuDevice&, const KernelRequest& request) {
  const LayoutPtr layout = request.input_layouts[0];
  const int64_t n = floats_in(request, request.node.inputs[0], layout);
  auto body = [n](void* const* in, void* const* out, void*) {
    const auto *x = static_cast<const float*>(in[0]), *dy = static_cast<const float*>(in[1]);
    auto* dx = static_cast<float*>(out[0]);
    parallel_for(n, kElementwiseGrain, [&](int64_t begin, int64_t end) { gelu_gradient_range(x, dy, dx, begin, end); });
  };
  KernelChoice choice = uniform_choice(request, layout, "cpu:gelu_gradient", make_kernel(body));
  choice.may_share = {{0, 1}, {0, 0}};
  return choice;
}

KernelChoice select_add(const CpuDevice&, const KernelRequest& request) {
  if (request.graph.type(request.node.inputs[0]) != request.graph.type(request.node.inputs[1]))
    return select_broadcast_add(request);
  // A blocked side wins: the plain one is reordered to it.
  const LayoutPtr layout = request.input_layouts[0] ? request.input_layouts[0] : request.input_layouts[1];
  const int64_t n = floats_in(request, request.node.inputs[0], layout);
  const bool relu = request.node.attributes.flag("relu");
  auto body = [n, relu](void* const* in, void* const* out, void*) {
    const auto *a = static_cast<const float*>(in[0]), *b = static_cast<const float*>(in[1]);
    auto* y = static_cast<float*>(out[0]);
    parallel_for(n, kElementwiseGrain, [&](int64_t begin, int64_t end) {
      if (relu)
        add_relu_range(a, b, y, begin, end);
      else
        add_range(a, b, y, begin, end);
    });
  };
  KernelChoice choice = uniform_choice(request, layout, "cpu:add", make_kernel(body));
  choice.may_share = {{0, 0}, {0, 1}};
  return choice;
}

KernelChoice select_fill(const CpuDevice&, const KernelRequest& request) {
  const float value = static_cast<float>(request.node.attributes.real("value"));
  const int64_t n = request.graph.type(request.node.outputs[0]).shape.elements();
  auto body = [n, value](void* const*, void* const* out, void*) {
    auto* y = static_cast<float*>(out[0]);
    for (int64_t i = 0; i < n; ++i) y[i] = value;
  };
  return uniform_choice(request, nullptr, "cpu:fill", make_kernel(body));
}

KernelChoice select_fill_all(const CpuDevice&, const KernelRequest& request) {
  const float value = static_cast<float>(request.node.attributes.real("value"));
  auto body = [sizes = request.node.attributes.list("sizes"), value](void* const*, void* const* out, void*) {
    for (size_t i = 0; i < sizes.size(); ++i) std::fill_n(static_cast<float*>(out[i]), sizes[i], value);
  };
  return uniform_choice(request, nullptr, "cpu:fill_all", make_kernel(body));
}

}  // namespace troika::cpu
