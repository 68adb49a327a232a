// relu, gelu, their gradients, add, cast and fill: flat loops over images in any layout, 16 bytes
// per thread at a time.
#include "backends/cuda/arithmetic.h"
#include "backends/cuda/early_start.cuh"
#include "backends/cuda/elements.cuh"
#include "backends/cuda/grid.cuh"
#include "backends/cuda/kernels.h"
#include "backends/cuda/maps.cuh"
#include "core/text.h"

namespace troika::cuda {
namespace {

struct Rows {
  static constexpr int kMost = 128;
  float* row[kMost];
  int64_t size[kMost];
};

__global__ void __launch_bounds__(kThreads) fill_rows_kernel(const __grid_constant__ Rows rows, float value) {
  wait_for_kernels_before();
  float* const row = rows.row[blockIdx.y];
  for (int64_t i = first_index(); i < rows.size[blockIdx.y]; i += index_step()) row[i] = value;
}

__global__ void __launch_bounds__(kThreads) fill_kernel(float* y, int64_t n, float value) {
  wait_for_kernels_before();
  for (int64_t i = first_index(); i < n; i += index_step()) y[i] = value;
}

// Comparisons with NaN are false, and leave it in place.
struct Relu {
  template <typename T>
  __device__ T operator()(T x) const {
    return to_float(x) < 0 ? from_float<T>(0) : x;
  }
};

struct ReluGradient {
  template <typename T>
  __device__ T operator()(T y, T dy) const {
    return to_float(y) <= 0 ? from_float<T>(0) : dy;
  }
};

// x Phi(x). At -15 the lower tail is 0, so that -infinity becomes 0 and not NaN.
struct Gelu {
  template <typename T>
  __device__ T operator()(T x) const {
    const float v = to_float(x), a = v < -15 ? -15 : v;
    return from_float<T>(a * normcdff(a));
  }
};

// dy (Phi(x) + x phi(x)). The density phi is 0 from 15 on. `rounded` is what x^2 lost when it was
// rounded, which the density would magnify.
struct GeluGradient {
  template <typename T>
  __device__ T operator()(T x, T dy) const {
    float a = to_float(x);
    a = a < -15 ? -15 : a;
    a = a > 15 ? 15 : a;
    const float square = a * a, rounded = fmaf(a, a, -square);
    const float density = 0.398942280f * expf(-0.5f * square) * (1 - 0.5f * rounded);
    return from_float<T>(to_float(dy) * (normcdff(a) + a * density));
  }
};

struct Add {
  bool relu;

