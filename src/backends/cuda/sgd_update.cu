// sgd_update: one launch over the whole run of parameters, gradients and momentum.
#include "backends/cuda/elements.cuh"
#include "backends/cuda/kernels.h"
#include "backends/cuda/runs.cuh"

namespace troika::cuda {
namespace {

struct Update {
  const float* rate;         // in device memory, as it changes from step to step
  const float* loss_scale;   // null: gradients are not scaled
  const int32_t* is_finite;  // null: they are
  const float* clip_factor;  // null: gradients are not clipped
  float decay, momentum;
  float gradient_part, momentum_part;  // of a step: 0 and 1, for Nesterov 1 and momentum
};

// d = g + decay * p; m = momentum * m + d; p -= rate * (nesterov ? d + momentum * m : m)
__device__ void step(float& p, float g, float& m, float rate, const Update& u) {
  const float d = g + u.decay * p;
  m = u.momentum * m + d;
  p -= rate * (u.gradient_part * d + u.momentum_part * m);
}

// Runs of parameter, gradient and, where kArrays is 3, momentum. A block takes a chunk.
template <int kArrays>
__global__ void __launch_bounds__(kThreads)
    sgd_update_kernel(const __grid_constant__ RunTable<kArrays> table, const __grid_constant__ Update update) {
  if (update.is_finite && *update.is_finite == 0) return;
  const float rate = *update.rate;
  float factor = update.loss_scale ? 1.0f / *update.loss_scale : 1.0f;
  if (update.clip_factor) factor *= *update.clip_factor;
  const Chunk chunk = chunk_of(table, static_cast<int>(blockIdx.x));
  const Run<kArrays>& run = table.runs[chunk.run];
  float* const p = run.arrays[0] + chunk.begin;
  const float* const g = run.arrays[1] + chunk.begin;
  float* const m = run.arrays[kArrays - 1] + chunk.begin;  // the gradient again where there is none

  using Floats = Pack<float, 4>;
  for (int i = static_cast<int>(threadIdx.x); i < chunk.length / 4; i += kThreads) {
    Floats parameters = reinterpret_cast<Floats*>(p)[i];
    const Floats gradients = reinterpret_cast<const Floats*>(g)[i];
    Floats momenta = {};
    if constexpr (kArrays == 3) momenta = reinterpret_cast<Floats*>(m)[i];
#pragma unroll
    for (int k = 0; k < 4; ++k) step(parameters.v[k], gradients.v[k] * factor, momenta.v[k], rate, update);
    reinterpret_cast<Floats*>(p)[i] = parameters;
    if constexpr (kArrays == 3) reinterpret_cast<Floats*>(m)[i] = momenta;
  }
  for (int i = chunk.length / 4 * 4 + static_cast<int>(threadIdx.x); i < chunk.length; i += kThreads) {
    float momentum = kArrays == 3 ? m[i] : 0;
    step(p[i], g[i] * factor, momentum, rate, update);
    if constexpr (kArrays == 3) m[i] = momentum;
  }
}

template <int kArrays>
class SgdUpdate : public Kernel {
 public:
  // `counts`: floats of each parameter.
  SgdUpdate(cudaStream_t stream, const Update& update, const Attributes& attributes, std::vector<int64_t> counts)
      : stream_(stream),
        update_(update),
        group_(static_cast<size_t>(attributes.integer("group"))),
        is_scaled_(attributes.flag("scaled")),
        is_clipped_(attributes.flag("clipped")),
        counts_(std::move(counts)) {}

  void bind(std::span<void* const> inputs, std::span<void* const>, void*) override {
    std::vector<Run<kArrays>> runs;
    size_t next = 1;
    for (int64_t count : counts_) {
      Run<kArrays>& run = runs.emplace_back();
      for (float*& array : run.arrays) array = static_cast<float*>(inputs[next++]);
      run.count = count;
    }
    tables_ = make_tables(std::move(runs));
    update_.rate = static_cast<const float*>(inputs[0]) + group_;
    if (is_scaled_) {
      update_.loss_scale = static_cast<const float*>(inputs[next++]);
      update_.is_finite = static_cast<const int32_t*>(inputs[next++]);
    }
    if (is_clipped_) update_.clip_factor = static_cast<const float*>(inputs[next]);
  }

  void run() override {
    for (const RunTable<kArrays>& table : tables_)
      sgd_update_kernel<kArrays><<<table.chunks(), kThreads, 0, stream_>>>(table, update_);
    check_launch(cudaGetLastError());
  }

 private:
  const cudaStream_t stream_;
  Update update_;
  const size_t group_;
  const bool is_scaled_, is_clipped_;
  const std::vector<int64_t> counts_;
  std::vector<RunTable<kArrays>> tables_;
};

}  // namespace

KernelChoice select_sgd_update(CudaDevice& device, const KernelRequest& request) {
  const Node& node = request.node;
  Update update = {};
  update.decay = static_cast<float>(node.attributes.real("weight_decay"));
  update.momentum = static_cast<float>(node.attributes.real("momentum"));
  const bool nesterov = node.attributes.flag("nesterov"), has_momentum = node.attributes.real("momentum") > 0;
  update.gradient_part = nesterov ? 1.0f : 0.0f;
  update.momentum_part = nesterov ? update.momentum : 1.0f;
  const size_t stride = has_momentum ? 3 : 2,
               extra = (node.attributes.flag("scaled") ? 2 : 0) + (node.attributes.flag("clipped") ? 1 : 0);

  KernelChoice choice;
  choice.name = has_momentum ? "cuda:own:sgd_momentum_runs" : "cuda:own:sgd_runs";
  choice.input_layouts.resize(node.inputs.size());
  // Gradient and momentum lie as the parameter does.
  std::vector<int64_t> counts;
  for (size_t i = 1; i < node.inputs.size() - extra; i += stride) {
    for (size_t k = 0; k < stride; ++k) choice.input_layouts[i + k] = request.input_layouts[i];
    counts.push_back(floats_in(input_type(request, i), request.input_layouts[i]));
  }
  if (has_momentum)
    choice.kernel = std::make_unique<SgdUpdate<3>>(device.stream(), update, node.attributes, std::move(counts));
  else
    choice.kernel = std::make_unique<SgdUpdate<2>>(device.stream(), update, node.attributes, std::move(counts));
  return choice;
}

}  // namespace troika::cuda
