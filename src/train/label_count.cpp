// Reading a batch's labels, and counting them.
#include "train/label_count.h"

#include <algorithm>

#include "core/sampler.h"

namespace troika {

int64_t LabelCount::of(const Dataset& dataset, const BatchOrigin& origin) {
  if (!dataset.has_labels()) return origin.size;
  const int64_t labels = origin.size * dataset.label_size();
  if (!ignored_) return labels;
  const Sampler sampler =
      origin.order.seed ? Sampler(dataset.size(), *origin.order.seed, origin.at.epoch) : Sampler(dataset.size());
  indices_.resize(std::max(indices_.size(), static_cast<size_t>(origin.size)));
  labels_.resize(std::max(labels_.size(), static_cast<size_t>(labels)));
  for (int64_t i = 0; i < origin.size; ++i) indices_[static_cast<size_t>(i)] = sampler.index_of(origin.first + i);
  dataset.read(indices_.data(), origin.size, nullptr, labels_.data(), nullptr);
  return labels - std::count(labels_.begin(), labels_.begin() + labels, *ignored_);
}

}  // namespace troika
