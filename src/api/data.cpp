// include/troika/data.h: datasets, loaders and batches.
#include <troika/data.h>

#include <cmath>

#include "api/context_handle.h"
#include "api/data_handles.h"
#include "api/guard.h"
#include "api/handle.h"
#include "api/structs.h"
#include "core/shape.h"
#include "data/array_dataset.h"
#include "data/idx_dataset.h"
#include "data/synthetic_dataset.h"
#include "data/token_dataset.h"

using namespace troika;
using namespace troika::api;

namespace {

template <typename... Parts>
[[noreturn]] void refuse(const char* function, const Parts&... parts) {
  throw Error(Status::invalid_argument, text(function, ": ", parts...));
}

// Returns one side of the resize; 0 if it is unset.
int64_t read_side(int64_t pixels, const char* function, const char* field) {
  if (pixels == TROIKA_UNSET) return 0;
  if (pixels < 1 || pixels > kMaxImageSide)
    refuse(function, "options.", field, " is ", pixels, ", need 1 to ", kMaxImageSide);
  return pixels;
}

ImageTransform read_transform(const troika_dataset_options* given, const char* function) {
  const auto options = read_options(given);
  if (options.reserved != 0) refuse(function, "options.reserved is ", options.reserved, ", need 0");
  ImageTransform transform;
  transform.resize_height = read_side(options.resize_height, function, "resize_height");
  transform.resize_width = read_side(options.resize_width, function, "resize_width");
  if ((transform.resize_height == 0) != (transform.resize_width == 0))
    refuse(function, "options.", transform.resize_height == 0 ? "resize_width" : "resize_height",
           " is set and options.", transform.resize_height == 0 ? "resize_height" : "resize_width",
           " is not; set both or none");
  if (!std::isfinite(options.mean)) refuse(function, "options.mean is ", options.mean, ", need a finite number");
  if (!std::isfinite(options.std) || options.std <= 0.0)
    refuse(function, "options.std is ", options.std, ", need a finite number above 0");
  transform.mean = options.mean;
  transform.std = options.std;
  return transform;
}

// Reads the shape of a sample. Its rank leaves room for the batch axis before it.
Shape read_sample_shape(const int64_t* dims, int32_t rank, const char* function) {
  if (rank < 1 || rank > TROIKA_MAX_RANK - 1)
    refuse(function, "rank is ", rank, ", need 1 to ", TROIKA_MAX_RANK - 1, " for a sample");
  required(dims, function, "dims");
  for (int32_t i = 0; i < rank; ++i)
    if (dims[i] < 1) refuse(function, "dims[", i, "] is ", dims[i], ", need at least 1");
  return Shape(std::vector<int64_t>(dims, dims + rank));
}

// Counts the elements of `n` samples of `shape`. INVALID_ARGUMENT if the count would overflow.
int64_t count_all(int64_t n, const Shape& shape, const char* function) {
  if (n < 0) refuse(function, "n is ", n, ", need at least 0");
  return checked_elements(shape.times(n), text(function, ": samples"));
}

bool read_flag(int32_t value, int32_t unset, const char* function, const char* field) {
  if (value == TROIKA_UNSET) value = unset;
  if (value != 0 && value != 1) refuse(function, "options.", field, " is ", value, ", need 0 or 1");
  return value == 1;
}

LoaderOptions read_loader_options(const troika_loader_options* given, const char* function) {
  const auto options = read_options(given);
  if (options.batch == TROIKA_UNSET) refuse(function, "options.batch is not set, need at least 1");
  if (options.batch < 1) refuse(function, "options.batch is ", options.batch, ", need at least 1");
  LoaderOptions read;
  read.batch = options.batch;
  read.shuffle = read_flag(options.shuffle, 0, function, "shuffle");
  read.drop_last = read_flag(options.drop_last, 0, function, "drop_last");
  read.prefetch =
      options.prefetch == TROIKA_UNSET ? StructDef<troika_loader_options>::kDefaults.prefetch : options.prefetch;
  if (read.prefetch < 0 || read.prefetch > kMaxPrefetch)
    refuse(function, "options.prefetch is ", read.prefetch, ", need 0 to ", kMaxPrefetch);
  read.seed = options.seed;
  return read;
}

troika_dataset make_handle(troika_context context, std::shared_ptr<const Dataset> dataset, const char* function) {
  const auto owner = object_of(context, function, "context");
  return new troika_dataset_s(std::make_shared<DatasetObject>(DatasetObject{owner.shared(), std::move(dataset)}));
}

// Copies `count` tokens. `tokens` may be NULL only if there are none.
Tokens read_tokens(const void* tokens, int32_t dtype, int64_t count, const char* function) {
  if (dtype != TROIKA_DTYPE_U8 && dtype != TROIKA_DTYPE_I32)
    refuse(function, "dtype is ", dtype, ", need TROIKA_DTYPE_U8 or TROIKA_DTYPE_I32");
  if (count > 0) required(tokens, function, "tokens");
  const auto copied = [&](const auto* first) -> Tokens { return std::vector(first, first + count); };
  if (dtype == TROIKA_DTYPE_U8) return copied(static_cast<const uint8_t*>(tokens));
  return copied(static_cast<const int32_t*>(tokens));
}

int64_t read_steps(int64_t steps, const char* function) {
  if (steps < 1) refuse(function, "steps is ", steps, ", need at least 1");
  return steps;
}

void write_dims(const Shape& shape, int64_t (&dims)[TROIKA_MAX_RANK]) {
  for (int axis = 0; axis < shape.rank(); ++axis) dims[axis] = shape[axis];
}

}  // namespace

