// Reorders by oneDNN's primitive.
#include "backends/cpu/reorder.h"

#include <algorithm>

#include "backends/cpu/kernels.h"
#include "device/scratch.h"

namespace troika::cpu {
namespace {

// A reorder between layouts of other dims, in two steps. Between them the plain tensor is the first
// part of the scratch.
class ReorderByPlain : public Kernel {
 public:
  ReorderByPlain(std::unique_ptr<Kernel> to_plain, std::unique_ptr<Kernel> from_plain, size_t rest_offset)
      : to_plain_(std::move(to_plain)), from_plain_(std::move(from_plain)), rest_offset_(rest_offset) {}
  void bind(std::span<void* const> inputs, std::span<void* const> outputs, void* scratch) override {
    void* const plain[] = {scratch};
    void* const rest = static_cast<std::byte*>(scratch) + rest_offset_;
    to_plain_->bind(inputs, plain, rest);
    from_plain_->bind(plain, outputs, rest);
  }
  void run() override {
    to_plain_->run();
    from_plain_->run();
  }

 private:
  const std::unique_ptr<Kernel> to_plain_, from_plain_;
  const size_t rest_offset_;
};

}  // namespace

KernelChoice onednn_reorder(const CpuDevice& device, const TensorType& type, const LayoutPtr& from,
                            const LayoutPtr& to) {
  // Between a plain tensor and a layout of other dims ([out, in] and [out, c, h, w]) the layout's
  // dims hold for both.
  Desc source = desc_of(type, from), target = desc_of(type, to);
  if (!from) source = plain_desc(Shape(blocking_of(target).dims), onednn_type(type.dtype));
  if (!to) target = plain_desc(Shape(blocking_of(source).dims), onednn_type(type.dtype));
  KernelChoice choice;
  choice.input_layouts = {from};
  choice.output_layouts = {to};
  if (blocking_of(source).dims != blocking_of(target).dims) {
    KernelChoice first = onednn_reorder(device, type, from, nullptr),
                 second = onednn_reorder(device, type, nullptr, to);
    ScratchLedger scratch(kScratchAlignment);
    scratch.take(type.bytes());
    const size_t rest = scratch.take(std::max(first.scratch_bytes, second.scratch_bytes));
    choice.name = text(first.name, "+", second.name);
    choice.scratch_bytes = scratch.bytes();
    choice.kernel = std::make_unique<ReorderByPlain>(std::move(first.kernel), std::move(second.kernel), rest);
    return choice;
  }
  return check(text("reorder of ", type.shape, " on ", device.id()), [&] {
    const auto pd = reorder(device.engine(), user_scratchpad(), source, target);
    choice.name = text("cpu:onednn:", pd.impl_info_str());
    choice.scratch_bytes = pd.scratchpad_desc().get_size();
    choice.kernel = std::make_unique<OnednnKernel>(
        device, dnnl::reorder(pd), pd.scratchpad_desc(),
        std::vector<OnednnKernel::Argument>{{DNNL_ARG_FROM, source, OnednnKernel::Argument::input, 0},
                                            {DNNL_ARG_TO, target, OnednnKernel::Argument::output, 0}});
    return std::move(choice);
  });
}

}  // namespace troika::cpu
