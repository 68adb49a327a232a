// The plan of one op: its kernel, and reorders between the layouts that the kernel wants and the
// plain one of tensors.
#pragma once

#include <memory>
#include <vector>

#include "device/backend.h"
#include "device/scratch.h"
#include "eager/op_call.h"

namespace troika {

class CompiledOp {
 public:
  // Chooses the kernel. Called on a thread that the device runs on. INVALID_ARGUMENT if inputs do
  // not fit the op, UNSUPPORTED if the device has no kernel for it.
  CompiledOp(Device& device, const OpCall& call);

  const std::vector<TensorType>& outputs() const { return outputs_; }
  size_t scratch_bytes() const { return scratch_.bytes(); }
  // Whether output 0 may be written to the memory of input 0.
  bool may_share_first() const { return may_share_first_; }

  // Launches the op on plain tensors. Null: an absent input.
  void run(const std::vector<void*>& inputs, const std::vector<void*>& outputs, std::byte* scratch);

 private:
  // An operand in another layout than the plain one: a copy in the scratch.
  struct Copy {
    size_t operand, offset, scratch_offset;
    std::unique_ptr<Kernel> reorder;
  };

  void add_copies(Device& device, const std::vector<TensorType>& types, const std::vector<LayoutPtr>& layouts,
                  bool are_inputs, std::vector<Copy>& copies);

  std::vector<TensorType> outputs_;
  std::unique_ptr<Kernel> kernel_;
  ScratchLedger scratch_{256};
  size_t kernel_scratch_ = 0;
  std::vector<Copy> input_copies_, output_copies_;
  bool may_share_first_ = false;
  std::vector<void*> bound_inputs_, bound_outputs_;  // of the last run
};

}  // namespace troika
