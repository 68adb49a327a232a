// How many labels of a batch count in its loss, if the batch is gathered on devices.
#pragma once

#include <optional>
#include <vector>

#include "data/batch.h"
#include "data/dataset.h"

namespace troika {

// Keeps memory for its largest batch, so that later ones allocate nothing.
class LabelCount {
 public:
  explicit LabelCount(std::optional<int32_t> ignored) : ignored_(ignored) {}

  // Labels of the batch that are not ignored. The host reads them in the dataset, whatever the
  // devices hold: each process finds the count of the whole batch with no communication.
  int64_t of(const Dataset& dataset, const BatchOrigin& origin);

 private:
  const std::optional<int32_t> ignored_;
  std::vector<int64_t> indices_;
  std::vector<int32_t> labels_;
};

}  // namespace troika
