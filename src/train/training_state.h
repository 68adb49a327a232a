// What a run needs besides values to go on as if it had never stopped.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "data/batch.h"

namespace troika {

// How far a run has come.
struct TrainingPosition {
  int64_t step = 0;
  BatchPosition batch;  // after the last batch
  bool has_batch = false;
  std::optional<uint64_t> shuffle_seed;  // the loader's; none: the dataset's order
};

struct TrainingState {
  TrainingPosition position;
  std::vector<double> learning_rates;     // base rates: the trainer's, then each group's (below 0: none of its own)
  std::array<float, 2> loss_scale{1, 0};  // scale, and good steps since it last changed
};

}  // namespace troika
