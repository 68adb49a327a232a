// Keeps datasets on the devices of all active ranks, so that batches are gathered there.
#pragma once

#include <memory>

#include "data/dataset.h"
#include "train/local_ranks.h"

namespace troika {

class SampleKeeper {
 public:
  explicit SampleKeeper(const LocalRanks& ranks) : ranks_(ranks) {}

  // False if a device had no room for the dataset when the dataset was last needed.
  bool may_keep(const std::shared_ptr<const Dataset>& dataset) const { return not_kept_.lock() != dataset; }
  // Makes every active rank hold the dataset. Returns true if each does, or if its current plan
  // reads no samples.
  bool keep(const std::shared_ptr<const Dataset>& dataset, const ActiveRanks& active);

 private:
  bool have_room_for(const Dataset& dataset, const std::vector<int>& ranks) const;

  const LocalRanks& ranks_;
  std::weak_ptr<const Dataset> not_kept_;
};

}  // namespace troika
