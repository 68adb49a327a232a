// Shared by the kernels of all optimizers: one launch over all parameters of a node. A block takes
// a chunk of one run.
//
// An optimizer is a Rule, a struct of numbers with these members:
// - `kSlots`: the number of slots that the rule reads and changes.
// - `kPrepares`: `begin` is long, so that one thread of a block does it for all.
// - `void begin(const UpdateStep&)`: reads the numbers of the step.
// - `void apply(float& p, float g, float* slots)`: updates one number by its gradient without the
//   loss scale.
// - For norms, instead of apply: `void visit(float p, float g, float* slots, double& first, double&
//   second)`, which adds to both sums of squares.
#pragma once

#include "backends/cuda/block_sum.cuh"
#include "backends/cuda/early_start.cuh"
#include "backends/cuda/elements.cuh"
#include "backends/cuda/kernels.h"
#include "backends/cuda/runs.cuh"
#include "ops/update.h"

namespace troika::cuda {

// The numbers that a run of parameters reads in a step.
struct UpdateStep {
  float rate, decay;
  const float* own;    // the optimizer's settings, in the order of its definition
  double count;        // updates, this one included
  const float* norms;  // the parameter's two squared norms, or null

  // Returns the bias correction of a moving average: 1 - beta^count, with setting i as beta.
  __device__ double correction(int i) const { return 1 - pow(static_cast<double>(own[i]), count); }
};

// Where they are stored, in device memory: they change from step to step. Null: absent.
struct UpdateNumbers {
  const float* row;
  const float* factor;
  const int32_t* is_finite;
  const int64_t* count;
  const float* norms;
  bool skips_decay;
  bool has_bf16_copies;  // else copies are f16
};

// `count` numbers of a parameter, its gradient, its slots and its copy in 16 bits, which may be
// null. `place` is that of its norms, below 0 without norms.
template <int kSlots, typename G>
struct UpdateRun {
  float* parameter;
  const G* gradient;
  float* slots[kSlots > 0 ? kSlots : 1];
  uint16_t* copy;
  int64_t count;
  int32_t place;

