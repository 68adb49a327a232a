// A device for tests of plans. Its kernels compute nothing. The test defines the layouts that they
// read and write.
#pragma once

#include <cstdlib>
#include <cstring>
#include <map>

#include "core/text.h"
#include "device/backend.h"

namespace troika {

// A layout named "A", "B", ... It needs twice the bytes of the plain layout, so that tests see
// which size is used.
class FakeLayout : public Layout {
 public:
  FakeLayout(std::string name, size_t bytes) : name_(std::move(name)), bytes_(bytes) {}
  size_t bytes() const override { return bytes_; }
  bool equals(const Layout& other) const override { return other.name() == name_; }
  std::string name() const override { return name_; }

 private:
  std::string name_;
  size_t bytes_;
};

struct FakeKernel {
  std::vector<std::string> inputs;   // names of layouts, or "plain"; empty: any layout is accepted
  std::vector<std::string> outputs;  // names of layouts; outputs after the end of the list are plain
  size_t scratch_bytes = 0;
  std::vector<std::pair<int, int>> may_share = {};
  std::vector<size_t> unused_inputs = {}, unused_outputs = {};
};

class FakeDevice : public Device {
 public:
  // `kernels` are by the node's name.
  explicit FakeDevice(std::map<std::string, FakeKernel> kernels = {}) : kernels_(std::move(kernels)) {}

  DeviceId id() const override { return {}; }
  Buffer allocate(size_t bytes, const std::string&) override {
    return Buffer(static_cast<std::byte*>(std::calloc(bytes + 1, 1)), [](std::byte* p) { std::free(p); });
  }
  void copy_from_host(void* destination, const void* source, size_t bytes) override {
    std::memcpy(destination, source, bytes);
  }
  void copy_to_host(void* destination, const void* source, size_t bytes) override {
    std::memcpy(destination, source, bytes);
  }
  void copy(void* destination, const void* source, size_t bytes) override { std::memcpy(destination, source, bytes); }
  void enter_thread() override {}

  KernelChoice select(const KernelRequest& request) override {
    const FakeKernel fake = kernels_.count(request.node.name) ? kernels_.at(request.node.name) : FakeKernel{};
    KernelChoice choice;
    choice.kernel = std::make_unique<NoKernel>();
    choice.name = "fake";
    choice.input_layouts = request.input_layouts;
    for (size_t i = 0; i < fake.inputs.size(); ++i)
      if (request.node.inputs[i] != kNoValue)
        choice.input_layouts[i] = layout(fake.inputs[i], request.graph.type(request.node.inputs[i]));
    for (size_t i = 0; i < request.node.outputs.size(); ++i)
      choice.output_layouts.push_back(
          i < fake.outputs.size() ? layout(fake.outputs[i], request.graph.type(request.node.outputs[i])) : nullptr);
    choice.scratch_bytes = fake.scratch_bytes;
    choice.may_share = fake.may_share;
    choice.unused_inputs = fake.unused_inputs;
    choice.unused_outputs = fake.unused_outputs;
    return choice;
  }

  KernelChoice select_reorder(const TensorType&, const LayoutPtr& from, const LayoutPtr& to) override {
    return {std::make_unique<NoKernel>(), "fake", {from}, {to}};
  }

 private:
  class NoKernel : public Kernel {
    void bind(std::span<void* const>, std::span<void* const>, void*) override {}
    void run() override {}
  };

  static LayoutPtr layout(const std::string& name, const TensorType& type) {
    return name == "plain" ? nullptr : std::make_shared<FakeLayout>(name, 2 * type.bytes());
  }

  std::map<std::string, FakeKernel> kernels_;
};

}  // namespace troika
