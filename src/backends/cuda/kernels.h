// The list of the CUDA backend's kernels, and the form that own kernels take.
#pragma once

#include <algorithm>

#include "backends/cuda/check.h"
#include "backends/cuda/nhwc_layout.h"
#include "device/kernel.h"

namespace troika::cuda {

class CudaDevice;

// Returns the device's stream. Kernels' files do not include the device, which needs the headers of
// all libraries.
cudaStream_t stream_of(const CudaDevice& device);

#define TROIKA_KERNEL(op, cpu, cuda) KernelChoice select_##op(CudaDevice& device, const KernelRequest& request);
#include "backends/kernels.def"
#undef TROIKA_KERNEL

// The memory that a kernel is bound to: device pointers, null if absent.
struct Arguments {
  std::vector<void*> inputs, outputs;
  void* scratch = nullptr;

  template <typename T>
  const T* in(size_t i) const {
    return static_cast<const T*>(inputs[i]);
  }
  template <typename T>
  T* out(size_t i) const {
    return static_cast<T*>(outputs[i]);
  }
};

// Own kernels: `Body` is callable as body(const Arguments&, cudaStream_t), and launches on that
// stream.
template <typename Body>
class FunctionKernel : public Kernel {
 public:
  FunctionKernel(cudaStream_t stream, Body body) : stream_(stream), body_(std::move(body)) {}
  void bind(std::span<void* const> inputs, std::span<void* const> outputs, void* scratch) override {
    arguments_.inputs.assign(inputs.begin(), inputs.end());
    arguments_.outputs.assign(outputs.begin(), outputs.end());
    arguments_.scratch = scratch;
  }
  void run() override {
    body_(arguments_, stream_);
    check_launch(cudaGetLastError());
  }

 private:
  const cudaStream_t stream_;
  Body body_;
  Arguments arguments_;
};

template <typename Body>
std::unique_ptr<Kernel> make_kernel(const CudaDevice& device, Body body) {
  return std::make_unique<FunctionKernel<Body>>(stream_of(device), std::move(body));
}

// The types of a node's inputs and outputs.
inline const TensorType& input_type(const KernelRequest& r, size_t i) { return r.graph.type(r.node.inputs[i]); }
inline const TensorType& output_type(const KernelRequest& r, size_t i) { return r.graph.type(r.node.outputs[i]); }

// Returns a choice in which every image is stored channels last, and everything else is plain.
inline KernelChoice nhwc_choice(const KernelRequest& r, std::string name, std::unique_ptr<Kernel> kernel) {
  KernelChoice choice;
  choice.kernel = std::move(kernel);
  choice.name = std::move(name);
  for (ValueId id : r.node.inputs) choice.input_layouts.push_back(id == kNoValue ? nullptr : nhwc(r.graph.type(id)));
  for (ValueId id : r.node.outputs) choice.output_layouts.push_back(nhwc(r.graph.type(id)));
  return choice;
}

// An answer whose every input and output is plain.
inline KernelChoice plain_choice(const KernelRequest& r, std::string name, std::unique_ptr<Kernel> kernel) {
  KernelChoice choice;
  choice.kernel = std::move(kernel);
  choice.name = std::move(name);
  choice.input_layouts.resize(r.node.inputs.size());
  choice.output_layouts.resize(r.node.outputs.size());
  return choice;
}

constexpr int kThreads = 256;  // of a block of an elementwise kernel

// Blocks for `n` elements of work, a grid-stride loop taking what is more than `most` blocks.
inline unsigned blocks_for(int64_t n, int64_t per_block = kThreads, int64_t most = 1 << 16) {
  return static_cast<unsigned>(std::clamp<int64_t>((n + per_block - 1) / per_block, 1, most));
}

}  // namespace troika::cuda
