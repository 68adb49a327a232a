// cross_entropy and mean_squared_error with their gradients, in f32; sums in f64, in a fixed order.
#include "backends/cuda/block_sum.cuh"
#include "backends/cuda/grid.cuh"
#include "backends/cuda/kernels.h"

namespace troika::cuda {
namespace {

constexpr int64_t kMostParts = 1024;  // blocks whose sums the last launch adds up

// One block: the sums of the parts. `corrects` and `correct` may be null.
__global__ void __launch_bounds__(kThreads)
    sum_parts_kernel(const double* losses, const int64_t* corrects, int64_t parts, double* loss, int64_t* correct) {
  __shared__ double loss_slots[kThreads];
  __shared__ int64_t correct_slots[kThreads];
  double loss_sum = 0;
  int64_t correct_sum = 0;
  for (int64_t i = threadIdx.x; i < parts; i += kThreads) {
    loss_sum += losses[i];
    if (corrects) correct_sum += corrects[i];
  }
  loss_sum = block_sum(loss_sum, loss_slots);
  if (threadIdx.x == 0) *loss = loss_sum;
  if (!corrects) return;
  correct_sum = block_sum(correct_sum, correct_slots);
  if (threadIdx.x == 0) *correct = correct_sum;
}

// A few lanes for each of many short rows, or a warp for a long one.
template <int kLanes>
constexpr int kRowThreads = kLanes == 32 ? 256 : 1024;
template <int kLanes>
constexpr int kRows = kRowThreads<kLanes> / kLanes;
constexpr int64_t kShortRow = 64;  // classes

// logits [n, classes] -> probabilities, and a loss and a number of correct samples a block.
template <int kLanes>
__global__ void __launch_bounds__(kRowThreads<kLanes>)
    cross_entropy_kernel(const float* __restrict__ logits, const int32_t* labels, float* __restrict__ probabilities,
                         int64_t n, int64_t classes, double* losses, int64_t* corrects) {
  __shared__ double loss_slots[kRowThreads<kLanes>];
  __shared__ int64_t correct_slots[kRowThreads<kLanes>];
  const int lane = threadIdx.x % kLanes;
  double loss = 0;
  int64_t correct = 0;
  const int64_t step = int64_t{gridDim.x} * kRows<kLanes>;
  for (int64_t first = int64_t{blockIdx.x} * kRows<kLanes>; first < n; first += step) {
    const int64_t own = first + threadIdx.x / kLanes;
    const bool is_row = own < n;  // lanes without one go along for the shuffles, and write nothing
    const int64_t row = is_row ? own : n - 1;
    const float* x = logits + row * classes;
    // Every lane begins with the first class, so that all agree on the largest even where it is not a number.
    float most = x[0];
    int best = 0;
    for (int64_t c = lane; c < classes; c += kLanes)
      if (x[c] > most) {
        most = x[c];
        best = static_cast<int>(c);
      }
#pragma unroll
    for (int distance = kLanes / 2; distance > 0; distance /= 2) {
      const float other = __shfl_xor_sync(~0u, most, distance);
      const int other_best = __shfl_xor_sync(~0u, best, distance);
      if (other > most || (other == most && other_best < best)) {
        most = other;
        best = other_best;
      }
    }
    // log sum exp, taken around the largest so that it cannot overflow
    double sum = 0;
    for (int64_t c = lane; c < classes; c += kLanes) sum += expf(x[c] - most);
#pragma unroll
    for (int distance = kLanes / 2; distance > 0; distance /= 2) sum += __shfl_xor_sync(~0u, sum, distance);
    if (!is_row) continue;
    const auto scale = static_cast<float>(1.0 / sum);
    for (int64_t c = lane; c < classes; c += kLanes) probabilities[row * classes + c] = expf(x[c] - most) * scale;
    if (lane == 0) {
      const int32_t label = labels[row];
      loss += log(sum) - (static_cast<double>(x[label]) - most);
      correct += best == label;
    }
  }
  loss = block_sum(loss, loss_slots);
  correct = block_sum(correct, correct_slots);
  if (threadIdx.x == 0) {
    losses[blockIdx.x] = loss;
    corrects[blockIdx.x] = correct;
  }
}

// The loss scale is null where there is none.
__device__ float scaled(float scale, const float* loss_scale) { return loss_scale ? scale * *loss_scale : scale; }

// dx may be the probabilities.
__global__ void __launch_bounds__(kThreads)
    cross_entropy_gradient_kernel(const float* probabilities, const int32_t* labels, const float* loss_scale, float* dx,
                                  int64_t n, int64_t classes, float scale) {
  const float s = scaled(scale, loss_scale);
  for (int64_t i = first_index(); i < n * classes; i += index_step()) {
    const int64_t row = i / classes;
    dx[i] = s * (probabilities[i] - (labels[row] == i - row * classes ? 1.0f : 0.0f));
  }
}

// One sum a block, of squares over k.
__global__ void __launch_bounds__(kThreads)
    mean_squared_error_kernel(const float* x, const float* target, int64_t elements, double k, double* losses) {
  __shared__ double slots[kThreads];
  double sum = 0;
  for (int64_t i = first_index(); i < elements; i += index_step()) {
    const double d = static_cast<double>(x[i]) - target[i];
    sum += d * d;
  }
  sum = block_sum(sum, slots);
  if (threadIdx.x == 0) losses[blockIdx.x] = sum / k;
}

__global__ void __launch_bounds__(kThreads)
    mean_squared_error_gradient_kernel(const float* x, const float* target, const float* loss_scale, float* dx,
                                       int64_t elements, float scale) {
  const float s = scaled(scale, loss_scale);
  for (int64_t i = first_index(); i < elements; i += index_step()) dx[i] = s * (x[i] - target[i]);
}

// The loss scale of a gradient op's inputs.
const float* loss_scale(const Arguments& a) { return a.inputs.size() > 2 ? a.in<float>(2) : nullptr; }

template <int kLanes>
KernelChoice choose_cross_entropy(CudaDevice& device, const KernelRequest& request, std::string name) {
  const Shape& x = input_type(request, 0).shape;
  const int64_t n = x[0], classes = x[1];
  const unsigned blocks = blocks_for(n, kRows<kLanes>, kMostParts);
  auto kernel = make_kernel(device, [=](const Arguments& a, cudaStream_t stream) {
    // One block writes the results itself.
    double* losses = blocks == 1 ? a.out<double>(0) : static_cast<double*>(a.scratch);
    int64_t* corrects = blocks == 1 ? a.out<int64_t>(1) : reinterpret_cast<int64_t*>(losses + blocks);
    cross_entropy_kernel<kLanes><<<blocks, kRowThreads<kLanes>, 0, stream>>>(
        a.in<float>(0), a.in<int32_t>(1), a.out<float>(2), n, classes, losses, corrects);
    if (blocks > 1)
      sum_parts_kernel<<<1, kThreads, 0, stream>>>(losses, corrects, blocks, a.out<double>(0), a.out<int64_t>(1));
  });
  KernelChoice choice = plain_choice(request, std::move(name), std::move(kernel));
  if (blocks > 1) choice.scratch_bytes = blocks * (sizeof(double) + sizeof(int64_t));
  return choice;
}

}  // namespace

// logits [n, classes] -> loss, correct, probabilities.
KernelChoice select_cross_entropy(CudaDevice& device, const KernelRequest& request) {
  if (input_type(request, 0).shape[1] <= kShortRow)
    return choose_cross_entropy<4>(device, request, "cuda:own:cross_entropy_short_rows");
  return choose_cross_entropy<32>(device, request, "cuda:own:cross_entropy_warp_rows");
}

KernelChoice select_cross_entropy_gradient(CudaDevice& device, const KernelRequest& request) {
  const Shape& x = input_type(request, 0).shape;
  const int64_t n = x[0], classes = x[1];
  const auto scale = static_cast<float>(request.node.attributes.real("scale"));
  auto kernel = make_kernel(device, [=](const Arguments& a, cudaStream_t stream) {
    cross_entropy_gradient_kernel<<<blocks_for(n * classes), kThreads, 0, stream>>>(
        a.in<float>(0), a.in<int32_t>(1), loss_scale(a), a.out<float>(0), n, classes, scale);
  });
  KernelChoice choice = plain_choice(request, "cuda:own:cross_entropy_gradient", std::move(kernel));
  choice.may_share = {{0, 0}};
  return choice;
}

// outputs [n, k], targets [n, k] -> loss.
KernelChoice select_mean_squared_error(CudaDevice& device, const KernelRequest& request) {
  const Shape& x = input_type(request, 0).shape;
  const int64_t elements = x.elements(), k = x[1];
  const unsigned blocks = blocks_for(elements, 16 * kThreads, kMostParts);
  auto kernel = make_kernel(device, [=](const Arguments& a, cudaStream_t stream) {
    double* losses = blocks == 1 ? a.out<double>(0) : static_cast<double*>(a.scratch);
    mean_squared_error_kernel<<<blocks, kThreads, 0, stream>>>(a.in<float>(0), a.in<float>(1), elements,
                                                               static_cast<double>(k), losses);
    if (blocks > 1) sum_parts_kernel<<<1, kThreads, 0, stream>>>(losses, nullptr, blocks, a.out<double>(0), nullptr);
  });
  KernelChoice choice = plain_choice(request, "cuda:own:mean_squared_error", std::move(kernel));
  if (blocks > 1) choice.scratch_bytes = blocks * sizeof(double);
  return choice;
}

KernelChoice select_mean_squared_error_gradient(CudaDevice& device, const KernelRequest& request) {
  const Shape& x = input_type(request, 0).shape;
  const int64_t elements = x.elements();
  const auto scale = static_cast<float>(2.0 * request.node.attributes.real("scale") / static_cast<double>(x[1]));
  auto kernel = make_kernel(device, [=](const Arguments& a, cudaStream_t stream) {
    mean_squared_error_gradient_kernel<<<blocks_for(elements), kThreads, 0, stream>>>(
        a.in<float>(0), a.in<float>(1), loss_scale(a), a.out<float>(0), elements, scale);
  });
  return plain_choice(request, "cuda:own:mean_squared_error_gradient", std::move(kernel));
}

}  // namespace troika::cuda
