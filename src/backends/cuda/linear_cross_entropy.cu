// linear_cross_entropy: a warp computes the logits of a row, its loss, and both gradients. Weights
// are in shared memory. Apart, these are seven launches, each of which takes longer than its work.
#include "backends/cuda/linear_cross_entropy.h"

#include "backends/cuda/cuda_device.h"
#include "backends/cuda/early_start.cuh"
#include "backends/cuda/few_outputs.h"
#include "backends/cuda/last_block.cuh"
#include "backends/cuda/loss_parts.cuh"
#include "backends/cuda/pack_width.cuh"
#include "backends/cuda/row_loss.cuh"
#include "core/text.h"
#include "ops/linear.h"
#include "ops/linear_cross_entropy.h"

namespace troika::cuda {
namespace {

namespace operands = troika::linear_cross_entropy;

constexpr int kClasses = FewOutputs::kMost;  // at most; a lane has one after the sums, and so has the lane 16 after it
constexpr int kWarps = 4;                    // of a block
constexpr int kBlock = 32 * kWarps;
constexpr int64_t kMostBlocks = 1024;
constexpr int64_t kMostWeightBytes = 40 << 10;  // next to the slots of sums, within the 48 KiB of any launch
constexpr unsigned kWholeWarp = ~0u;
static_assert(kClasses == 16);

// Returns the sum over all lanes of values[lane % 16]. Half of what is left is handed over at a
// time: 16 shuffles in place of 80.
__device__ inline float sum_of_class(float (&values)[kClasses]) {
#pragma unroll
  for (int half = kClasses / 2; half > 0; half /= 2) {
    const bool is_upper = threadIdx.x & half;
#pragma unroll
    for (int i = 0; i < half; ++i) {
      const float handed = is_upper ? values[i] : values[i + half];
      values[i] = (is_upper ? values[i + half] : values[i]) + __shfl_xor_sync(kWholeWarp, handed, half);
    }
  }
  return values[0] + __shfl_xor_sync(kWholeWarp, values[0], kClasses);
}

// The memory that the kernel reads and writes. bias and logits may be null. Each block has a
// part of the sums.
template <typename T, int kN>
struct Operands {
  const Pack<T, kN>*x, *weights;
  const float* bias;
  const int32_t* labels;
  T* dy;
  Pack<T, kN>* dx;
  float* logits;
  double *parts_of_loss, *loss;
  int64_t *parts_of_correct, *correct;
  unsigned* arrived;  // 0 before the launch and after it
  int columns;        // packs of a row of x
  bool has_relu;      // x is its result
};

template <typename T, int kN>
__global__ void __launch_bounds__(kBlock)
    linear_cross_entropy_kernel(const __grid_constant__ Operands<T, kN> o, const __grid_constant__ Labels form,
                                const __grid_constant__ Factor factor) {
  wait_for_kernels_before();
  extern __shared__ __align__(16) uint8_t memory[];
  auto* const weights = reinterpret_cast<Pack<T, kN>*>(memory);  // [classes][columns]
  __shared__ double losses[kWarps];
  __shared__ int corrects[kWarps];
  const int classes = static_cast<int>(form.classes);
  for (int i = threadIdx.x; i < classes * o.columns; i += kBlock) weights[i] = o.weights[i];
  __syncthreads();

  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, own_class = lane % kClasses;
  const float bias = o.bias && own_class < classes ? o.bias[own_class] : 0;
  const float scale = factor.read();
  double loss = 0;
  int correct = 0;
  for (int64_t row = int64_t{blockIdx.x} * kWarps + warp; row < form.count; row += int64_t{gridDim.x} * kWarps) {
    const Pack<T, kN>* const x = o.x + row * o.columns;
    float sums[kClasses] = {};
    for (int i = lane; i < o.columns; i += 32) {
      const Pack<T, kN> features = x[i];
#pragma unroll
      for (int c = 0; c < kClasses; ++c) {
        if (c >= classes) break;
        const Pack<T, kN> of_class = weights[c * o.columns + i];
#pragma unroll
        for (int k = 0; k < kN; ++k) sums[c] = fmaf(to_float(features.v[k]), to_float(of_class.v[k]), sums[c]);
      }
    }
    const float logit = sum_of_class(sums) + bias;
    if (o.logits && lane < classes) o.logits[row * classes + lane] = logit;
    const RowSums of_row =
        sums_of_row<kClasses>(__shfl_sync(kWholeWarp, logit, 0), form, [=](int64_t) { return logit; });
    const int32_t label = o.labels[row];
    const bool is_counted = form.counts(label);
    const float logit_of_label = __shfl_sync(kWholeWarp, logit, form.is_class(label) ? label : 0);
    LabelLoss of_label = loss_of_label(of_row, label, form, [=](int32_t) { return logit_of_label; });
    const float weight = is_counted && factor.each ? factor.each[row] : 1;
    loss += factor.each ? of_label.loss * weight : of_label.loss;
    correct += of_label.is_correct;

    const float probability = expf(logit - of_row.most) * static_cast<float>(1.0 / of_row.sum);
    const float slope = probability - (label == own_class ? form.own : form.other);
    const T dy = from_float<T>(is_counted ? scale * weight * slope : 0);
    if (lane < classes) o.dy[row * classes + lane] = dy;
    float slopes[kClasses];
#pragma unroll
    for (int c = 0; c < kClasses; ++c) slopes[c] = __shfl_sync(kWholeWarp, to_float(dy), c);
    for (int i = lane; i < o.columns; i += 32) {
      float dx[kN] = {};
#pragma unroll
      for (int c = 0; c < kClasses; ++c) {
        if (c >= classes) break;
        const Pack<T, kN> of_class = weights[c * o.columns + i];
#pragma unroll
        for (int k = 0; k < kN; ++k) dx[k] = fmaf(slopes[c], to_float(of_class.v[k]), dx[k]);
      }
      Pack<T, kN> stored;
#pragma unroll
      for (int k = 0; k < kN; ++k) stored.v[k] = from_float<T>(dx[k]);
      if (o.has_relu) {
        const Pack<T, kN> features = x[i];
#pragma unroll
        for (int k = 0; k < kN; ++k)
          if (to_float(features.v[k]) <= 0) stored.v[k] = from_float<T>(0);  // NaN passes
      }
      o.dx[row * o.columns + i] = stored;
    }
  }

  if (lane == 0) {
    losses[warp] = loss;
    corrects[warp] = correct;
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    double loss_of_block = 0;
    int64_t correct_of_block = 0;
    for (int i = 0; i < kWarps; ++i) {
      loss_of_block += losses[i];
      correct_of_block += corrects[i];
    }
    o.parts_of_loss[blockIdx.x] = loss_of_block;
    o.parts_of_correct[blockIdx.x] = correct_of_block;
  }
  if (is_last_block(o.arrived, gridDim.x, threadIdx.x == 0))
    sum_parts<kBlock>(o.parts_of_loss, o.parts_of_correct, gridDim.x, o.loss, o.correct);
}

}  // namespace

bool takes_linear_cross_entropy(const TensorType& x, const TensorType& weight) {
  return is_compute_dtype(x.dtype) && weight.dtype == x.dtype && weight.shape[0] <= kClasses &&
         static_cast<int64_t>(weight.bytes()) <= kMostWeightBytes;
}

ClassifierKernel classifier_kernel(CudaDevice& device, const KernelRequest& request) {
  const TensorType &x = input_type(request, operands::x), &weight = input_type(request, operands::weight);
  const Attributes& attributes = request.node.attributes;
  const Labels form(output_type(request, operands::dy).shape, attributes);
  const auto scale = static_cast<float>(attributes.real("scale"));
  const bool has_relu = attributes.flag("input_relu"), has_logits = attributes.flag("logits");
  const int64_t features = LinearRows(request.node, x.shape).features;
  const unsigned blocks = blocks_for(form.count, kWarps, kMostBlocks);
  const size_t weight_bytes = weight.bytes();
  std::shared_ptr<Buffer> arrived;
  if (!device.is_plan_only())
    arrived = std::make_shared<Buffer>(
        device.allocate(sizeof(unsigned), text(request.node.op, " '", request.node.name, "'")));
  const size_t scratch_bytes = blocks * (sizeof(double) + sizeof(int64_t));
  return with_type(x.dtype, [&](auto zero) {
    using T = decltype(zero);
    return with_pack<T>(features, [&](auto pack) -> ClassifierKernel {
      constexpr int kN = decltype(pack)::value;
      using P = Pack<T, kN>;
      const auto launch = [=](const Arguments& a, cudaStream_t stream) {
        auto* const parts = static_cast<double*>(a.scratch);
        const Operands<T, kN> o{.x = a.in<P>(operands::x),
                                .weights = a.in<P>(operands::weight),
                                .bias = a.in<float>(operands::bias),
                                .labels = a.in<int32_t>(operands::target),
                                .dy = a.out<T>(operands::dy),
                                .dx = a.out<P>(operands::dx),
                                .logits = has_logits ? a.out<float>(operands::y) : nullptr,
                                .parts_of_loss = parts,
                                .loss = a.out<double>(operands::sum),
                                .parts_of_correct = reinterpret_cast<int64_t*>(parts + blocks),
                                .correct = a.out<int64_t>(operands::correct),
                                .arrived = reinterpret_cast<unsigned*>(arrived->get()),
                                .columns = static_cast<int>(features / kN),
                                .has_relu = has_relu};
        linear_cross_entropy_kernel<T, kN>
            <<<blocks, kBlock, weight_bytes, stream>>>(o, form, Factor(a, scale, operands::kLoss));
      };
      return {launch, scratch_bytes};
    });
  });
}

}  // namespace troika::cuda
