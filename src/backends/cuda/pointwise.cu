// Functions of one number (sigmoid, tanh, silu, leaky_relu, abs, exp, log, sqrt, scale) and their
// gradients, computed in f32, 16 bytes per thread at a time.
#include "backends/cuda/elements.cuh"
#include "backends/cuda/kernels.h"
#include "backends/cuda/maps.cuh"
#include "core/text.h"

namespace troika::cuda {
namespace {

__device__ float sigmoid_of(float x) { return 1 / (1 + expf(-x)); }

struct Sigmoid {
  __device__ float operator()(float x) const { return sigmoid_of(x); }
};
struct SigmoidGradient {
  __device__ float operator()(float y, float dy) const { return dy * y * (1 - y); }
};
struct Tanh {
  __device__ float operator()(float x) const { return tanhf(x); }
};
struct TanhGradient {
  __device__ float operator()(float y, float dy) const { return dy * (1 - y * y); }
};
struct Silu {
  __device__ float operator()(float x) const { return x * sigmoid_of(x); }
};
struct SiluGradient {
  __device__ float operator()(float x, float dy) const {
    const float s = sigmoid_of(x);
    return dy * s * (1 + x * (1 - s));
  }
};
struct LeakyRelu {
  float slope;
  __device__ float operator()(float x) const { return x > 0 ? x : slope * x; }
};
struct LeakyReluGradient {
  float slope;
  __device__ float operator()(float x, float dy) const { return x > 0 ? dy : slope * dy; }
};
struct Abs {
  __device__ float operator()(float x) const { return fabsf(x); }
};
struct AbsGradient {
  __device__ float operator()(float x, float dy) const { return x > 0 ? dy : x < 0 ? -dy : x * dy; }
};
struct Exp {
  __device__ float operator()(float x) const { return expf(x); }
};
struct Log {
  __device__ float operator()(float x) const { return logf(x); }
};
struct Sqrt {
  __device__ float operator()(float x) const { return sqrtf(x); }
};
struct Scale {
  float factor, offset;
  __device__ float operator()(float x) const { return factor * x + offset; }
};

// F on numbers of any type.
template <typename F>
struct InFloat {
  F f;

  template <typename T>
  __device__ T operator()(T x) const {
    return from_float<T>(f(to_float(x)));
  }
  template <typename T>
  __device__ T operator()(T x, T y) const {
    return from_float<T>(f(to_float(x), to_float(y)));
  }
};

template <typename F>
KernelChoice choose_map(CudaDevice& device, const KernelRequest& request, F f) {
  const TensorType& type = output_type(request, 0);
  auto kernel = with_type(type.dtype, [&](auto zero) {
    using T = decltype(zero);
    return make_map<T, T>(device, type.shape.elements(), InFloat<F>{f});
  });
  KernelChoice choice = nhwc_choice(request, text("cuda:own:", request.node.op), std::move(kernel));
  choice.may_share = {{0, 0}};
  return choice;
}

template <typename F>
KernelChoice choose_gradient_map(CudaDevice& device, const KernelRequest& request, F f) {
  const TensorType& type = output_type(request, 0);
  if (input_type(request, 0) != type)
    throw Error(Status::internal, text(request.node.op, " '", request.node.name, "': input is ",
                                       name_of(input_type(request, 0).dtype), input_type(request, 0).shape,
                                       ", its gradient ", name_of(type.dtype), type.shape, ", need the same"));
  auto kernel = with_type(type.dtype, [&](auto zero) {
    return make_map_pair<decltype(zero)>(device, type.shape.elements(), InFloat<F>{f});
  });
  KernelChoice choice = nhwc_choice(request, text("cuda:own:", request.node.op), std::move(kernel));
  choice.may_share = {{0, 1}, {0, 0}};
  return choice;
}

float slope_of(const KernelRequest& request) { return static_cast<float>(request.node.attributes.real("slope")); }

}  // namespace

KernelChoice select_sigmoid(CudaDevice& device, const KernelRequest& request) {
  return choose_map(device, request, Sigmoid{});
}

KernelChoice select_sigmoid_gradient(CudaDevice& device, const KernelRequest& request) {
  return choose_gradient_map(device, request, SigmoidGradient{});
}

KernelChoice select_tanh(CudaDevice& device, const KernelRequest& request) {
  return choose_map(device, request, Tanh{});
}

KernelChoice select_tanh_gradient(CudaDevice& device, const KernelRequest& request) {
  return choose_gradient_map(device, request, TanhGradient{});
}

KernelChoice select_silu(CudaDevice& device, const KernelRequest& request) {
  return choose_map(device, request, Silu{});
}

KernelChoice select_silu_gradient(CudaDevice& device, const KernelRequest& request) {
  return choose_gradient_map(device, request, SiluGradient{});
}

KernelChoice select_leaky_relu(CudaDevice& device, const KernelRequest& request) {
  return choose_map(device, request, LeakyRelu{slope_of(request)});
}

KernelChoice select_leaky_relu_gradient(CudaDevice& device, const KernelRequest& request) {
  return choose_gradient_map(device, request, LeakyReluGradient{slope_of(request)});
}

KernelChoice select_abs(CudaDevice& device, const KernelRequest& request) { return choose_map(device, request, Abs{}); }

KernelChoice select_abs_gradient(CudaDevice& device, const KernelRequest& request) {
  return choose_gradient_map(device, request, AbsGradient{});
}

KernelChoice select_exp(CudaDevice& device, const KernelRequest& request) { return choose_map(device, request, Exp{}); }

KernelChoice select_log(CudaDevice& device, const KernelRequest& request) { return choose_map(device, request, Log{}); }

KernelChoice select_sqrt(CudaDevice& device, const KernelRequest& request) {
  return choose_map(device, request, Sqrt{});
}

KernelChoice select_scale(CudaDevice& device, const KernelRequest& request) {
  return choose_map(device, request,
                    Scale{static_cast<float>(request.node.attributes.real("factor")),
                          static_cast<float>(request.node.attributes.real("offset"))});
}

}  // namespace troika::cuda
