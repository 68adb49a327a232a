// Datasets of samples of other datasets: subsets, parts, concatenations and weights.
#include "api/dataset_checks.h"
#include "core/sampler.h"
#include "data/combined_dataset.h"
#include "data/weighted_dataset.h"

using namespace troika;
using namespace troika::api;

namespace {

constexpr int64_t kSplit = -1;  // instead of an epoch, so that no epoch of a loader has the order

// The indices of the next `size` samples in a shuffled order.
std::vector<int64_t> draw(const Sampler& sampler, int64_t first, int64_t size) {
  std::vector<int64_t> indices(static_cast<size_t>(size));
  for (int64_t i = 0; i < size; ++i) indices[static_cast<size_t>(i)] = sampler.index_of(first + i);
  return indices;
}

}  // namespace

troika_status troika_dataset_subset(troika_dataset dataset, const int64_t* indices, int64_t count,
                                    troika_dataset* out_dataset, troika_error* error) {
  constexpr const char* kFunction = "troika_dataset_subset";
  return guard(error, [&] {
    *required(out_dataset, kFunction, "out_dataset") = nullptr;
    const auto object = object_of(dataset, kFunction, "dataset");
    if (count < 0) refuse(kFunction, "count is ", count, ", need at least 0");
    if (count > 0) required(indices, kFunction, "indices");
    auto subset = CombinedDataset::subset(object->dataset, std::vector<int64_t>(indices, indices + count));
    *out_dataset = make_handle(object->context, std::move(subset)).release();
  });
}

troika_status troika_dataset_split(troika_dataset dataset, const int64_t* sizes, int32_t parts, int32_t shuffle,
                                   uint64_t seed, troika_dataset* out_datasets, troika_error* error) {
  constexpr const char* kFunction = "troika_dataset_split";
  return guard(error, [&] {
    required(out_datasets, kFunction, "out_datasets");
    for (int32_t i = 0; i < parts; ++i) out_datasets[i] = nullptr;
    const auto object = object_of(dataset, kFunction, "dataset");
    const std::shared_ptr<const Dataset>& whole = object->dataset;
    if (parts < 1) refuse(kFunction, "parts is ", parts, ", need at least 1");
    required(sizes, kFunction, "sizes");
    if (shuffle != 0 && shuffle != 1) refuse(kFunction, "shuffle is ", shuffle, ", need 0 or 1");
    if (whole->is_stream()) refuse(kFunction, "the dataset is a stream, which has no number of samples to split");
    std::vector<std::unique_ptr<troika_dataset_s>> handles;
    const Sampler sampler(whole->size(), seed, kSplit);
    int64_t first = 0;
    for (int32_t i = 0; i < parts; ++i) {
      const int64_t left = whole->size() - first;
      if (sizes[i] < 0 || sizes[i] > left)
        refuse(kFunction, "sizes[", i, "] is ", sizes[i], ", need 0 to ", left, ", the samples that are left of ",
               whole->size());
      auto part = shuffle == 1 ? CombinedDataset::subset(whole, draw(sampler, first, sizes[i]))
                               : CombinedDataset::range(whole, first, sizes[i]);
      handles.push_back(make_handle(object->context, std::move(part)));
      first += sizes[i];
    }
    for (size_t i = 0; i < handles.size(); ++i) out_datasets[i] = handles[i].release();
  });
}

troika_status troika_dataset_concat(const troika_dataset* datasets, int32_t dataset_count, troika_dataset* out_dataset,
                                    troika_error* error) {
  constexpr const char* kFunction = "troika_dataset_concat";
  return guard(error, [&] {
    *required(out_dataset, kFunction, "out_dataset") = nullptr;
    if (dataset_count < 1) refuse(kFunction, "dataset_count is ", dataset_count, ", need at least 1");
    required(datasets, kFunction, "datasets");
    std::shared_ptr<Context> context;
    std::vector<std::shared_ptr<const Dataset>> parts;
    for (int32_t i = 0; i < dataset_count; ++i) {
      const std::string name = text("datasets[", i, "]");
      const auto object = object_of(datasets[i], kFunction, name.c_str());
      if (!context) context = object->context;
      parts.push_back(object->dataset);
    }
    *out_dataset = make_handle(std::move(context), CombinedDataset::concat(parts)).release();
  });
}

troika_status troika_dataset_weigh(troika_dataset dataset, const float* weights, int64_t count,
                                   troika_dataset* out_dataset, troika_error* error) {
  constexpr const char* kFunction = "troika_dataset_weigh";
  return guard(error, [&] {
    *required(out_dataset, kFunction, "out_dataset") = nullptr;
    const auto object = object_of(dataset, kFunction, "dataset");
    if (object->dataset->is_stream()) refuse(kFunction, "the dataset is a stream, which has no number of samples");
    if (count != object->dataset->size())
      refuse(kFunction, "count is ", count, ", need one weight for each of ", object->dataset->size(), " samples");
    if (count > 0) required(weights, kFunction, "weights");
    std::vector<float> kept(weights, weights + count);
    check_weights(kept, kFunction);
    auto weighted = std::make_shared<const WeightedDataset>(object->dataset, std::move(kept));
    *out_dataset = make_handle(object->context, std::move(weighted)).release();
  });
}
