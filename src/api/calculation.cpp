// Operands, and ops one after another.
#include "api/calculation.h"

#include <algorithm>

#include "core/numbers.h"

namespace troika::api {

Operand Calculation::operand(troika_tensor handle, const std::string& argument) {
  const auto object = object_of(handle, function_, argument.c_str());
  if (!context_) {
    context_ = object->context;
    device_ = object->tensor->device()->id();
  }
  const std::shared_ptr<Tape> tape = object->tape.lock();
  if (tape && tape_ && tape != tape_) fail("tensors belong to two gradients objects, need one");
  if (tape) tape_ = tape;
  return {object->tensor, tape ? object->id : kNoValue};
}

Operand Calculation::number(troika_tensor handle, const std::string& argument) {
  Operand x = operand(handle, argument);
  if (!is_compute_dtype(x.type().dtype))
    throw Error(Status::unsupported, text(function_, ": argument '", argument, "' is ", name_of(x.type().dtype),
                                          ", need f32, bf16 or f16; troika_tensor_cast converts"));
  return x;
}

int Calculation::axis(const Operand& x, int32_t axis) const {
  const int rank = x.shape().rank();
  if (axis < -rank || axis >= rank) fail(text("axis is ", axis, ", the tensor has shape ", x.shape()));
  return axis < 0 ? axis + rank : axis;
}

std::vector<int> Calculation::axes(const Operand& x, const int32_t* list, int32_t count) const {
  std::vector<int> axes;
  if (!list)
    for (int i = 0; i < x.shape().rank(); ++i) axes.push_back(i);
  else if (count < 0)
    fail(text("axis_count is ", count, ", needs at least 0"));
  else
    for (int32_t i = 0; i < count; ++i) axes.push_back(axis(x, list[i]));
  std::sort(axes.begin(), axes.end());
  if (const auto twice = std::adjacent_find(axes.begin(), axes.end()); twice != axes.end())
    fail(text("axes have ", *twice, " twice"));
  return axes;
}

std::vector<TensorPtr> Calculation::run_on_device(const OpDef& op, const std::vector<TensorPtr>& tensors,
                                                  std::vector<ValueId> ids, Attributes attributes, ValueId& id) const {
  try {
    const bool is_recorded = std::any_of(ids.begin(), ids.end(), [](ValueId i) { return i != kNoValue; });
    if (!is_recorded) return device().run(op, tensors, std::move(attributes));
    return tape_->run(device(), op, tensors, std::move(ids), std::move(attributes), id);
  } catch (const Error& e) {
    rethrow_for_caller(op, e);
  }
}

void Calculation::rethrow_for_caller(const OpDef& op, const Error& e) const {
  const std::string message = e.what(), prefix = text(&op, ": ");
  if (message.compare(0, prefix.size(), prefix) != 0) throw e;
  throw Error(e.status(), text(function_, ": ", message.substr(prefix.size())));
}

Operand Calculation::run(const OpDef& op, const std::vector<Operand>& operands, Attributes attributes) {
  std::vector<TensorPtr> tensors;
  std::vector<ValueId> ids;
  for (const Operand& operand : operands) {
    tensors.push_back(operand.tensor);
    ids.push_back(operand.id);
  }
  ValueId id = kNoValue;
  const TensorPtr result = run_on_device(op, tensors, std::move(ids), std::move(attributes), id)[0];
  return {result, id};
}

Operand Calculation::run_unrecorded(const OpDef& op, const std::vector<Operand>& operands, Attributes attributes) {
  std::vector<TensorPtr> tensors;
  for (const Operand& operand : operands) tensors.push_back(operand.tensor);
  ValueId id = kNoValue;
  return {run_on_device(op, tensors, {}, std::move(attributes), id)[0], kNoValue};
}

Operand Calculation::pair(const OpDef& op, const Operand& a, const Operand& b, Attributes attributes) {
  if (a.shape() != b.shape()) attributes.set("broadcast", int64_t{1});
  return run(op, {a, b}, std::move(attributes));
}

Operand Calculation::reshape(const Operand& x, const Shape& shape) {
  return run(reshape_op, {x}, {{"shape", shape.dims()}, {"whole", int64_t{1}}});
}

Operand Calculation::cast(const Operand& x, DType dtype) {
  if (x.type().dtype == dtype) return x;
  return run(cast_op, {x}, {{"dtype", static_cast<int64_t>(dtype)}});
}

Operand Calculation::sum(Operand x, const std::vector<int>& axes, bool keeps, bool is_mean) {
  // Runs of neighbouring axes, from the end on: the axes before a run keep their numbers.
  for (size_t end = axes.size(); end > 0;) {
    size_t begin = end - 1;
    while (begin > 0 && axes[begin - 1] + 1 == axes[begin]) --begin;
    x = run(sum_axes_op, {x},
            {{"begin", int64_t{axes[begin]}},
             {"end", int64_t{axes[end - 1]} + 1},
             {"keep", int64_t{keeps}},
             {"mean", int64_t{is_mean}},
             {"factor", 1.0}});
    end = begin;
  }
  return axes.empty() ? run(scale_op, {x}, {{"factor", 1.0}, {"offset", 0.0}}) : x;
}

void Calculation::run_in_place(const OpDef& op, const std::vector<Operand>& operands, Attributes attributes) {
  std::vector<TensorPtr> tensors;
  for (const Operand& operand : operands) tensors.push_back(operand.tensor);
  try {
    device().run_in_place(op, tensors, std::move(attributes));
  } catch (const Error& e) {
    rethrow_for_caller(op, e);
  }
}

troika_tensor Calculation::handle_of(const Operand& result) const {
  const troika_tensor handle = new_tensor(context_, result.tensor);
  if (result.id == kNoValue) return handle;
  handle->object->tape = tape_;
  handle->object->id = result.id;
  return handle;
}

}  // namespace troika::api
