// Counts the labels of a batch that count in its loss, if the batch is gathered on devices.
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

  // Returns the number of labels in the batch that are not ignored. The host reads the labels in
  // the dataset, whatever the devices hold: each process finds the count without communication.
  // The samples are not drawn by weights.
  int64_t of(const Dataset& dataset, const BatchOrigin& origin);

 private:
  const std::optional<int32_t> ignored_;
  std::vector<int64_t> indices_;
  std::vector<int32_t> labels_;
};

}  // namespace troika
