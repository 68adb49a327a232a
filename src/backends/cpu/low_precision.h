// bf16 and f16 on any CPU: numbers are stored in 16 bits and computed in f32.
#pragma once

#include "backends/cpu/cpu_device.h"

namespace troika::cpu {

// An image's numbers in 16 bits, in the order and with the padding that a layout gives them in f32.
class LowLayout final : public Layout {
 public:
  explicit LowLayout(LayoutPtr wide) : wide_(std::move(wide)) {}
  const LayoutPtr& wide() const { return wide_; }
  size_t bytes() const override { return wide_->bytes() / 2; }
  bool equals(const Layout& other) const override {
    const auto* low = dynamic_cast<const LowLayout*>(&other);
    return low && low->wide_->equals(*wide_);
  }
  std::string name() const override { return wide_->name(); }

 private:
  const LayoutPtr wide_;
};

// Whether the node reads or makes 16-bit numbers.
bool is_low_precision(const KernelRequest& request);

// The kernel of the same node in f32, between a widening of its 16-bit inputs and a rounding of its 16-bit outputs. Images stay in
// the layouts that it wants.
KernelChoice select_widened(CpuDevice& device, const KernelRequest& request);

// CpuDevice::select_reorder for 16-bit numbers.
KernelChoice select_low_reorder(CpuDevice& device, const TensorType& type, const LayoutPtr& from, const LayoutPtr& to);

// [0, n) from one type to the other; either may be f32.
void convert(DType from, const void* source, DType to, void* target, int64_t n);

}  // namespace troika::cpu