troika_status troika_dataset_open_idx(troika_context context, const char* images_path, const char* labels_path,
                                      const troika_dataset_options* options, troika_dataset* out_dataset,
                                      troika_error* error) {
  constexpr const char* kFunction = "troika_dataset_open_idx";
  return guard(error, [&] {
    *required(out_dataset, kFunction, "out_dataset") = nullptr;
    check_handle(context, kFunction, "context");
    required(images_path, kFunction, "images_path");
    required(labels_path, kFunction, "labels_path");
    const ImageTransform transform = read_transform(options, kFunction);
    *out_dataset = make_handle(context, open_idx(images_path, labels_path, transform), kFunction);
  });
}

troika_status troika_dataset_open_directory(troika_context context, const char* directory, const char* split,
                                            const troika_dataset_options* options, troika_dataset* out_dataset,
                                            troika_error* error) {
  constexpr const char* kFunction = "troika_dataset_open_directory";
  return guard(error, [&] {
    *required(out_dataset, kFunction, "out_dataset") = nullptr;
    check_handle(context, kFunction, "context");
    required(directory, kFunction, "directory");
    const std::string_view wanted = required(split, kFunction, "split");
    if (wanted != "train" && wanted != "test") refuse(kFunction, "split is '", wanted, "', need 'train' or 'test'");
    const ImageTransform transform = read_transform(options, kFunction);
    *out_dataset = make_handle(context, open_idx_directory(directory, split, transform), kFunction);
  });
}

troika_status troika_dataset_create_arrays(troika_context context, const float* inputs, const int64_t* dims,
                                           int32_t rank, int64_t n, const int32_t* labels, const float* values,
                                           int64_t value_size, troika_dataset* out_dataset, troika_error* error) {
  constexpr const char* kFunction = "troika_dataset_create_arrays";
  return guard(error, [&] {
    *required(out_dataset, kFunction, "out_dataset") = nullptr;
    check_handle(context, kFunction, "context");
    Shape shape = read_sample_shape(dims, rank, kFunction);
    const int64_t elements = count_all(n, shape, kFunction);
    if (n > 0) required(inputs, kFunction, "inputs");
    if (!labels == !values)
      refuse(kFunction, "labels and values are ", labels ? "both set" : "both NULL", ", need one of them");
    if (values && value_size < 1) refuse(kFunction, "value_size is ", value_size, ", need at least 1 with values");

    std::vector<float> copied_inputs(inputs, inputs + elements);
    std::shared_ptr<const Dataset> dataset;
    if (labels) {
      for (int64_t i = 0; i < n; ++i)
        if (labels[i] < 0) refuse(kFunction, "labels[", i, "] is ", labels[i], ", need at least 0");
      dataset = std::make_shared<const ArrayDataset>(std::move(shape), std::move(copied_inputs),
                                                     std::vector<int32_t>(labels, labels + n));
    } else {
      const int64_t count = count_all(n, {value_size}, kFunction);
      dataset = std::make_shared<const ArrayDataset>(std::move(shape), std::move(copied_inputs),
                                                     std::vector<float>(values, values + count), value_size);
    }
    *out_dataset = make_handle(context, std::move(dataset), kFunction);
  });
}

