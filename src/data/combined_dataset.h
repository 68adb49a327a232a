// A dataset of samples of other datasets: some samples of one, or the samples of several.
#pragma once

#include <memory>
#include <vector>

#include "data/dataset.h"

namespace troika {

// The datasets that it reads are never combined themselves, so reading needs no recursion, however
// the host has nested subsets.
class CombinedDataset final : public Dataset {
 public:
  // The samples of `dataset` at `indices`; each is one of the dataset's.
  static std::shared_ptr<const Dataset> subset(const std::shared_ptr<const Dataset>& dataset,
                                               std::vector<int64_t> indices);
  // `count` samples from sample `first` on.
  static std::shared_ptr<const Dataset> range(const std::shared_ptr<const Dataset>& dataset, int64_t first,
                                              int64_t count);
  // One dataset after another, at least one. INVALID_ARGUMENT unless they have the same form.
  static std::shared_ptr<const Dataset> concat(const std::vector<std::shared_ptr<const Dataset>>& datasets);

  void read(const int64_t* indices, int64_t n, void* inputs, int32_t* labels, float* values) const override;
  float weight_of(int64_t index) const override;
  bool is_fixed() const override;
  std::optional<ByteSamples> byte_samples() const override;  // of a range of one dataset's

 private:
  // The datasets, one after another, are numbered through. Their samples are either
  // [first, first + size), or those at `places` first to first + size.
  struct Sources {
    std::vector<std::shared_ptr<const Dataset>> datasets;
    std::vector<int64_t> begins;  // the number of each dataset's first sample
    int64_t first = 0, size = 0;
    std::shared_ptr<const std::vector<int64_t>> places = nullptr;  // parts of a dataset share them
    bool is_range() const { return !places; }
    int64_t place_of(int64_t sample) const {
      return is_range() ? first + sample : (*places)[static_cast<size_t>(first + sample)];
    }
  };

  CombinedDataset(SampleForm form, Sources sources);
  static Sources sources_of(const std::shared_ptr<const Dataset>& dataset);
  static std::shared_ptr<const Dataset> create(const SampleForm& form, Sources sources);
  size_t source_at(int64_t place) const;

  const Sources sources_;
};

}  // namespace troika
