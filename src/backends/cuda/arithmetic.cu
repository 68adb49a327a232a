// subtract, multiply, divide, compare, expand, and add of operands of different shapes: one thread
// per number, which finds its operands by the loops of ops/broadcast.h.
#include "backends/cuda/arithmetic.h"

#include "backends/cuda/early_start.cuh"
#include "backends/cuda/elements.cuh"
#include "backends/cuda/grid.cuh"
#include "backends/cuda/kernels.h"
#include "backends/cuda/maps.cuh"
#include "core/text.h"
#include "ops/broadcast.h"
#include "ops/compare.h"

namespace troika::cuda {
namespace {

// y[i] = f(a, b); y may be of another type.
template <typename T, typename Result, typename F>
__global__ void __launch_bounds__(kThreads)
    pair_kernel(const T* __restrict__ a, const T* __restrict__ b, Result* __restrict__ y, int64_t n,
                const __grid_constant__ BroadcastLoops loops, F f) {
  wait_for_kernels_before();
  for (int64_t i = first_index(); i < n; i += index_step()) {
    int64_t rest = i, at_a = 0, at_b = 0;
    for (int k = loops.count - 1; k > 0; --k) {
      const int64_t outer = rest / loops.size[k], place = rest - outer * loops.size[k];
      rest = outer;
      at_a += place * loops.a[k];
      at_b += place * loops.b[k];
    }
    y[i] = f(a[at_a + rest * loops.a[0]], b[at_b + rest * loops.b[0]]);
  }
}

struct Sum {
  template <typename T>
  __device__ T operator()(T a, T b) const {
    return from_float<T>(to_float(a) + to_float(b));
  }
};
struct Difference {
  template <typename T>
  __device__ T operator()(T a, T b) const {
    return from_float<T>(to_float(a) - to_float(b));
  }
};
struct MultiplyPair {
  template <typename T>
  __device__ T operator()(T a, T b) const {
    return from_float<T>(to_float(a) * to_float(b));
  }
};
struct Quotient {
  template <typename T>
  __device__ T operator()(T a, T b) const {
    return from_float<T>(to_float(a) / to_float(b));
  }
};
struct First {
  template <typename T>
  __device__ T operator()(T a, T) const {
    return a;
  }
};

struct Compare {
  Relation relation;

  template <typename T>
  __device__ uint8_t operator()(T a, T b) const {
    const float x = to_float(a), y = to_float(b);
    switch (relation) {
      case Relation::equal: return x == y;
      case Relation::not_equal: return x != y;
      case Relation::less: return x < y;
      case Relation::less_or_equal: return x <= y;
      case Relation::greater: return x > y;
      case Relation::greater_or_equal: return x >= y;
    }
    return 0;
  }
};

BroadcastLoops loops_of(const KernelRequest& request, size_t second) {
  const Shape &a = input_type(request, 0).shape, &b = input_type(request, second).shape,
              &y = output_type(request, 0).shape;
  return broadcast_loops(aligned_shape(request.node, a, y.rank()), aligned_shape(request.node, b, y.rank()), y);
}

template <typename T, typename Result, typename F>
std::unique_ptr<Kernel> make_pair(CudaDevice& device, const KernelRequest& request, size_t second, F f) {
  const int64_t n = output_type(request, 0).shape.elements();
  return make_kernel(
      device, [n, f, second, loops = loops_of(request, second)](const Arguments& a, cudaStream_t stream) {
        pair_kernel<T, Result, F>
            <<<blocks_for(n), kThreads, 0, stream>>>(a.in<T>(0), a.in<T>(second), a.out<Result>(0), n, loops, f);
      });
}

// Operands of one shape are stored as images are.
template <typename F>
KernelChoice choose_arithmetic(CudaDevice& device, const KernelRequest& request, F f) {
  const TensorType& type = output_type(request, 0);
  const std::string name = text("cuda:own:", request.node.op);
  if (input_type(request, 0).shape != input_type(request, 1).shape)
    return plain_choice(request, name, with_type(type.dtype, [&](auto zero) {
                          return make_pair<decltype(zero), decltype(zero)>(device, request, 1, f);
                        }));
  KernelChoice choice = nhwc_choice(request, name, with_type(type.dtype, [&](auto zero) {
                                      return make_map_pair<decltype(zero)>(device, type.shape.elements(), f);
                                    }));
  choice.may_share = {{0, 0}, {0, 1}};
  return choice;
}

}  // namespace

KernelChoice select_broadcast_add(CudaDevice& device, const KernelRequest& request) {
  return choose_arithmetic(device, request, Sum{});
}

KernelChoice select_subtract(CudaDevice& device, const KernelRequest& request) {
  return choose_arithmetic(device, request, Difference{});
}

KernelChoice select_multiply(CudaDevice& device, const KernelRequest& request) {
  return choose_arithmetic(device, request, MultiplyPair{});
}

KernelChoice select_divide(CudaDevice& device, const KernelRequest& request) {
  return choose_arithmetic(device, request, Quotient{});
}

KernelChoice select_compare(CudaDevice& device, const KernelRequest& request) {
  const Compare compare{relation_named(request.node.attributes.word("relation"))};
  return plain_choice(request, "cuda:own:compare", with_type(input_type(request, 0).dtype, [&](auto zero) {
                        return make_pair<decltype(zero), uint8_t>(device, request, 1, compare);
                      }));
}

KernelChoice select_expand(CudaDevice& device, const KernelRequest& request) {
  return plain_choice(request, "cuda:own:expand", with_type(output_type(request, 0).dtype, [&](auto zero) {
                        return make_pair<decltype(zero), decltype(zero)>(device, request, 0, First{});
                      }));
}

}  // namespace troika::cuda
