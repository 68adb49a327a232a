// A kernel inside an NVTX range of its layer's name, for profilers. Costs almost nothing without a
// profiler.
#pragma once

#include <nvtx3/nvToolsExt.h>

#include <string>

#include "device/kernel.h"

namespace troika::cuda {

class RangedKernel : public Kernel {
 public:
  RangedKernel(std::unique_ptr<Kernel> inner, std::string name) : inner_(std::move(inner)), name_(std::move(name)) {}
  void bind(std::span<void* const> inputs, std::span<void* const> outputs, void* scratch) override {
    inner_->bind(inputs, outputs, scratch);
  }
  void run() override {
    struct Range {
      explicit Range(const char* name) {
        nvtxEventAttributes_t attributes{};
        attributes.version = NVTX_VERSION;
        attributes.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
        attributes.messageType = NVTX_MESSAGE_TYPE_ASCII;
        attributes.message.ascii = name;
        nvtxDomainRangePushEx(domain(), &attributes);
      }
      ~Range() { nvtxDomainRangePop(domain()); }
    } range(name_.c_str());
    inner_->run();
  }

 private:
  static nvtxDomainHandle_t domain() {
    static const nvtxDomainHandle_t troika = nvtxDomainCreateA("troika");
    return troika;
  }

  const std::unique_ptr<Kernel> inner_;
  const std::string name_;  // "layer1.0.conv1 conv2d"
};

}  // namespace troika::cuda
