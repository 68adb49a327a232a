// The datasets that one device keeps. The dataset that was not used for longest is evicted first.
#pragma once

#include <memory>
#include <vector>

#include "train/sample_store.h"

namespace troika {

// Used from the device's worker thread, or while no job runs there.
class KeptSamples {
 public:
  explicit KeptSamples(Device& device) : device_(device) {}

  // Makes the store with those parts of the dataset current. False: there is none.
  bool use(const Dataset& dataset, SampleStore::Parts parts);
  void use_none() { current_ = nullptr; }
  SampleStore* current() const { return current_; }

  // Copies the dataset to the device and makes it current. OUT_OF_MEMORY.
  void add(const std::shared_ptr<const Dataset>& dataset, SampleStore::Parts parts);
  // Makes room for one more store. Returns true if a store was evicted.
  bool make_room();
  // Drops the stores of that dataset; null: of all datasets. Returns true if there was one.
  bool drop(const Dataset* dataset);
  bool drop_abandoned();

  bool empty() const { return stores_.empty(); }
  size_t bytes() const;

 private:
  struct Kept {
    std::unique_ptr<SampleStore> store;
    uint64_t last_use;
  };
  template <typename Which>
  bool drop_if(Which which);

  Device& device_;
  std::vector<Kept> stores_;
  SampleStore* current_ = nullptr;
  uint64_t uses_ = 0;
};

}  // namespace troika
