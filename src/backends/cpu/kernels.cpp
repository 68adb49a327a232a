// Binding and running oneDNN primitives.
#include "backends/cpu/kernels.h"

namespace troika::cpu {

void check_onednn(dnnl_status_t status) {
  if (status != dnnl_success)
    throw Error(status == dnnl_out_of_memory ? Status::out_of_memory : Status::internal,
                text("oneDNN: a primitive failed with status ", static_cast<int>(status)));
}

OnednnKernel::OnednnKernel(const CpuDevice& device, dnnl::primitive primitive, const Desc& scratchpad,
                           const std::vector<Argument>& arguments)
    : stream_(device.stream()), primitive_(std::move(primitive)), arguments_(arguments) {
  for (const Argument& a : arguments_) memories_.emplace_back(a.desc, device.engine(), nullptr);
  memories_.emplace_back(scratchpad, device.engine(), nullptr);
  for (size_t i = 0; i < arguments_.size(); ++i) execution_.push_back({arguments_[i].onednn_index, memories_[i].get()});
  execution_.push_back({DNNL_ARG_SCRATCHPAD, memories_.back().get()});
}

void OnednnKernel::bind(std::span<void* const> inputs, std::span<void* const> outputs, void* scratch) {
  for (size_t i = 0; i < arguments_.size(); ++i) {
    const Argument& a = arguments_[i];
    memories_[i].set_data_handle(a.kind == Argument::input ? inputs[a.index] : outputs[a.index]);
  }
  memories_.back().set_data_handle(scratch);
  if (relu_elements_ > 0) relu_output_ = outputs[0];
}

void OnednnKernel::run() {
  check_onednn(
      dnnl_primitive_execute(primitive_.get(), stream_.get(), static_cast<int>(execution_.size()), execution_.data()));
  if (!relu_output_) return;
  if (relu_dtype_ == DType::bf16)
    relu_in_place_bf16(static_cast<uint16_t*>(relu_output_), relu_elements_);
  else
    relu_in_place(static_cast<float*>(relu_output_), relu_elements_);
}

KernelChoice uniform_choice(const KernelRequest& request, const LayoutPtr& layout, std::string name,
                            std::unique_ptr<Kernel> kernel) {
  KernelChoice choice;
  choice.kernel = std::move(kernel);
  choice.name = std::move(name);
  choice.input_layouts.assign(request.node.inputs.size(), layout);
  choice.output_layouts.assign(request.node.outputs.size(), layout);
  return choice;
}

KernelChoice onednn_choice(const CpuDevice& device, const KernelRequest& request, const dnnl::primitive_desc& primitive,
                           const std::vector<int>& inputs, const std::vector<int>& outputs) {
  const Node& node = request.node;
  KernelChoice choice;
  std::vector<OnednnKernel::Argument> arguments;
  auto add = [&](OnednnKernel::Argument::Kind kind, int onednn_index, ValueId value, std::vector<LayoutPtr>& layouts) {
    const size_t index = layouts.size();
    layouts.push_back(nullptr);
    if (value == kNoValue) return;
    const Desc desc = primitive.query_md(dnnl::query::exec_arg_md, onednn_index);
    arguments.push_back({onednn_index, desc, kind, index});
    layouts.back() = layout_of(desc, request.graph.type(value));
  };
  for (size_t i = 0; i < node.inputs.size(); ++i)
    add(OnednnKernel::Argument::input, inputs.at(i), node.inputs[i], choice.input_layouts);
  for (size_t i = 0; i < node.outputs.size(); ++i)
    add(OnednnKernel::Argument::output, outputs.at(i), node.outputs[i], choice.output_layouts);
  const Desc scratch = primitive.scratchpad_desc();
  auto kernel = std::make_unique<OnednnKernel>(device, dnnl::primitive(primitive), scratch, arguments);
  if (node.attributes.flag("relu"))
    kernel->append_relu(primitive.query_md(dnnl::query::exec_arg_md, outputs.at(0)).get_size(),
                        request.graph.type(node.outputs[0]).dtype);
  choice.kernel = std::move(kernel);
  choice.name = text("cpu:onednn:", primitive.impl_info_str());
  choice.scratch_bytes = scratch.get_size();
  return choice;
}

}  // namespace troika::cpu
