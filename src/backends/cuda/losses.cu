// cross_entropy, label_losses and the losses of values with their gradients, in f32. Sums are in
// f64, in a fixed order.
#include "backends/cuda/block_sum.cuh"
#include "backends/cuda/early_start.cuh"
#include "backends/cuda/grid.cuh"
#include "backends/cuda/kernels.h"
#include "backends/cuda/loss_parts.cuh"
#include "backends/cuda/row_loss.cuh"
#include "backends/cuda/value_losses.cuh"
#include "core/text.h"

namespace troika::cuda {
namespace {

constexpr int64_t kMostParts = 1024;  // blocks whose sums the last launch adds up

// One block: the sums of the parts. `corrects` and `correct` may be null.
__global__ void __launch_bounds__(kThreads)
    sum_parts_kernel(const double* losses, const int64_t* corrects, int64_t parts, double* loss, int64_t* correct) {
  wait_for_kernels_before();
  sum_parts<kThreads>(losses, corrects, parts, loss, correct);
}

// A few lanes for each of many short rows, or a warp for a long one.
template <int kLanes>
constexpr int kRowThreads = kLanes == 32 ? 256 : 1024;
template <int kLanes>
constexpr int kRows = kRowThreads<kLanes> / kLanes;
constexpr int64_t kShortRow = 64;  // classes

// logits -> probabilities, and a loss and a number of correct labels per block; if `each` is not
// null, the loss of each label instead. `weights` of the labels may be null: 1 each.
template <int kLanes>
__global__ void __launch_bounds__(kRowThreads<kLanes>)
    cross_entropy_kernel(const float* __restrict__ logits, const int32_t* labels, const float* weights,
                         float* __restrict__ probabilities, const __grid_constant__ Labels form, double* losses, int64_t* corrects, float* each) {
  wait_for_kernels_before();
  __shared__ double loss_slots[kRowThreads<kLanes>];
  __shared__ int64_t correct_slots[kRowThreads<kLanes>];
  const int lane = threadIdx.x % kLanes;
  const int64_t n = form.count, classes = form.classes, apart = form.inner;
  double loss = 0;
  int64_t correct = 0;
  const int64_t step = int64_t{gridDim.x} * kRows<kLanes>;
  for (int64_t first = int64_t{blockIdx.x} * kRows<kLanes>; first < n; first += step) {
    const int64_t own = first + threadIdx.x / kLanes;
    const bool is_row = own < n;  // lanes without one go along for the shuffles, and write nothing
    const int64_t row = is_row ? own : n - 1;
    const int64_t first_logit = form.first_logit(row);
    const float* x = logits + first_logit;
    const auto logit_of = [=](int64_t c) { return x[c * apart]; };
    const RowSums of_row = sums_of_row<kLanes>(x[0], form, logit_of);
    if (!is_row) continue;
    const auto scale = static_cast<float>(1.0 / of_row.sum);
    for (int64_t c = lane; c < classes; c += kLanes)
      probabilities[first_logit + c * apart] = expf(x[c * apart] - of_row.most) * scale;
    if (lane != 0) continue;
    const int32_t label = labels[row];
    LabelLoss of_label = loss_of_label(of_row, label, form, logit_of);
    if (weights && form.counts(label)) of_label.loss *= weights[row];
    correct += of_label.is_correct;
    loss += of_label.loss;
    if (each) each[row] = static_cast<float>(of_label.loss);
  }
  if (each) return;
  loss = block_sum(loss, loss_slots);
  correct = block_sum(correct, correct_slots);
  if (threadIdx.x == 0) {
    losses[blockIdx.x] = loss;
    corrects[blockIdx.x] = correct;
  }
}

// dx may be the probabilities. `is_last`: classes are on the last axis.
template <bool is_last>
__global__ void __launch_bounds__(kThreads)
    cross_entropy_gradient_kernel(const float* probabilities, const int32_t* labels,
                                  const __grid_constant__ Factor factor, float* dx,
                                  const __grid_constant__ Labels form) {
  wait_for_kernels_before();
  const float s = factor.read();
  for (int64_t i = first_index(); i < form.count * form.classes; i += index_step()) {
    const int64_t run = is_last ? i : i / form.inner;
    const int64_t row = run / form.classes, c = run - row * form.classes;
    const int64_t place = is_last ? row : row * form.inner + i % form.inner;
    const int32_t label = labels[place];
    const float f = factor.each ? s * factor.each[place] : s;
    dx[i] = form.counts(label) ? f * (probabilities[i] - (label == c ? form.own : form.other)) : 0.0f;
  }
}

// One sum per block, of losses over k. `weights` of the samples, of k losses each, may be null.
template <typename Loss>
__global__ void __launch_bounds__(kThreads)
    value_loss_kernel(const float* x, const float* target, const float* weights, int64_t elements, int64_t k,
                      double* losses, const __grid_constant__ Loss loss_of) {
  wait_for_kernels_before();
  __shared__ double slots[kThreads];
  double sum = 0;
  for (int64_t i = first_index(); i < elements; i += index_step())
    sum += weights ? weights[i / k] * loss_of.value(x[i], target[i]) : loss_of.value(x[i], target[i]);
  sum = block_sum(sum, slots);
  if (threadIdx.x == 0) losses[blockIdx.x] = sum / static_cast<double>(k);
}

template <typename Loss>
__global__ void __launch_bounds__(kThreads)
    value_loss_gradient_kernel(const float* x, const float* target, const __grid_constant__ Factor factor, float* dx,
                               int64_t elements, int64_t k, const __grid_constant__ Loss loss_of) {
  wait_for_kernels_before();
  const float s = factor.read();
  for (int64_t i = first_index(); i < elements; i += index_step())
    dx[i] = (factor.each ? s * factor.each[i / k] : s) * loss_of.slope(x[i], target[i]);
}

template <int kLanes>
KernelChoice choose_cross_entropy(CudaDevice& device, const KernelRequest& request, std::string name) {
  const Labels form(input_type(request, loss::x).shape, request.node.attributes);
  const unsigned blocks = blocks_for(form.count, kRows<kLanes>, kMostParts);
  auto kernel = make_kernel(device, [=](const Arguments& a, cudaStream_t stream) {
    // One block writes the results itself.
    double* losses = blocks == 1 ? a.out<double>(0) : static_cast<double*>(a.scratch);
    int64_t* corrects = blocks == 1 ? a.out<int64_t>(1) : reinterpret_cast<int64_t*>(losses + blocks);
    cross_entropy_kernel<kLanes><<<blocks, kRowThreads<kLanes>, 0, stream>>>(
        a.in<float>(loss::x), a.in<int32_t>(loss::target), operand_of(a, loss::weights),
        a.out<float>(loss::probabilities), form, losses, corrects, nullptr);
    if (blocks > 1)
      sum_parts_kernel<<<1, kThreads, 0, stream>>>(losses, corrects, blocks, a.out<double>(0), a.out<int64_t>(1));
  });
  KernelChoice choice = plain_choice(request, std::move(name), std::move(kernel));
  if (blocks > 1) choice.scratch_bytes = blocks * (sizeof(double) + sizeof(int64_t));
  return choice;
}

// factor_of(arguments) returns the Factor.
template <typename FactorOf>
KernelChoice choose_label_gradient(CudaDevice& device, const KernelRequest& request, FactorOf factor_of) {
  const Labels form(input_type(request, loss::x).shape, request.node.attributes);
  const unsigned blocks = blocks_for(form.count * form.classes);
  auto kernel = make_kernel(device, [=](const Arguments& a, cudaStream_t stream) {
    const Factor factor = factor_of(a);
    if (form.inner == 1)
      cross_entropy_gradient_kernel<true><<<blocks, kThreads, 0, stream>>>(
          a.in<float>(loss::x), a.in<int32_t>(loss::target), factor, a.out<float>(0), form);
    else
      cross_entropy_gradient_kernel<false><<<blocks, kThreads, 0, stream>>>(
          a.in<float>(loss::x), a.in<int32_t>(loss::target), factor, a.out<float>(0), form);
  });
  KernelChoice choice = plain_choice(request, text("cuda:own:", request.node.op), std::move(kernel));
  choice.may_share = {{0, 0}};
  return choice;
}

}  // namespace

// logits -> loss, correct, probabilities.
KernelChoice select_cross_entropy(CudaDevice& device, const KernelRequest& request) {
  if (ClassRows(input_type(request, loss::x).shape).classes <= kShortRow)
    return choose_cross_entropy<4>(device, request, "cuda:own:cross_entropy_short_rows");
  return choose_cross_entropy<32>(device, request, "cuda:own:cross_entropy_warp_rows");
}

KernelChoice select_cross_entropy_gradient(CudaDevice& device, const KernelRequest& request) {
  const auto scale = static_cast<float>(request.node.attributes.real("scale"));
  return choose_label_gradient(device, request, [scale](const Arguments& a) { return Factor(a, scale); });
}

// logits -> losses, probabilities.
KernelChoice select_label_losses(CudaDevice& device, const KernelRequest& request) {
  const Labels form(input_type(request, loss::x).shape, request.node.attributes);
  auto launch = [form](auto lanes, const Arguments& a, cudaStream_t stream) {
    constexpr int kLanes = decltype(lanes)::value;
    cross_entropy_kernel<kLanes><<<blocks_for(form.count, kRows<kLanes>, kMostParts), kRowThreads<kLanes>, 0, stream>>>(
        a.in<float>(loss::x), a.in<int32_t>(loss::target), nullptr, a.out<float>(1), form, nullptr, nullptr,
        a.out<float>(0));
  };
  auto kernel = make_kernel(device, [=](const Arguments& a, cudaStream_t stream) {
    if (form.classes <= kShortRow)
      launch(std::integral_constant<int, 4>{}, a, stream);
    else
      launch(std::integral_constant<int, 32>{}, a, stream);
  });
  return plain_choice(request, "cuda:own:label_losses", std::move(kernel));
}

// probabilities, labels, gradients of the losses -> dx.
KernelChoice select_label_losses_gradient(CudaDevice& device, const KernelRequest& request) {
  return choose_label_gradient(device, request, [](const Arguments& a) { return Factor(a.in<float>(2)); });
}

namespace {

// outputs [n, ...], targets [n, ...] -> loss.
template <typename Loss>
KernelChoice choose_value_loss(CudaDevice& device, const KernelRequest& request, const Loss& loss_of) {
  const Shape& x = input_type(request, 0).shape;
  const int64_t elements = x.elements(), k = x.elements(1, x.rank());
  const unsigned blocks = blocks_for(elements, 16 * kThreads, kMostParts);
  auto kernel = make_kernel(device, [=](const Arguments& a, cudaStream_t stream) {
    double* losses = blocks == 1 ? a.out<double>(0) : static_cast<double*>(a.scratch);
    value_loss_kernel<<<blocks, kThreads, 0, stream>>>(a.in<float>(0), a.in<float>(1), operand_of(a, loss::weights),
                                                       elements, k, losses, loss_of);
    if (blocks > 1) sum_parts_kernel<<<1, kThreads, 0, stream>>>(losses, nullptr, blocks, a.out<double>(0), nullptr);
  });
  KernelChoice choice = plain_choice(request, text("cuda:own:", request.node.op), std::move(kernel));
  if (blocks > 1) choice.scratch_bytes = blocks * sizeof(double);
  return choice;
}

template <typename Loss>
KernelChoice choose_value_loss_gradient(CudaDevice& device, const KernelRequest& request, const Loss& loss_of) {
  const Shape& x = input_type(request, 0).shape;
  const int64_t elements = x.elements(), k = x.elements(1, x.rank());
  const auto scale =
      static_cast<float>(Loss::kFactor * request.node.attributes.real("scale") / static_cast<double>(k));
  auto kernel = make_kernel(device, [=](const Arguments& a, cudaStream_t stream) {
    value_loss_gradient_kernel<<<blocks_for(elements), kThreads, 0, stream>>>(
        a.in<float>(0), a.in<float>(1), Factor(a, scale), a.out<float>(0), elements, k, loss_of);
  });
  return plain_choice(request, text("cuda:own:", request.node.op), std::move(kernel));
}

}  // namespace

#define TROIKA_VALUE_LOSS(op, Loss)                                                       \
  KernelChoice select_##op(CudaDevice& device, const KernelRequest& request) {            \
    return choose_value_loss(device, request, Loss(request.node));                        \
  }                                                                                       \
  KernelChoice select_##op##_gradient(CudaDevice& device, const KernelRequest& request) { \
    return choose_value_loss_gradient(device, request, Loss(request.node));               \
  }
TROIKA_VALUE_LOSS(mean_squared_error, SquaredError)
TROIKA_VALUE_LOSS(mean_absolute_error, AbsoluteError)
TROIKA_VALUE_LOSS(huber, HuberLoss)
TROIKA_VALUE_LOSS(binary_cross_entropy, BinaryCrossEntropy)
#undef TROIKA_VALUE_LOSS

}  // namespace troika::cuda
