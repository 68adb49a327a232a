// troika_batch_create: a batch of the caller's own tensors.
#include "api/data_handles.h"
#include "api/tensor_handle.h"

using namespace troika;
using namespace troika::api;

troika_status troika_batch_create(troika_tensor inputs, troika_tensor targets, troika_batch* out_batch,
                                  troika_error* error) {
  constexpr const char* kName = "troika_batch_create";
  return guard(error, [&] {
    *required(out_batch, kName, "out_batch") = nullptr;
    const auto x_hold = object_of(inputs, kName, "inputs"), t_hold = object_of(targets, kName, "targets");
    const Tensor &x = *x_hold->tensor, &t = *t_hold->tensor;
    const Shape &x_shape = x.type().shape, &t_shape = t.type().shape;
    const bool are_tokens = x.type().dtype == DType::i32;
    if ((x.type().dtype != DType::f32 && !are_tokens) || x_shape.rank() < 2)
      throw Error(Status::invalid_argument,
                  text(kName, ": inputs are ", name_of(x.type().dtype), x_shape, ", need f32[n, ...] or i32[n, ...]"));
    const bool are_labels = t.type().dtype == DType::i32 && t_shape.rank() >= 1 && t_shape[0] == x_shape[0];
    const bool are_values = t.type().dtype == DType::f32 && t_shape.rank() == 2 && t_shape[0] == x_shape[0];
    if (!are_labels && !are_values)
      throw Error(Status::invalid_argument, text(kName, ": targets are ", name_of(t.type().dtype), t_shape,
                                                 ", need i32[", x_shape[0], ", ...] or f32[", x_shape[0], ", k]"));
    auto batch = std::make_shared<Batch>();
    batch->shape = x_shape;
    batch->dtype = x.type().dtype;
    const auto elements = static_cast<size_t>(x_shape.elements());
    if (are_tokens)
      batch->tokens.resize(elements), x.read(batch->tokens.data());
    else
      batch->inputs.resize(elements), x.read(batch->inputs.data());
    if (are_labels) {
      batch->label_size = t_shape.elements(1, t_shape.rank());
      batch->labels.resize(static_cast<size_t>(t_shape.elements()));
      t.read(batch->labels.data());
    } else {
      batch->value_size = t_shape[1];
      batch->values.resize(static_cast<size_t>(t_shape.elements()));
      t.read(batch->values.data());
    }
    *out_batch = new troika_batch_s(std::move(batch));
  });
}