  template <typename T>
  __device__ T operator()(T a, T b) const {
    const float sum = to_float(a) + to_float(b);
    return from_float<T>(relu && sum < 0 ? 0 : sum);
  }
};

template <typename To>
struct Cast {
  template <typename From>
  __device__ To operator()(From x) const {
    return from_float<To>(to_float(x));
  }
};

constexpr int kCastPack = 4;
constexpr int64_t kMostCastBlocks = 128;  // for a tensor

// A kernel's parameters have 4 KB.
template <typename S, typename T>
struct CastTable {
  static constexpr int kMost = 160;
  struct {
    const S* from;
    T* to;
    int64_t count;
  } casts[kMost];
};

// A row of blocks takes a tensor.
template <typename S, typename T>
__global__ void __launch_bounds__(kThreads) casts_kernel(const __grid_constant__ CastTable<S, T> table) {
  wait_for_kernels_before();
  const S* const from = table.casts[blockIdx.y].from;
  T* const to = table.casts[blockIdx.y].to;
  const int64_t count = table.casts[blockIdx.y].count;
  for (int64_t i = first_index(); i < count / kCastPack; i += index_step()) {
    const auto source = reinterpret_cast<const Pack<S, kCastPack>*>(from)[i];
    Pack<T, kCastPack> target;
#pragma unroll
    for (int k = 0; k < kCastPack; ++k) target.v[k] = from_float<T>(to_float(source.v[k]));
    reinterpret_cast<Pack<T, kCastPack>*>(to)[i] = target;
  }
  const int64_t rest = count / kCastPack * kCastPack + first_index();
  if (rest < count) to[rest] = from_float<T>(to_float(from[rest]));
}

// Converts numbers as core/numbers.h says.
template <typename T>
constexpr bool kIsInteger = std::is_integral_v<T>;

template <typename To, typename From>
__device__ To number_as(From x) {
  if constexpr (kIsInteger<From> && kIsInteger<To>) {
    const auto wide = static_cast<int64_t>(x);
    if constexpr (sizeof(To) == sizeof(int64_t)) return wide;
    constexpr int64_t kLeast = std::is_signed_v<To> ? INT32_MIN : 0, kMost = std::is_signed_v<To> ? INT32_MAX : 255;
    return static_cast<To>(wide < kLeast ? kLeast : wide > kMost ? kMost : wide);
  } else if constexpr (kIsInteger<From>) {
    return from_float<To>(static_cast<float>(x));
  } else {
    const float v = to_float(x);
    constexpr float kAbove = sizeof(To) == 8 ? 9223372036854775808.0f : sizeof(To) == 4 ? 2147483648.0f : 255.0f;
    if (v != v) return 0;
    if (v >= kAbove) return sizeof(To) == 8 ? To(INT64_MAX) : sizeof(To) == 4 ? To(INT32_MAX) : To(255);
    if constexpr (!std::is_signed_v<To>) {
      if (v <= 0) return 0;
    } else if (v <= -kAbove) {
      return sizeof(To) == 8 ? To(INT64_MIN) : To(INT32_MIN);
    }
    return static_cast<To>(v);
  }
}

template <typename From, typename To>
__global__ void __launch_bounds__(kThreads) convert_kernel(const From* __restrict__ x, To* __restrict__ y, int64_t n) {
  wait_for_kernels_before();
  for (int64_t i = first_index(); i < n; i += index_step()) y[i] = number_as<To>(x[i]);
}

// Calls f with a value of any type that cast knows.
template <typename F>
auto with_any_type(DType dtype, F&& f) {
  switch (dtype) {
    case DType::i32: return f(int32_t{});
    case DType::i64: return f(int64_t{});
    case DType::u8: return f(uint8_t{});
    default: return with_type(dtype, f);
  }
}

KernelChoice choose_integer_cast(CudaDevice& device, const KernelRequest& request) {
  const int64_t n = output_type(request, 0).shape.elements();
  const DType from = input_type(request, 0).dtype, to = output_type(request, 0).dtype;
  auto kernel = with_any_type(from, [&](auto source) {
    return with_any_type(to, [&](auto target) -> std::unique_ptr<Kernel> {
      using S = decltype(source);
      using T = decltype(target);
      if constexpr (kIsInteger<S> || kIsInteger<T>)
        return make_kernel(device, [n](const Arguments& a, cudaStream_t stream) {
          convert_kernel<S, T><<<blocks_for(n), kThreads, 0, stream>>>(a.in<S>(0), a.out<T>(0), n);
        });
      else
        throw Error(Status::internal, "a cast between floating-point types came the wrong way");
    });
  });
  return plain_choice(request, text("cuda:own:", name_of(from), "_to_", name_of(to)), std::move(kernel));
}

}  // namespace

KernelChoice select_relu(CudaDevice& device, const KernelRequest& request) {
  const TensorType& type = output_type(request, 0);
  auto kernel = with_type(type.dtype, [&](auto zero) {
    using T = decltype(zero);
    return make_map<T, T>(device, type.shape.elements(), Relu{});
  });
  KernelChoice choice = nhwc_choice(request, "cuda:own:relu", std::move(kernel));
  choice.may_share = {{0, 0}};
  return choice;
}

KernelChoice select_relu_gradient(CudaDevice& device, const KernelRequest& request) {
  const TensorType& type = output_type(request, 0);
  if (input_type(request, 0) != type)
    throw Error(Status::internal, text("relu_gradient '", request.node.name, "': output is ",
                                       name_of(input_type(request, 0).dtype), input_type(request, 0).shape,
                                       ", its gradient ", name_of(type.dtype), type.shape, ", need the same"));
  auto kernel = with_type(type.dtype, [&](auto zero) {
    return make_map_pair<decltype(zero)>(device, type.shape.elements(), ReluGradient{});
  });
  KernelChoice choice = nhwc_choice(request, "cuda:own:relu_gradient", std::move(kernel));
  choice.may_share = {{0, 1}, {0, 0}};
  return choice;
}

KernelChoice select_gelu(CudaDevice& device, const KernelRequest& request) {
  const TensorType& type = output_type(request, 0);
  auto kernel = with_type(type.dtype, [&](auto zero) {
    using T = decltype(zero);
    return make_map<T, T>(device, type.shape.elements(), Gelu{});
  });
  KernelChoice choice = nhwc_choice(request, "cuda:own:gelu", std::move(kernel));
  choice.may_share = {{0, 0}};
  return choice;
}

KernelChoice select_gelu_gradient(CudaDevice& device, const KernelRequest& request) {
  const TensorType& type = output_type(request, 0);
  if (input_type(request, 0) != type)
    throw Error(Status::internal, text("gelu_gradient '", request.node.name, "': input is ",
                                       name_of(input_type(request, 0).dtype), input_type(request, 0).shape,
                                       ", its gradient ", name_of(type.dtype), type.shape, ", need the same"));
  auto kernel = with_type(type.dtype, [&](auto zero) {
    return make_map_pair<decltype(zero)>(device, type.shape.elements(), GeluGradient{});
  });
  KernelChoice choice = nhwc_choice(request, "cuda:own:gelu_gradient", std::move(kernel));
  choice.may_share = {{0, 1}, {0, 0}};
  return choice;
}

KernelChoice select_add(CudaDevice& device, const KernelRequest& request) {
  if (input_type(request, 0) != input_type(request, 1)) return select_broadcast_add(device, request);
  const TensorType& type = output_type(request, 0);
  auto kernel = with_type(type.dtype, [&](auto zero) {
    return make_map_pair<decltype(zero)>(device, type.shape.elements(), Add{request.node.attributes.flag("relu")});
  });
  KernelChoice choice = nhwc_choice(request, "cuda:own:add", std::move(kernel));
  choice.may_share = {{0, 0}, {0, 1}};
  return choice;
}

// In one launch: those of a step's parameters, of which many are short.
KernelChoice select_cast_all(CudaDevice& device, const KernelRequest& request) {
  std::vector<int64_t> counts;
  for (ValueId id : request.node.outputs) counts.push_back(request.graph.type(id).shape.elements());
  const DType from = input_type(request, 0).dtype, to = output_type(request, 0).dtype;
  auto kernel = with_type(from, [&](auto source) {
    return with_type(to, [&](auto target) {
      using S = decltype(source);
      using T = decltype(target);
      return make_kernel(device, [counts](const Arguments& a, cudaStream_t stream) {
        for (size_t first = 0; first < counts.size(); first += CastTable<S, T>::kMost) {
          CastTable<S, T> table = {};
          int64_t longest = 0;
          const size_t size = std::min<size_t>(CastTable<S, T>::kMost, counts.size() - first);
          for (size_t i = 0; i < size; ++i) {
            table.casts[i] = {a.in<S>(first + i), a.out<T>(first + i), counts[first + i]};
            longest = std::max(longest, counts[first + i]);
          }
          const dim3 grid(blocks_for(longest / kCastPack + 1, kThreads, kMostCastBlocks), static_cast<unsigned>(size));
          casts_kernel<S, T><<<grid, kThreads, 0, stream>>>(table);
        }
      });
    });
  });
  return nhwc_choice(request, text("cuda:own:", name_of(from), "_to_", name_of(to), "_all"), std::move(kernel));
}

KernelChoice select_cast(CudaDevice& device, const KernelRequest& request) {
  const int64_t n = output_type(request, 0).shape.elements();
  const DType from = input_type(request, 0).dtype, to = output_type(request, 0).dtype;
  if (!is_compute_dtype(from) || !is_compute_dtype(to)) return choose_integer_cast(device, request);
  auto kernel = with_type(from, [&](auto source) {
    return with_type(to, [&](auto target) {
      return make_map<decltype(source), decltype(target)>(device, n, Cast<decltype(target)>{});
    });
  });
  return nhwc_choice(request, text("cuda:own:", name_of(from), "_to_", name_of(to)), std::move(kernel));
}

KernelChoice select_fill(CudaDevice& device, const KernelRequest& request) {
  const auto value = static_cast<float>(request.node.attributes.real("value"));
  const int64_t n = output_type(request, 0).shape.elements();
  auto kernel = make_kernel(device, [n, value](const Arguments& a, cudaStream_t stream) {
    fill_kernel<<<blocks_for(n), kThreads, 0, stream>>>(a.out<float>(0), n, value);
  });
  return nhwc_choice(request, "cuda:own:fill", std::move(kernel));
}

// One launch, except if there are more rows than a table holds.
KernelChoice select_fill_all(CudaDevice& device, const KernelRequest& request) {
  const auto value = static_cast<float>(request.node.attributes.real("value"));
  auto kernel = make_kernel(
      device, [sizes = request.node.attributes.list("sizes"), value](const Arguments& a, cudaStream_t stream) {
        for (size_t first = 0; first < sizes.size(); first += Rows::kMost) {
          Rows rows = {};
          int64_t longest = 0;
          const size_t count = std::min<size_t>(Rows::kMost, sizes.size() - first);
          for (size_t i = 0; i < count; ++i) {
            rows.row[i] = a.out<float>(first + i);
            rows.size[i] = sizes[first + i];
            longest = std::max(longest, sizes[first + i]);
          }
          const dim3 grid(blocks_for(longest), static_cast<unsigned>(count));
          fill_rows_kernel<<<grid, kThreads, 0, stream>>>(rows, value);
        }
      });
  return nhwc_choice(request, "cuda:own:fill_all", std::move(kernel));
}

}  // namespace troika::cuda