  const void* address() const { return parameter; }
  bool is_followed_by(const UpdateRun& next) const {
    if (place >= 0 || parameter + count != next.parameter || gradient + count != next.gradient) return false;
    if (copy && copy + count != next.copy) return false;
    for (int s = 0; s < kSlots; ++s)
      if (slots[s] + count != next.slots[s]) return false;
    return true;
  }
};

// LARS and LAMB: 1 if a norm is 0 or there are none.
__device__ inline bool has_norms(const float* norms) { return norms && norms[0] > 0 && norms[1] > 0; }

// Reads the numbers of the run. Every thread of the block calls it.
template <typename Rule>
__device__ inline Rule begin_rule(const UpdateNumbers& numbers, int place) {
  const auto begin = [&](Rule& rule) {
    rule.begin({numbers.row[update::learning_rate], numbers.skips_decay ? 0.0f : numbers.row[update::weight_decay],
                numbers.row + update::first_own, numbers.count ? static_cast<double>(*numbers.count) : 0.0,
                place >= 0 ? numbers.norms + 2 * place : nullptr});
  };
  if constexpr (Rule::kPrepares) {
    __shared__ Rule rule[1];
    if (threadIdx.x == 0) begin(rule[0]);
    __syncthreads();
    return rule[0];
  } else {
    Rule rule;
    begin(rule);
    return rule;
  }
}

// Rounds N numbers to a copy, as a cast does.
template <int N>
__device__ inline void store_copy(uint16_t* to, bool is_bf16, const float (&numbers)[N]) {
  const auto store = [&](auto zero) {
    using T = decltype(zero);
    Pack<T, N> rounded;
#pragma unroll
    for (int k = 0; k < N; ++k) rounded.v[k] = from_float<T>(numbers[k]);
    *reinterpret_cast<Pack<T, N>*>(to) = rounded;
  };
  if (is_bf16)
    store(__nv_bfloat16{});
  else
    store(__half{});
}

// Calls visit(p, g, slots) on every number of the block's chunk, and stores the slots and, if
// kStores, the parameter and its copy.
template <bool kStores, int kSlots, typename G, typename Visit>
__device__ inline void visit_chunk(const UpdateRun<kSlots, G>& run, const Chunk& chunk, const UpdateNumbers& numbers,
                                   Visit visit) {
  const float factor = numbers.factor ? *numbers.factor : 1.0f;
  float* const p = run.parameter + chunk.begin;
  const G* const g = run.gradient + chunk.begin;
  using Floats = Pack<float, 4>;
  for (int i = static_cast<int>(threadIdx.x); i < chunk.length / 4; i += kThreads) {
    Floats parameters = reinterpret_cast<Floats*>(p)[i], slots[kSlots > 0 ? kSlots : 1] = {};
    const Pack<G, 4> gradients = reinterpret_cast<const Pack<G, 4>*>(g)[i];
#pragma unroll
    for (int s = 0; s < kSlots; ++s) slots[s] = reinterpret_cast<Floats*>(run.slots[s] + chunk.begin)[i];
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      float values[kSlots > 0 ? kSlots : 1] = {};
#pragma unroll
      for (int s = 0; s < kSlots; ++s) values[s] = slots[s].v[k];
      visit(parameters.v[k], to_float(gradients.v[k]) * factor, values);
#pragma unroll
      for (int s = 0; s < kSlots; ++s) slots[s].v[k] = values[s];
    }
    if constexpr (kStores) {
      reinterpret_cast<Floats*>(p)[i] = parameters;
      if (run.copy) store_copy(run.copy + chunk.begin + 4 * i, numbers.has_bf16_copies, parameters.v);
    }
#pragma unroll
    for (int s = 0; s < kSlots; ++s) reinterpret_cast<Floats*>(run.slots[s] + chunk.begin)[i] = slots[s];
  }
  for (int i = chunk.length / 4 * 4 + static_cast<int>(threadIdx.x); i < chunk.length; i += kThreads) {
    float values[kSlots > 0 ? kSlots : 1] = {};
    for (int s = 0; s < kSlots; ++s) values[s] = run.slots[s][chunk.begin + i];
    float parameter = p[i];
    visit(parameter, to_float(g[i]) * factor, values);
    if constexpr (kStores) {
      p[i] = parameter;
      if (run.copy) store_copy(run.copy + chunk.begin + i, numbers.has_bf16_copies, {parameter});
    }
    for (int s = 0; s < kSlots; ++s) run.slots[s][chunk.begin + i] = values[s];
  }
}

template <typename Rule, typename G>
using UpdateTable = RunTable<UpdateRun<Rule::kSlots, G>>;

template <typename Rule, typename G>
__global__ void __launch_bounds__(kThreads)
    update_kernel(const __grid_constant__ UpdateTable<Rule, G> table, const __grid_constant__ UpdateNumbers numbers) {
  wait_for_kernels_before();
  if (numbers.is_finite && *numbers.is_finite == 0) return;
  const Chunk chunk = chunk_of(table, static_cast<int>(blockIdx.x));
  const UpdateRun<Rule::kSlots, G>& run = table.runs[chunk.run];
  const Rule rule = begin_rule<Rule>(numbers, run.place);
  visit_chunk<true>(run, chunk, numbers, [&rule](float& p, float g, float* slots) { rule.apply(p, g, slots); });
}

// The two sums of each chunk, to sums[0] and sums[chunks].
template <typename Rule, typename G>
__global__ void __launch_bounds__(kThreads)
    norms_kernel(const __grid_constant__ UpdateTable<Rule, G> table, const __grid_constant__ UpdateNumbers numbers,
                 double* sums, int64_t chunks) {
  wait_for_kernels_before();
  __shared__ double slots[kThreads];
  if (numbers.is_finite && *numbers.is_finite == 0) return;
  const Chunk chunk = chunk_of(table, static_cast<int>(blockIdx.x));
  const UpdateRun<Rule::kSlots, G>& run = table.runs[chunk.run];
  const Rule rule = begin_rule<Rule>(numbers, -1);
  double first = 0, second = 0;
  visit_chunk<false>(run, chunk, numbers,
                     [&](float p, float g, float* values) { rule.visit(p, g, values, first, second); });
  first = block_sum(first, slots);
  __syncthreads();
  second = block_sum(second, slots);
  if (threadIdx.x != 0) return;
  sums[blockIdx.x] = first;
  sums[chunks + blockIdx.x] = second;
}