troika_status troika_dataset_create_synthetic(troika_context context, const int64_t* dims, int32_t rank, int64_t n,
                                              int64_t classes, uint64_t seed, troika_dataset* out_dataset,
                                              troika_error* error) {
  constexpr const char* kFunction = "troika_dataset_create_synthetic";
  return guard(error, [&] {
    *required(out_dataset, kFunction, "out_dataset") = nullptr;
    check_handle(context, kFunction, "context");
    Shape shape = read_sample_shape(dims, rank, kFunction);
    count_all(n, shape, kFunction);
    if (classes < 1) refuse(kFunction, "classes is ", classes, ", need at least 1");
    *out_dataset =
        make_handle(context, std::make_shared<const SyntheticDataset>(std::move(shape), n, classes, seed), kFunction);
  });
}

troika_status troika_dataset_create_token_stream(troika_context context, const void* tokens, int32_t dtype,
                                                 int64_t count, int64_t steps, troika_dataset* out_dataset,
                                                 troika_error* error) {
  constexpr const char* kFunction = "troika_dataset_create_token_stream";
  return guard(error, [&] {
    *required(out_dataset, kFunction, "out_dataset") = nullptr;
    check_handle(context, kFunction, "context");
    if (count < 0) refuse(kFunction, "count is ", count, ", need at least 0");
    read_steps(steps, kFunction);
    *out_dataset = make_handle(
        context, std::make_shared<const TokenDataset>(read_tokens(tokens, dtype, count, kFunction), steps), kFunction);
  });
}

troika_status troika_dataset_create_tokens(troika_context context, const void* tokens, int32_t dtype, int64_t n,
                                           int64_t steps, const int32_t* labels, int64_t label_size,
                                           int64_t ignore_index, troika_dataset* out_dataset, troika_error* error) {
  constexpr const char* kFunction = "troika_dataset_create_tokens";
  return guard(error, [&] {
    *required(out_dataset, kFunction, "out_dataset") = nullptr;
    check_handle(context, kFunction, "context");
    const int64_t count = count_all(n, {read_steps(steps, kFunction)}, kFunction);
    if (label_size != 1 && label_size != steps) refuse(kFunction, "label_size is ", label_size, ", need 1 or ", steps);
    if (n > 0) required(labels, kFunction, "labels");
    std::optional<int32_t> ignored;
    if (ignore_index != TROIKA_UNSET) ignored = ignore_index;
    *out_dataset = make_handle(context,
                               std::make_shared<const TokenDataset>(
                                   read_tokens(tokens, dtype, count, kFunction), steps,
                                   std::vector<int32_t>(labels, labels + n * label_size), label_size, ignored),
                               kFunction);
  });
}

troika_status troika_dataset_describe(troika_dataset dataset, troika_dataset_info* out_info, troika_error* error) {
  constexpr const char* kFunction = "troika_dataset_describe";
  return guard(error, [&] {
    const auto object = object_of(dataset, kFunction, "dataset");
    const Dataset& described = *object->dataset;
    troika_dataset_info info = {};
    info.rank = described.sample_shape().rank();
    info.n = described.size();
    write_dims(described.sample_shape(), info.dims);
    info.classes = described.classes();
    info.label_size = described.label_size();
    info.words = described.form().words;
    info.dtype = static_cast<int32_t>(described.form().dtype);
    write_result(out_info, info, kFunction, "out_info");
  });
}

void troika_dataset_destroy(troika_dataset dataset) { destroy_handle(dataset); }

