// One CPU device: a share of the cores, with a oneDNN engine and stream of its own.
#pragma once

#include "backends/cpu/onednn_layout.h"
#include "device/backend.h"

namespace troika::cpu {

class CpuDevice : public Device {
 public:
  CpuDevice(int index, DeviceShare share);

  DeviceId id() const override { return {DeviceKind::cpu, index_}; }
  Buffer allocate(size_t bytes, const std::string& purpose) override;
  Buffer allocate_shared(size_t bytes, const std::string& purpose) override;
  void copy_from_host(void* destination, const void* source, size_t bytes) override;
  void copy_to_host(void* destination, const void* source, size_t bytes) override;
  void copy(void* destination, const void* source, size_t bytes) override;
  void enter_thread() override;
  bool runs_on_any_thread() const override { return share_.threads <= 1 && share_.cores.empty(); }
  int borrow_thread() override;
  void return_thread(int earlier) override;
  KernelChoice select(const KernelRequest& request) override;
  KernelChoice select_reorder(const TensorType& type, const LayoutPtr& from, const LayoutPtr& to) override;

  const dnnl::engine& engine() const { return engine_; }
  const dnnl::stream& stream() const { return stream_; }

 private:
  const int index_;
  const DeviceShare share_;
  dnnl::engine engine_;
  dnnl::stream stream_;
};

// A kernel's plan-time half. kernels.def lists the ops that have one.
using SelectKernel = KernelChoice (*)(const CpuDevice& device, const KernelRequest& request);

}  // namespace troika::cpu
