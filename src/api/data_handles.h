// The handles of datasets, loaders and batches, and their objects.
#pragma once

#include <troika/data.h>

#include <deque>
#include <memory>

#include "api/handle.h"
#include "data/batch.h"
#include "data/dataset.h"
#include "data/loader.h"

namespace troika {
class Context;
}

namespace troika::api {
struct DatasetObject;
struct LoaderObject;
}  // namespace troika::api

struct troika_dataset_s : troika::api::Handle<troika::api::DatasetObject, 0x54524453> {
  using Handle::Handle;
};

struct troika_loader_s : troika::api::Handle<troika::api::LoaderObject, 0x54524C44, troika::api::Threads::yes> {
  using Handle::Handle;
};

// A loader's batch has a NULL `object` after the loader has moved past it; `batch_of` checks this.
struct troika_batch_s : troika::api::Handle<const troika::Batch, 0x54524254> {
  using Handle::Handle;
  bool is_loaders = false;  // it is a member of its loader, so destroying it does nothing
};

namespace troika::api {

struct DatasetObject {
  std::shared_ptr<Context> context;
  std::shared_ptr<const Dataset> dataset;
};

struct LoaderObject {
  LoaderObject(std::shared_ptr<DatasetObject> d, const LoaderOptions& options)
      : dataset(std::move(d)), loader(dataset->dataset, options) {
    for (size_t i = 0; i < kHandles; ++i) batches.emplace_back(nullptr).is_loaders = true;
  }
  // The loader moves past its batch.
  void forget_batch() { batches[last].object = nullptr; }
  // Returns another handle for each batch, so that earlier ones stay refused for long.
  troika_batch_s& lend(const Batch& batch) {
    last = (last + 1) % kHandles;
    batches[last].object = std::shared_ptr<const Batch>(std::shared_ptr<void>(), &batch);  // the loader owns it
    return batches[last];
  }
  static constexpr size_t kHandles = 64;
  std::shared_ptr<DatasetObject> dataset;
  Loader loader;
  Use in_use;  // for Exclusive
  std::deque<troika_batch_s> batches;
  size_t last = 0;  // of `batches`
};

inline Hold<const Batch> batch_of(troika_batch_s* handle, const char* function, const char* argument) {
  auto batch = object_of(handle, function, argument);
  if (!batch.shared())
    throw Error(Status::invalid_argument,
                text(function, ": argument '", argument, "' is a batch that its loader moved past; ask for the next"));
  return batch;
}

inline troika_loader_position position_of(const BatchPosition& position) {
  return {sizeof(troika_loader_position), 0, position.epoch, position.batch, position.batches};
}

}  // namespace troika::api
