// A device on which ops run one by one, each at once, by the kernel that a plan of the op alone
// would use. Kernels are chosen once for each op, its settings and the types of its inputs.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "device/tensor.h"
#include "eager/compiled_ops.h"
#include "eager/memory_pool.h"

namespace troika {

using TensorPtr = std::shared_ptr<Tensor>;

// Any thread may call; calls run one after another. On a GPU, launches end after the call, in
// order.
class EagerDevice {
 public:
  explicit EagerDevice(std::shared_ptr<Device> device);

  const std::shared_ptr<Device>& device() const { return device_; }

  // Runs an op on tensors of this device; null: an absent input. Returns the outputs. A view shares
  // the memory of input 0. INVALID_ARGUMENT if inputs do not fit the op or are on another device.
  std::vector<TensorPtr> run(const OpDef& op, const std::vector<TensorPtr>& inputs, Attributes attributes = {});
  // The same, with output 0 written over input 0, which must have its type.
  void run_in_place(const OpDef& op, const std::vector<TensorPtr>& inputs, Attributes attributes = {});
  // Returns a tensor of any content.
  TensorPtr create(const TensorType& type);
  // Waits for all launches so far.
  void finish();

 private:
  CompiledOp& compiled(const OpCall& call);
  void launch(CompiledOp& op, const std::vector<TensorPtr>& inputs, const std::vector<void*>& outputs);
  void check_inputs(const OpDef& op, const std::vector<TensorPtr>& inputs) const;

  const std::shared_ptr<Device> device_;
  const std::shared_ptr<MemoryPool> memory_;
  const uint32_t generation_ = fork_generation();
  std::mutex mutex_;
  CompiledOps ops_;
};

}  // namespace troika