// norms = before, or 0.
template <int = 0>  // a template, so that every file may have it
__global__ void start_norms_kernel(const float* before, float* norms, int64_t n) {
  wait_for_kernels_before();
  for (int64_t i = threadIdx.x; i < n; i += blockDim.x) norms[i] = before ? before[i] : 0.0f;
}

// A block adds the chunks of one run, always in the same order.
template <typename Rule, typename G>
__global__ void __launch_bounds__(kThreads)
    finish_norms_kernel(const __grid_constant__ UpdateTable<Rule, G> table, const double* sums, int64_t chunks,
                        const int32_t* is_finite, float* norms) {
  wait_for_kernels_before();
  __shared__ double slots[kThreads];
  if (is_finite && *is_finite == 0) return;
  const int r = static_cast<int>(blockIdx.x);
  for (int part = 0; part < 2; ++part) {
    double sum = 0;
    for (int c = table.first_chunk[r] + static_cast<int>(threadIdx.x); c < table.first_chunk[r + 1]; c += kThreads)
      sum += sums[part * chunks + c];
    sum = block_sum(sum, slots);
    if (threadIdx.x == 0) norms[2 * table.runs[r].place + part] = static_cast<float>(sum);
    __syncthreads();
  }
}

// Both kinds of kernel: bind makes the tables.
template <typename Rule, typename G>
class UpdateKernel : public Kernel {
 public:
  UpdateKernel(const CudaDevice& device, const KernelRequest& request)
      : stream_(stream_of(device)),
        operands_(request.node),
        row_(static_cast<size_t>(request.node.attributes.integer("row"))),
        columns_(static_cast<size_t>(input_type(request, update::settings).shape[1])),
        skips_decay_(request.node.attributes.flag("skips_decay")),
        has_bf16_copies_(operands_.has_copies() && input_type(request, operands_.copy(0)).dtype == DType::bf16) {
    if (request.node.attributes.has("places")) places_ = request.node.attributes.list("places");
    for (size_t k = 0; k < operands_.parameters(); ++k)
      counts_.push_back(
          floats_in(input_type(request, operands_.parameter(k)), request.input_layouts[operands_.parameter(k)]));
    if (!request.node.outputs.empty()) norms_ = output_type(request, 0).shape.elements();
  }

  // At least the chunks of all tables: runs that are merged have no more chunks than alone.
  int64_t most_chunks() const {
    int64_t chunks = 0;
    for (int64_t count : counts_) chunks += (count + kChunk - 1) / kChunk;
    return chunks;
  }

  void bind(std::span<void* const> inputs, std::span<void* const> outputs, void* scratch) override {
    std::vector<UpdateRun<Rule::kSlots, G>> runs;
    for (size_t k = 0; k < operands_.parameters(); ++k) {
      auto& run = runs.emplace_back();
      run.parameter = static_cast<float*>(inputs[operands_.parameter(k)]);
      run.gradient = static_cast<const G*>(inputs[operands_.gradient(k)]);
      for (int s = 0; s < Rule::kSlots; ++s)
        run.slots[s] = static_cast<float*>(inputs[operands_.slot(k, static_cast<size_t>(s))]);
      run.copy = operands_.has_copies() ? static_cast<uint16_t*>(inputs[operands_.copy(k)]) : nullptr;
      run.count = counts_[k];
      run.place = places_.empty() ? -1 : static_cast<int32_t>(places_[k]);
    }
    tables_ = make_tables(std::move(runs));
    numbers_.row = static_cast<const float*>(inputs[update::settings]) + row_ * columns_;
    numbers_.factor = static_cast<const float*>(inputs[update::factor]);
    numbers_.is_finite = static_cast<const int32_t*>(inputs[update::is_finite]);
    numbers_.count = static_cast<const int64_t*>(inputs[update::count]);
    if (numbers_.count) numbers_.count += row_;
    numbers_.norms = static_cast<const float*>(inputs[update::norms]);
    numbers_.skips_decay = skips_decay_;
    numbers_.has_bf16_copies = has_bf16_copies_;
    sums_ = static_cast<double*>(scratch);
    out_ = outputs.empty() ? nullptr : static_cast<float*>(outputs[0]);
  }

