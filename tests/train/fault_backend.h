// A backend for tests of training: CPU devices with the names cuda:0, cuda:1, ... They call hooks,
// which may wait or throw.
#pragma once

#include <functional>

#include "comm/local/local_transport.h"
#include "device/backend.h"
#include "train/context.h"

namespace troika {

// `before_run` is called before each kernel runs, with the device's number, the op and the layer.
// `before_copy` is called before each copy from the host, with its bytes. Both are called on the
// device's worker thread.
struct FaultHooks {
  std::function<void(int device, const std::string& op, const std::string& layer)> before_run;
  std::function<void(int device, size_t bytes)> before_copy;
  // Called before each allocation; may throw.
  std::function<void(int device, size_t bytes, const std::string& purpose)> before_allocation;
  // Called when the host polls for results; may throw.
  std::function<void(int device)> before_readback;
  bool runs_ahead = false;
  std::function<size_t(int device)> room_for_samples = [](int) { return size_t{0}; };
};

class FaultDevice : public Device {
 public:
  FaultDevice(int index, std::shared_ptr<Device> device, std::shared_ptr<FaultHooks> hooks)
      : index_(index), device_(std::move(device)), hooks_(std::move(hooks)) {}

  DeviceId id() const override { return {DeviceKind::cuda, index_}; }
  Buffer allocate(size_t bytes, const std::string& purpose) override {
    if (hooks_->before_allocation) hooks_->before_allocation(index_, bytes, purpose);
    return device_->allocate(bytes, purpose);
  }
  bool runs_ahead() const override { return hooks_->runs_ahead; }
  size_t room_for_samples() const override { return hooks_->room_for_samples(index_); }
  std::unique_ptr<Readback> create_readback(size_t capacity) override {
    return std::make_unique<FaultReadback>(index_, capacity, hooks_);
  }
  void copy_from_host(void* destination, const void* source, size_t bytes) override {
    if (hooks_->before_copy) hooks_->before_copy(index_, bytes);
    device_->copy_from_host(destination, source, bytes);
  }
  void copy_to_host(void* destination, const void* source, size_t bytes) override {
    device_->copy_to_host(destination, source, bytes);
  }
  void copy(void* destination, const void* source, size_t bytes) override { device_->copy(destination, source, bytes); }
  void enter_thread() override { device_->enter_thread(); }
  KernelChoice select(const KernelRequest& request) override {
    KernelChoice choice = device_->select(request);
    choice.kernel = std::make_unique<FaultKernel>(index_, request.node, std::move(choice.kernel), hooks_);
    return choice;
  }
  KernelChoice select_reorder(const TensorType& type, const LayoutPtr& from, const LayoutPtr& to) override {
    return device_->select_reorder(type, from, to);
  }

 private:
  class FaultReadback : public Readback {
   public:
    FaultReadback(int device, size_t capacity, std::shared_ptr<FaultHooks> hooks)
        : device_(device), readback_(capacity), hooks_(std::move(hooks)) {}
    void post(const void* source, size_t bytes) override { readback_.post(source, bytes); }
    bool is_there() override {
      if (hooks_->before_readback) hooks_->before_readback(device_);
      return readback_.is_there();
    }
    const std::byte* data() const override { return readback_.data(); }

   private:
    const int device_;
    HostReadback readback_;
    std::shared_ptr<FaultHooks> hooks_;
  };

  class FaultKernel : public Kernel {
   public:
    FaultKernel(int device, const Node& node, std::unique_ptr<Kernel> kernel, std::shared_ptr<FaultHooks> hooks)
        : device_(device),
          op_(name_of(*node.op)),
          layer_(node.name),
          kernel_(std::move(kernel)),
          hooks_(std::move(hooks)) {}
    void bind(std::span<void* const> inputs, std::span<void* const> outputs, void* scratch) override {
      kernel_->bind(inputs, outputs, scratch);
    }
    void run() override {
      if (hooks_->before_run) hooks_->before_run(device_, op_, layer_);
      kernel_->run();
    }

   private:
    const int device_;
    const std::string op_, layer_;
    std::unique_ptr<Kernel> kernel_;
    std::shared_ptr<FaultHooks> hooks_;
  };

  const int index_;
  std::shared_ptr<Device> device_;
  std::shared_ptr<FaultHooks> hooks_;
};

class FaultBackend : public Backend {
 public:
  explicit FaultBackend(std::shared_ptr<FaultHooks> hooks)
      : hooks_(std::move(hooks)), cpu_(BackendRegistry::create()) {}
  DeviceKind kind() const override { return DeviceKind::cuda; }
  int device_count() const override { return 8; }
  DeviceInfo describe(int) const override { return {}; }
  std::shared_ptr<Device> open(int index, const DeviceShare& share) const override {
    return std::make_shared<FaultDevice>(index, cpu_->open({DeviceKind::cpu, index}, share), hooks_);
  }
  // These devices are connected by threads, although their kind is not CPU.
  std::vector<const TransportDef*> transports() const override {
    static const TransportDef threads{"threads", [](const World&) { return true; }, local_transport.create};
    return {&threads};
  }

 private:
  std::shared_ptr<FaultHooks> hooks_;
  std::unique_ptr<BackendRegistry> cpu_;
};

// Returns a context that has the devices above in addition to its own.
inline std::shared_ptr<Context> fault_context(std::shared_ptr<FaultHooks> hooks) {
  ContextOptions options;
  options.cpu_threads = 2;
  auto context = std::make_shared<Context>(std::move(options));
  const_cast<BackendRegistry&>(context->backends())
      .add(std::make_unique<FaultBackend>(std::move(hooks)));  // the context's own registry is not const
  return context;
}

}  // namespace troika
