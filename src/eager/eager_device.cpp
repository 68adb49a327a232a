// Running ops: lookup of the compiled op, memory, launch.
#include "eager/eager_device.h"

#include "core/text.h"

namespace troika {
namespace {

constexpr size_t kMostKept = size_t{256} << 20;  // bytes of freed tensors
constexpr size_t kMostOps = 4096;                // compiled
constexpr uintptr_t kKernelAlignment = 16;       // of a tensor's memory, if a kernel shall read it

OpCall call_of(const OpDef& op, const std::vector<TensorPtr>& inputs, Attributes attributes) {
  OpCall call{&op, std::move(attributes), {}, {}};
  call.inputs.reserve(inputs.size());
  for (const TensorPtr& input : inputs) {
    call.inputs.push_back(input ? input->type() : TensorType{DType::f32, {}});
    call.has_input.push_back(input != nullptr);
  }
  return call;
}

// Returns a tensor that shows the memory of another one under the type.
TensorPtr view_of(const TensorPtr& base, const TensorType& type) {
  return Tensor::borrow(base->device(), type, base->data(), [base] {});
}

TensorType view_type(const OpCall& call) {
  Graph graph;
  const ValueId input = graph.add_value("", call.inputs.at(0), Role::input);
  return graph.type(append_node(graph, *call.op, "", {input}, call.attributes)[0]);
}

}  // namespace

EagerDevice::EagerDevice(std::shared_ptr<Device> device)
    : device_(std::move(device)), memory_(std::make_shared<MemoryPool>(device_, kMostKept)), ops_(kMostOps) {}

TensorPtr EagerDevice::create(const TensorType& type) {
  checked_elements(type.shape, "tensor");
  return Tensor::adopt(device_, type,
                       memory_->allocate(type.bytes(), text("a tensor of ", name_of(type.dtype), type.shape)));
}

void EagerDevice::check_inputs(const OpDef& op, const std::vector<TensorPtr>& inputs) const {
  if (generation_ != fork_generation())
    throw Error(Status::unsupported, text(&op, ": device ", device_->id(),
                                          " was used before this process was forked; create a context in the child"));
  require_no_exit();
  for (const TensorPtr& input : inputs)
    if (input && !(input->device()->id() == device_->id()))
      throw Error(Status::invalid_argument,
                  text(&op, ": tensors are on ", device_->id(), " and ", input->device()->id(),
                       ", need one device; troika_tensor_to makes a copy on another device"));
}

CompiledOp& EagerDevice::compiled(const OpCall& call) {
  const size_t before = ops_.size();
  CompiledOp& op = ops_.find(*device_, call);
  if (before == 0) watch_libraries(LibraryPart::plans);
  return op;
}

void EagerDevice::launch(CompiledOp& op, const std::vector<TensorPtr>& inputs, const std::vector<void*>& outputs) {
  std::vector<void*> addresses;
  addresses.reserve(inputs.size());
  std::vector<Buffer> copies;  // of memory that the host has lent at an odd address
  for (const TensorPtr& input : inputs) {
    addresses.push_back(input ? input->data() : nullptr);
    if (reinterpret_cast<uintptr_t>(addresses.back()) % kKernelAlignment == 0) continue;
    copies.push_back(memory_->allocate(input->bytes(), "a copy of a tensor"));
    device_->copy(copies.back().get(), input->data(), input->bytes());
    addresses.back() = copies.back().get();
  }
  const Buffer scratch = op.scratch_bytes() ? memory_->allocate(op.scratch_bytes(), "scratch of an op") : no_buffer();
  op.run(addresses, outputs, scratch.get());
}

std::vector<TensorPtr> EagerDevice::run(const OpDef& op, const std::vector<TensorPtr>& inputs, Attributes attributes) {
  check_inputs(op, inputs);
  OpCall call = call_of(op, inputs, std::move(attributes));
  if (op.is_view) return {view_of(inputs.at(0), view_type(call))};
  const std::lock_guard lock(mutex_);
  const BorrowedThread thread(*device_);
  CompiledOp& compiled_op = compiled(call);
  std::vector<TensorPtr> outputs;
  std::vector<void*> addresses;
  for (const TensorType& type : compiled_op.outputs()) {
    outputs.push_back(create(type));
    addresses.push_back(outputs.back()->data());
  }
  launch(compiled_op, inputs, addresses);
  return outputs;
}

void EagerDevice::run_in_place(const OpDef& op, const std::vector<TensorPtr>& inputs, Attributes attributes) {
  check_inputs(op, inputs);
  const std::lock_guard lock(mutex_);
  const BorrowedThread thread(*device_);
  CompiledOp& compiled_op = compiled(call_of(op, inputs, std::move(attributes)));
  const Tensor& target = *inputs.at(0);
  const TensorType& type = compiled_op.outputs().at(0);
  if (!(type == target.type()))
    throw Error(Status::invalid_argument,
                text(&op, ": the result is ", name_of(type.dtype), type.shape, ", the tensor to change is ",
                     name_of(target.type().dtype), target.type().shape));
  if (compiled_op.may_share_first() && reinterpret_cast<uintptr_t>(target.data()) % kKernelAlignment == 0)
    return launch(compiled_op, inputs, {target.data()});
  const TensorPtr result = create(type);
  launch(compiled_op, inputs, {result->data()});
  device_->copy(target.data(), result->data(), target.bytes());
}

void EagerDevice::finish() {
  const std::lock_guard lock(mutex_);
  const BorrowedThread thread(*device_);
  device_->synchronize();
}

}  // namespace troika
