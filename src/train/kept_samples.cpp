// Finding, adding and dropping stores.
#include "train/kept_samples.h"

#include <algorithm>

namespace troika {
namespace {

constexpr size_t kMostStores = 4;

}  // namespace

bool KeptSamples::use(const Dataset& dataset, SampleStore::Parts parts) {
  current_ = nullptr;
  for (Kept& kept : stores_) {
    if (!kept.store->is_of(dataset) || kept.store->parts() != parts) continue;
    kept.last_use = ++uses_;
    current_ = kept.store.get();
    return true;
  }
  return false;
}

void KeptSamples::add(const std::shared_ptr<const Dataset>& dataset, SampleStore::Parts parts) {
  stores_.push_back({std::make_unique<SampleStore>(device_, dataset, parts), ++uses_});
  current_ = stores_.back().store.get();
}

template <typename Which>
bool KeptSamples::drop_if(Which which) {
  if (std::none_of(stores_.begin(), stores_.end(), [&](const Kept& kept) { return which(*kept.store); })) return false;
  current_ = nullptr;
  std::erase_if(stores_, [&](const Kept& kept) { return which(*kept.store); });
  return true;
}

bool KeptSamples::make_room() {
  stores_.reserve(kMostStores);
  if (stores_.size() < kMostStores) return false;
  const SampleStore* const oldest = std::min_element(stores_.begin(), stores_.end(), [](const Kept& a, const Kept& b) {
                                      return a.last_use < b.last_use;
                                    })->store.get();
  return drop_if([&](const SampleStore& store) { return &store == oldest; });
}

bool KeptSamples::drop(const Dataset* dataset) {
  return drop_if([&](const SampleStore& store) { return !dataset || store.is_of(*dataset); });
}

bool KeptSamples::drop_abandoned() {
  return drop_if([](const SampleStore& store) { return store.is_abandoned(); });
}

size_t KeptSamples::bytes() const {
  size_t bytes = 0;
  for (const Kept& kept : stores_) bytes += kept.store->bytes();
  return bytes;
}

}  // namespace troika
