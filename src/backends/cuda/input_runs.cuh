// Kernels over a node's inputs, whatever their layouts, as runs of floats. A block takes a chunk.
#pragma once

#include <type_traits>

#include "backends/cuda/elements.cuh"
#include "backends/cuda/kernels.h"
#include "backends/cuda/runs.cuh"

namespace troika::cuda {

// Calls visit on every number of the block's chunk, read as T: float, or its bits. If T is not
// const, visit may change the number.
template <typename T, typename Visit>
__device__ inline void visit_chunk(const RunTable<Run<1>>& table, Visit visit) {
  const Chunk chunk = chunk_of(table, static_cast<int>(blockIdx.x));
  auto* const numbers = reinterpret_cast<T*>(table.runs[chunk.run].arrays[0] + chunk.begin);
  using Numbers = Pack<std::remove_const_t<T>, 4>;
  using Packs = std::conditional_t<std::is_const_v<T>, const Numbers, Numbers>;
#pragma unroll 4
  for (int i = static_cast<int>(threadIdx.x); i < chunk.length / 4; i += kThreads) {
    Numbers pack = reinterpret_cast<Packs*>(numbers)[i];
#pragma unroll
    for (int k = 0; k < 4; ++k) visit(pack.v[k]);
    if constexpr (!std::is_const_v<T>) reinterpret_cast<Packs*>(numbers)[i] = pack;
  }
  for (int i = chunk.length / 4 * 4 + static_cast<int>(threadIdx.x); i < chunk.length; i += kThreads) visit(numbers[i]);
}

// A node's inputs [first, end), f32, as tables of runs.
class InputRuns {
 public:
  InputRuns(const KernelRequest& request, size_t first, size_t end) : first_(first) {
    for (size_t i = first; i < end; ++i) counts_.push_back(floats_in(input_type(request, i), request.input_layouts[i]));
  }

  void bind(std::span<void* const> inputs) {
    std::vector<Run<1>> runs;
    for (size_t i = 0; i < counts_.size(); ++i) runs.push_back({{static_cast<float*>(inputs[first_ + i])}, counts_[i]});
    tables_ = make_tables(std::move(runs));
  }

  const std::vector<RunTable<Run<1>>>& tables() const { return tables_; }

  // At least the chunks of all tables: inputs that are merged have no more chunks than alone.
  size_t most_chunks() const {
    int64_t chunks = 0;
    for (int64_t count : counts_) chunks += (count + kChunk - 1) / kChunk;
    return static_cast<size_t>(chunks);
  }

 private:
  const size_t first_;
  std::vector<int64_t> counts_;  // floats of each input
  std::vector<RunTable<Run<1>>> tables_;
};

// `Body` is callable as body(tables, const Arguments&, cudaStream_t), and launches on that stream.
template <typename Body>
class RunsKernel : public Kernel {
 public:
  RunsKernel(cudaStream_t stream, InputRuns runs, Body body)
      : stream_(stream), runs_(std::move(runs)), body_(std::move(body)) {}

  void bind(std::span<void* const> inputs, std::span<void* const> outputs, void* scratch) override {
    runs_.bind(inputs);
    arguments_.inputs.assign(inputs.begin(), inputs.end());
    arguments_.outputs.assign(outputs.begin(), outputs.end());
    arguments_.scratch = scratch;
  }

  void run() override {
    body_(runs_.tables(), arguments_, stream_);
    check_launch(cudaGetLastError());
  }

 private:
  const cudaStream_t stream_;
  InputRuns runs_;
  const Body body_;
  Arguments arguments_;
};

// The choice of such a kernel. It takes inputs in any layout, and its outputs are plain.
template <typename Body>
KernelChoice runs_choice(const CudaDevice& device, const KernelRequest& request, std::string name, InputRuns runs,
                         Body body) {
  KernelChoice choice;
  choice.kernel = std::make_unique<RunsKernel<Body>>(stream_of(device), std::move(runs), std::move(body));
  choice.name = std::move(name);
  choice.input_layouts = request.input_layouts;
  choice.output_layouts.resize(request.node.outputs.size());
  return choice;
}

}  // namespace troika::cuda
