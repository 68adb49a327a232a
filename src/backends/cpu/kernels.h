// The list of the CPU's kernels, and the two forms that a kernel takes: oneDNN primitives and own
// functions.
#pragma once

#include "backends/cpu/cpu_device.h"

namespace troika::cpu {

#define TROIKA_KERNEL(op, cpu, cuda) KernelChoice select_##op(const CpuDevice& device, const KernelRequest& request);
#include "backends/kernels.def"
#undef TROIKA_KERNEL

// Parts of a kernel's scratch begin at multiples of these bytes: cache lines.
constexpr size_t kScratchAlignment = 64;

// A oneDNN primitive with the user's scratchpad. Arguments name an input, an output or the scratch.
class OnednnKernel : public Kernel {
 public:
  struct Argument {
    int onednn_index;  // DNNL_ARG_SRC ...
    Desc desc;
    enum Kind { input, output } kind;
    size_t index;
  };

  OnednnKernel(const CpuDevice& device, dnnl::primitive primitive, const Desc& scratchpad,
               const std::vector<Argument>& arguments);
  // Cuts output 0, of `bytes`, at 0 afterwards. oneDNN's own fused ReLU would turn NaN into 0 and
  // hide that training failed.
  void append_relu(size_t bytes, DType dtype) {
    relu_dtype_ = dtype;
    relu_elements_ = static_cast<int64_t>(bytes / size_of(dtype));
  }
  void bind(std::span<void* const> inputs, std::span<void* const> outputs, void* scratch) override;
  void run() override;

 private:
  const dnnl::stream stream_;
  const dnnl::primitive primitive_;
  std::vector<Argument> arguments_;
  std::vector<dnnl::memory> memories_;  // one an argument, then the scratchpad
  std::vector<dnnl_exec_arg_t> execution_;
  DType relu_dtype_ = DType::f32;
  int64_t relu_elements_ = 0;
  void* relu_output_ = nullptr;
};

// Throws if a call of oneDNN failed.
void check_onednn(dnnl_status_t status);

// y = max(y, 0); NaN stays.
void relu_in_place(float* y, int64_t n);
void relu_in_place_bf16(uint16_t* y, int64_t n);
// dx = y <= 0 ? 0 : dy, of f32, bf16 or f16. dx may be dy.
void relu_gradient(DType dtype, const void* y, const void* dy, void* dx, int64_t n);

// Own kernels: a functor over bound addresses. `Body` is callable as body(inputs, outputs,
// scratch).
template <typename Body>
class FunctionKernel : public Kernel {
 public:
  explicit FunctionKernel(Body body) : body_(std::move(body)) {}
  void bind(std::span<void* const> inputs, std::span<void* const> outputs, void* scratch) override {
    inputs_.assign(inputs.begin(), inputs.end());
    outputs_.assign(outputs.begin(), outputs.end());
    scratch_ = scratch;
  }
  void run() override { body_(inputs_.data(), outputs_.data(), scratch_); }

 private:
  Body body_;
  std::vector<void*> inputs_, outputs_;
  void* scratch_ = nullptr;
};

template <typename Body>
std::unique_ptr<Kernel> make_kernel(Body body) {
  return std::make_unique<FunctionKernel<Body>>(std::move(body));
}

// The attribute that every primitive has: scratch memory comes from the plan.
inline dnnl::primitive_attr user_scratchpad() {
  dnnl::primitive_attr attr;
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attr;
}

// Bytes that a tensor takes in a layout.
inline size_t bytes_in(const TensorType& type, const LayoutPtr& layout) {
  return layout ? layout->bytes() : type.bytes();
}

// Returns the floats of an f32 input in its layout. Padding counts; padding is 0.
inline int64_t floats_of_input(const KernelRequest& request, size_t i) {
  return static_cast<int64_t>(bytes_in(request.graph.type(request.node.inputs[i]), request.input_layouts[i]) /
                              sizeof(float));
}

// Returns the floats of the node's first `count` inputs.
inline std::vector<int64_t> floats_of_inputs(const KernelRequest& request, size_t count) {
  std::vector<int64_t> floats;
  for (size_t i = 0; i < count; ++i) floats.push_back(floats_of_input(request, i));
  return floats;
}

// An answer whose every input and output has one layout.
KernelChoice uniform_choice(const KernelRequest& request, const LayoutPtr& layout, std::string name,
                            std::unique_ptr<Kernel> kernel);

// The answer of a oneDNN primitive, whose layouts are its own. `inputs` and `outputs` are what
// oneDNN calls the node's (DNNL_ARG_SRC ...), in the node's order; those that the node does not
// have are passed over.
KernelChoice onednn_choice(const CpuDevice& device, const KernelRequest& request, const dnnl::primitive_desc& primitive,
                           const std::vector<int>& inputs, const std::vector<int>& outputs);

}  // namespace troika::cpu
