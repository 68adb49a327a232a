// A batch of samples in host memory, and where a loader stands after it.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/shape.h"

namespace troika {

struct BatchPosition {
  int64_t epoch = 0;
  int64_t batch = 0;    // within the epoch
  int64_t batches = 0;  // in an epoch
  bool operator==(const BatchPosition&) const = default;
};

// Refilled in place by a loader, which allocates nothing once the largest batch has been seen.
struct Batch {
  Shape shape;                           // of the inputs, [n, ...]
  std::vector<float> inputs;             // row-major
  std::vector<int32_t> labels;           // [n], or empty where targets are values
  std::vector<float> values;             // [n, value_size], or empty where targets are labels
  int64_t value_size = 0;                // 0 where targets are labels
  BatchPosition at;                      // this batch
  BatchPosition next;                    // the batch after this one; after an epoch's last, batch 0 of the next epoch
  std::optional<uint64_t> shuffle_seed;  // none: the dataset's order
  bool has_position = false;  // `at`, `next` and `shuffle_seed` are a loader's; a caller's own batch has none

  int64_t size() const { return shape[0]; }
};

}  // namespace troika
