// Datasets of files, of the caller's arrays and tokens, and synthetic ones.
#include <cmath>

#include "api/dataset_checks.h"
#include "api/structs.h"
#include "data/array_dataset.h"
#include "data/idx_dataset.h"
#include "data/image_directory.h"
#include "data/synthetic_dataset.h"
#include "data/token_dataset.h"

using namespace troika;
using namespace troika::api;

namespace {

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

}  // namespace

troika_status troika_dataset_open_idx(troika_context context, const char* images_path, const char* labels_path,
                                      const troika_dataset_options* options, troika_dataset* out_dataset,
                                      troika_error* error) {
  constexpr const char* kFunction = "troika_dataset_open_idx";
  return guard(error, [&] {
    *required(out_dataset, kFunction, "out_dataset") = nullptr;
    check_handle(context, kFunction, "context");
    required(images_path, kFunction, "images_path");
    const ImageTransform transform = read_transform(options, kFunction);
    *out_dataset = make_handle(context, open_idx(images_path, labels_path ? labels_path : "", transform), kFunction);
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
    *out_dataset = make_handle(context, open_image_directory(directory, split, transform), kFunction);
  });
}

troika_status troika_dataset_create_arrays(troika_context context, const float* inputs, const int64_t* dims,
                                           int32_t rank, int64_t n, const int32_t* labels, const float* values,
                                           int64_t value_size, troika_dataset* out_dataset, troika_error* error) {
  constexpr const char* kFunction = "troika_dataset_create_arrays";
  return guard(error, [&] {
    *required(out_dataset, kFunction, "out_dataset") = nullptr;
    check_handle(context, kFunction, "context");
    Shape shape = read_sample_shape(dims, rank, 1, kFunction);
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
    Shape shape = read_sample_shape(dims, rank, 1, kFunction);
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
    const std::optional<int32_t> ignored = read_ignored(ignore_index, kFunction);
    *out_dataset = make_handle(context,
                               std::make_shared<const TokenDataset>(
                                   read_tokens(tokens, dtype, count, kFunction), steps,
                                   std::vector<int32_t>(labels, labels + n * label_size), label_size, ignored),
                               kFunction);
  });
}