troika_status troika_loader_create(troika_dataset dataset, const troika_loader_options* options,
                                   troika_loader* out_loader, troika_error* error) {
  constexpr const char* kFunction = "troika_loader_create";
  return guard(error, [&] {
    *required(out_loader, kFunction, "out_loader") = nullptr;
    const auto source = object_of(dataset, kFunction, "dataset");
    const LoaderOptions read = read_loader_options(options, kFunction);
    *out_loader = new troika_loader_s(std::make_shared<LoaderObject>(source.shared(), read));
  });
}

troika_status troika_loader_next(troika_loader loader, troika_batch* out_batch, troika_error* error) {
  constexpr const char* kFunction = "troika_loader_next";
  return guard(error, [&]() -> troika_status {
    *required(out_batch, kFunction, "out_batch") = nullptr;
    const auto object = object_of(loader, kFunction, "loader");
    const Exclusive exclusive(object->in_use, kFunction, "loader");
    object->batch.object = nullptr;
    const Batch* const batch = object->loader.next();
    if (!batch) return TROIKA_END_OF_DATA;
    object->batch.object = std::shared_ptr<const Batch>(std::shared_ptr<void>(), batch);  // the loader owns it
    *out_batch = &object->batch;
    return TROIKA_OK;
  });
}

troika_status troika_loader_tell(troika_loader loader, troika_loader_position* out_position, troika_error* error) {
  constexpr const char* kFunction = "troika_loader_tell";
  return guard(error, [&] {
    const auto object = object_of(loader, kFunction, "loader");
    result_size(out_position, kFunction, "out_position");
    const Exclusive exclusive(object->in_use, kFunction, "loader");
    write_result(out_position, position_of(object->loader.tell()), kFunction, "out_position");
  });
}

troika_status troika_loader_seek(troika_loader loader, const troika_loader_position* position, troika_error* error) {
  constexpr const char* kFunction = "troika_loader_seek";
  return guard(error, [&] {
    const auto object = object_of(loader, kFunction, "loader");
    const auto p = read_options(required(position, kFunction, "position"));
    if (p.reserved != 0) refuse(kFunction, "position->reserved is ", p.reserved, ", need 0");
    const Exclusive exclusive(object->in_use, kFunction, "loader");
    const int64_t batches = object->loader.batches();
    if (p.epoch < 0 || p.epoch > kMaxEpoch)
      refuse(kFunction, "position->epoch is ", p.epoch, ", need 0 to ", kMaxEpoch);
    if (p.batch < 0 || p.batch > batches)
      refuse(kFunction, "position->batch is ", p.batch, ", need 0 to ", batches, ", the batches of an epoch");
    if (p.batches != 0 && p.batches != batches)
      refuse(kFunction, "position->batches is ", p.batches, ", this loader has ", batches,
             " batches an epoch; the position is another loader's");
    object->batch.object = nullptr;
    object->loader.seek({p.epoch, p.batch, batches});
  });
}

void troika_loader_destroy(troika_loader loader) { destroy_handle(loader); }

troika_status troika_batch_describe(troika_batch batch, troika_batch_info* out_info, troika_error* error) {
  constexpr const char* kFunction = "troika_batch_describe";
  return guard(error, [&] {
    const auto hold = batch_of(batch, kFunction, "batch");
    const Batch& described = *hold;
    const bool has_values = described.value_size > 0;
    troika_batch_info info = {};
    info.rank = described.shape.rank();
    info.n = described.size();
    write_dims(described.shape, info.dims);
    info.inputs = described.dtype == DType::f32 ? described.inputs.data() : nullptr;
    info.tokens = described.dtype == DType::i32 ? described.tokens.data() : nullptr;
    info.labels = has_values ? nullptr : described.labels.data();
    info.values = has_values ? described.values.data() : nullptr;
    info.value_size = described.value_size;
    info.label_size = has_values ? 0 : described.label_size;
    write_result(out_info, info, kFunction, "out_info");
  });
}

void troika_batch_destroy(troika_batch batch) {
  if (batch && batch->tag == troika_batch_s::kKind && !batch->is_loaders) delete batch;
}