 protected:
  const cudaStream_t stream_;
  const UpdateOperands operands_;
  const size_t row_, columns_;
  const bool skips_decay_, has_bf16_copies_;
  std::vector<int64_t> places_, counts_;  // of each parameter: the place of its norms, its floats
  int64_t norms_ = 0;
  std::vector<UpdateTable<Rule, G>> tables_;
  UpdateNumbers numbers_ = {};
  double* sums_ = nullptr;
  float* out_ = nullptr;
};

template <typename Rule, typename G>
class ApplyKernel : public UpdateKernel<Rule, G> {
 public:
  using UpdateKernel<Rule, G>::UpdateKernel;
  void run() override {
    for (const UpdateTable<Rule, G>& table : this->tables_)
      update_kernel<Rule, G><<<table.chunks(), kThreads, 0, this->stream_>>>(table, this->numbers_);
    check_launch(cudaGetLastError());
  }
};

template <typename Rule, typename G>
class NormsKernel : public UpdateKernel<Rule, G> {
 public:
  using UpdateKernel<Rule, G>::UpdateKernel;
  void run() override {
    const int64_t chunks = this->most_chunks();
    start_norms_kernel<><<<1, kThreads, 0, this->stream_>>>(this->numbers_.norms, this->out_, this->norms_);
    double* sums = this->sums_;
    for (const UpdateTable<Rule, G>& table : this->tables_) {
      norms_kernel<Rule, G><<<table.chunks(), kThreads, 0, this->stream_>>>(table, this->numbers_, sums, chunks);
      finish_norms_kernel<Rule, G><<<static_cast<unsigned>(table.size), kThreads, 0, this->stream_>>>(
          table, sums, chunks, this->numbers_.is_finite, this->out_);
      sums += table.chunks();
    }
    check_launch(cudaGetLastError());
  }
};

// Gradients and slots have the layout of their parameter, whatever that is, and so has the order of
// a copy. All gradients have one type.
template <typename Rule, template <typename, typename> class Form>
KernelChoice runs_choice_of(CudaDevice& device, const KernelRequest& request, std::string name) {
  KernelChoice choice;
  choice.name = std::move(name);
  choice.input_layouts.resize(request.node.inputs.size());
  const UpdateOperands operands(request.node);
  for (size_t k = 0; k < operands.parameters(); ++k)
    for (size_t i = operands.parameter(k); i < operands.parameter(k + 1); ++i)
      choice.input_layouts[i] =
          request.input_layouts[operands.has_copies() && i == operands.copy(k) ? i : operands.parameter(k)];
  choice.output_layouts.resize(request.node.outputs.size());
  with_type(input_type(request, operands.gradient(0)).dtype, [&](auto g) {
    auto kernel = std::make_unique<Form<Rule, decltype(g)>>(device, request);
    if (!request.node.outputs.empty())
      choice.scratch_bytes = 2 * static_cast<size_t>(kernel->most_chunks()) * sizeof(double);
    choice.kernel = std::move(kernel);
  });
  return choice;
}

template <typename Rule>
KernelChoice update_choice(CudaDevice& device, const KernelRequest& request, std::string name) {
  return runs_choice_of<Rule, ApplyKernel>(device, request, std::move(name));
}

template <typename Rule>
KernelChoice norms_choice(CudaDevice& device, const KernelRequest& request, std::string name) {
  return runs_choice_of<Rule, NormsKernel>(device, request, std::move(name));
}

}  // namespace troika::cuda
