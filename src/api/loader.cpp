// Loaders.
#include <algorithm>

#include "api/dataset_checks.h"
#include "api/group_handle.h"
#include "api/structs.h"

using namespace troika;
using namespace troika::api;

namespace {

bool read_flag(int32_t value, int32_t unset, const char* function, const char* field) {
  if (value == TROIKA_UNSET) value = unset;
  if (value != 0 && value != 1) refuse(function, "options.", field, " is ", value, ", need 0 or 1");
  return value == 1;
}

// Checks what concerns the order of samples, and copies the weights.
void read_order(const troika_loader_options& options, const Dataset& dataset, const char* function,
                LoaderOptions& read) {
  if (options.shuffle == 1 && dataset.is_stream())
    refuse(function, "options.shuffle is 1, the dataset is a stream, which has only its own order");
  if (options.epoch_samples < 0 || (options.epoch_samples > 0 && !options.weights))
    refuse(function, "options.epoch_samples is ", options.epoch_samples, ", need ",
           options.weights ? "at least 0" : "0 without options.weights");
  if (!options.weights) return;
  if (options.shuffle == 1) refuse(function, "options.weights is set and options.shuffle is 1, need one of them");
  if (dataset.size() < 1)
    refuse(function, "options.weights is set, the dataset ",
           dataset.is_stream() ? "is a stream, which has only its own order" : "has no samples");
  read.weights.assign(options.weights, options.weights + dataset.size());
  read.epoch_samples = options.epoch_samples;
}

// Checks what is done to samples at random.
void read_augmentation(const troika_loader_options& options, const SampleForm& form, const char* function,
                       LoaderOptions& read) {
  read.flip = read_flag(options.flip, 0, function, "flip");
  read.crop = options.crop == TROIKA_UNSET ? 0 : options.crop;
  if (!read.flip && read.crop == 0) return;
  const Shape& shape = form.shape;
  if (form.dtype != DType::f32 || shape.rank() != 3)
    refuse(function, "options.", read.flip ? "flip" : "crop", " is set, the samples are ", name_of(form.dtype), " ",
           shape, ", need f32 [c, h, w]");
  const int64_t most = std::min(shape[1], shape[2]) - 1;
  if (read.crop < 0 || read.crop > most)
    refuse(function, "options.crop is ", read.crop, ", need 0 to ", most, ", below the sides of samples ", shape);
}

LoaderOptions read_loader_options(const troika_loader_options* given, const Dataset& dataset, const char* function) {
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
  read_order(options, dataset, function, read);
  read_augmentation(options, dataset.form(), function, read);
  if (options.group) {
    const auto group = object_of(options.group, function, "options.group");
    read.is_of_group = true;
    read.division = {{group->group.size()}, group->group.rank(), 1};
  }
  return read;
}

}  // namespace

troika_status troika_loader_create(troika_dataset dataset, const troika_loader_options* options,
                                   troika_loader* out_loader, troika_error* error) {
  constexpr const char* kFunction = "troika_loader_create";
  return guard(error, [&] {
    *required(out_loader, kFunction, "out_loader") = nullptr;
    const auto source = object_of(dataset, kFunction, "dataset");
    const LoaderOptions read = read_loader_options(options, *source->dataset, kFunction);
    *out_loader = new troika_loader_s(std::make_shared<LoaderObject>(source.shared(), read));
  });
}

troika_status troika_loader_next(troika_loader loader, troika_batch* out_batch, troika_error* error) {
  constexpr const char* kFunction = "troika_loader_next";
  return guard(error, [&]() -> troika_status {
    *required(out_batch, kFunction, "out_batch") = nullptr;
    const auto object = object_of(loader, kFunction, "loader");
    const Exclusive exclusive(object->in_use, kFunction, "loader");
    object->forget_batch();
    const Batch* const batch = object->loader.next();  // Stopped, if the dataset's callback stops the call
    if (!batch) return TROIKA_END_OF_DATA;
    if (object.is_last()) return TROIKA_STOPPED;  // the callback has destroyed the loader, and the batch ends with it
    *out_batch = &object->lend(*batch);
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
    const int64_t batches = object->loader.batches(), most = object->loader.most_batches();
    const bool is_stream = object->loader.dataset()->is_stream();
    if (p.epoch < 0 || p.epoch > kMaxEpoch)
      refuse(kFunction, "position->epoch is ", p.epoch, ", need 0 to ", kMaxEpoch);
    if (p.batch < 0 || p.batch > most)
      refuse(kFunction, "position->batch is ", p.batch, ", need 0 to ", most,
             is_stream ? "" : ", the batches of an epoch");
    if (p.batches != 0 && p.batches != batches && !is_stream)
      refuse(kFunction, "position->batches is ", p.batches, ", this loader has ", batches,
             " batches an epoch; the position is another loader's");
    object->forget_batch();
    object->loader.seek({p.epoch, p.batch, is_stream ? p.batches : batches});
  });
}

void troika_loader_destroy(troika_loader loader) { destroy_handle(loader); }
