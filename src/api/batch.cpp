// Batches: those of the caller's own tensors, and what all batches have.
#include "api/dataset_checks.h"
#include "api/structs.h"
#include "api/tensor_handle.h"
#include "core/numbers.h"

using namespace troika;
using namespace troika::api;

namespace {

void read_labels(const Tensor& t, std::vector<int32_t>& labels, const char* function) {
  const DType dtype = t.type().dtype;
  if (dtype == DType::i32) return t.read(labels.data());
  const std::vector<std::byte> host = t.to_host();
  std::vector<int64_t> wide(labels.size());
  convert_numbers(dtype, host.data(), DType::i64, wide.data(), std::ssize(wide));
  for (size_t i = 0; i < wide.size(); ++i) {
    if (wide[i] < INT32_MIN || wide[i] > INT32_MAX)
      throw Error(Status::invalid_argument,
                  text(function, ": label ", i, " is ", wide[i], ", needs a number of 32 bits"));
    labels[i] = static_cast<int32_t>(wide[i]);
  }
}

void read_targets(troika_tensor targets, Batch& batch, const char* function) {
  const auto hold = object_of(targets, function, "targets");
  const Tensor& t = *hold->tensor;
  const Shape& shape = t.type().shape;
  const int64_t n = batch.size();
  const DType dtype = t.type().dtype;
  const bool are_labels =
      (dtype == DType::i32 || dtype == DType::i64 || dtype == DType::u8) && shape.rank() >= 1 && shape[0] == n;
  const bool are_values = t.type().dtype == DType::f32 && shape.rank() == 2 && shape[0] == n;
  if (!are_labels && !are_values)
    throw Error(Status::invalid_argument, text(function, ": targets are ", name_of(t.type().dtype), shape,
                                               ", need i32[", n, ", ...], i64 or u8, or f32[", n, ", k]"));
  if (are_labels) {
    batch.label_size = shape.elements(1, shape.rank());
    batch.labels.resize(static_cast<size_t>(shape.elements()));
    read_labels(t, batch.labels, function);
  } else {
    batch.value_size = shape[1];
    batch.values.resize(static_cast<size_t>(shape.elements()));
    t.read(batch.values.data());
  }
}

std::shared_ptr<Batch> read_batch(troika_tensor inputs, troika_tensor targets, const char* function) {
  const auto hold = object_of(inputs, function, "inputs");
  const Tensor& x = *hold->tensor;
  const Shape& x_shape = x.type().shape;
  const bool are_tokens = x.type().dtype == DType::i32;
  if ((x.type().dtype != DType::f32 && !are_tokens) || x_shape.rank() < 2)
    throw Error(Status::invalid_argument,
                text(function, ": inputs are ", name_of(x.type().dtype), x_shape, ", need f32[n, ...] or i32[n, ...]"));
  auto batch = std::make_shared<Batch>();
  batch->shape = x_shape;
  batch->dtype = x.type().dtype;
  const auto elements = static_cast<size_t>(x_shape.elements());
  if (are_tokens)
    batch->tokens.resize(elements), x.read(batch->tokens.data());
  else
    batch->inputs.resize(elements), x.read(batch->inputs.data());
  batch->label_size = 0;
  if (targets) read_targets(targets, *batch, function);
  return batch;
}

void read_weights(troika_tensor weights, Batch& batch, const char* function) {
  const auto hold = object_of(weights, function, "weights");
  const TensorType& type = hold->tensor->type();
  if (const TensorType need{DType::f32, {batch.size()}}; type != need)
    throw Error(Status::invalid_argument,
                text(function, ": weights are ", name_of(type.dtype), type.shape, ", need f32", need.shape));
  batch.weights.resize(static_cast<size_t>(batch.size()));
  hold->tensor->read(batch.weights.data());
  check_weights(batch.weights, function);
}

}  // namespace

troika_status troika_batch_create(troika_tensor inputs, troika_tensor targets, troika_batch* out_batch,
                                  troika_error* error) {
  constexpr const char* kFunction = "troika_batch_create";
  return guard(error, [&] {
    *required(out_batch, kFunction, "out_batch") = nullptr;
    *out_batch = new troika_batch_s(read_batch(inputs, targets, kFunction));
  });
}

troika_status troika_batch_create_weighted(troika_tensor inputs, troika_tensor targets, troika_tensor weights,
                                           troika_batch* out_batch, troika_error* error) {
  constexpr const char* kFunction = "troika_batch_create_weighted";
  return guard(error, [&] {
    *required(out_batch, kFunction, "out_batch") = nullptr;
    auto batch = read_batch(inputs, targets, kFunction);
    read_weights(weights, *batch, kFunction);
    *out_batch = new troika_batch_s(std::move(batch));
  });
}

troika_status troika_batch_copy(troika_batch batch, troika_batch* out_batch, troika_error* error) {
  constexpr const char* kFunction = "troika_batch_copy";
  return guard(error, [&] {
    *required(out_batch, kFunction, "out_batch") = nullptr;
    const auto hold = batch_of(batch, kFunction, "batch");
    auto copy = std::make_shared<Batch>(*hold);
    *out_batch = new troika_batch_s(std::move(copy));
  });
}

troika_status troika_batch_describe(troika_batch batch, troika_batch_info* out_info, troika_error* error) {
  constexpr const char* kFunction = "troika_batch_describe";
  return guard(error, [&] {
    const auto hold = batch_of(batch, kFunction, "batch");
    const Batch& described = *hold;
    troika_batch_info info = {};
    info.rank = described.shape.rank();
    info.n = described.size();
    write_dims(described.shape, info.dims);
    info.inputs = described.dtype == DType::f32 ? described.inputs.data() : nullptr;
    info.tokens = described.dtype == DType::i32 ? described.tokens.data() : nullptr;
    info.labels = described.label_size > 0 ? described.labels.data() : nullptr;
    info.values = described.value_size > 0 ? described.values.data() : nullptr;
    info.value_size = described.value_size;
    info.label_size = described.label_size;
    info.weights = described.weights.empty() ? nullptr : described.weights.data();
    write_result(out_info, info, kFunction, "out_info");
  });
}

void troika_batch_destroy(troika_batch batch) {
  if (batch && batch->tag == troika_batch_s::kKind && !batch->is_loaders) delete batch;
}
