// One call of an operation: its operands, on one device, and the tape that records it.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "api/structs.h"
#include "api/tensor_handle.h"

namespace troika::api {

// A tensor, and its number on the tape; kNoValue: the tape does not know it.
struct Operand {
  TensorPtr tensor;
  ValueId id = kNoValue;

  const TensorType& type() const { return tensor->type(); }
  const Shape& shape() const { return tensor->type().shape; }
};

class Calculation {
 public:
  // The function's name begins messages.
  explicit Calculation(const char* function) : function_(function) {}

  // Reads a handle. The device is that of the first. INVALID_ARGUMENT if the tensor belongs to
  // another tape than earlier ones.
  Operand operand(troika_tensor handle, const std::string& argument);
  // The same for numbers with which ops compute: f32, bf16 or f16.
  Operand number(troika_tensor handle, const std::string& argument);
  // Returns an axis of x; below 0 it counts from the end.
  int axis(const Operand& x, int32_t axis) const;
  // Returns the axes that a list names, each once, in order; all axes if it is NULL.
  std::vector<int> axes(const Operand& x, const int32_t* list, int32_t count) const;

  // Runs an op and returns its first output.
  Operand run(const OpDef& op, const std::vector<Operand>& operands, Attributes attributes = {});
  // The same for two operands whose shapes may differ.
  Operand pair(const OpDef& op, const Operand& a, const Operand& b, Attributes attributes = {});
  // Runs an op that has no gradient.
  Operand run_unrecorded(const OpDef& op, const std::vector<Operand>& operands, Attributes attributes = {});
  Operand reshape(const Operand& x, const Shape& shape);
  Operand cast(const Operand& x, DType dtype);
  // Sums or means over axes, which are in order.
  Operand sum(Operand x, const std::vector<int>& axes, bool keeps, bool is_mean);

  // Runs an op whose result replaces the first operand.
  void run_in_place(const OpDef& op, const std::vector<Operand>& operands, Attributes attributes);
  troika_tensor handle_of(const Operand& result) const;

  [[noreturn]] void fail(const std::string& message) const {
    throw Error(Status::invalid_argument, text(function_, ": ", message));
  }

 private:
  EagerDevice& device() const { return context_->eager_device(device_); }
  std::vector<TensorPtr> run_on_device(const OpDef& op, const std::vector<TensorPtr>& tensors, std::vector<ValueId> ids,
                                       Attributes attributes, ValueId& id) const;
  // Names the C function in place of the op.
  [[noreturn]] void rethrow_for_caller(const OpDef& op, const Error& e) const;

  const char* function_;
  std::shared_ptr<Context> context_;
  DeviceId device_;
  std::shared_ptr<Tape> tape_;
};

// Runs `body(calculation)`, which returns the result.
template <typename Body>
troika_status calculate(const char* function, troika_tensor* out_tensor, troika_error* error, Body&& body) {
  return guard(error, [&] {
    *required(out_tensor, function, "out_tensor") = nullptr;
    Calculation calculation(function);
    *out_tensor = calculation.handle_of(body(calculation));
  });
}

}  // namespace troika::api
