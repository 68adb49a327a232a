// All that a run needs, apart from values, to go on as if it had never stopped.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "data/batch.h"
#include "ops/optimizer.h"
#include "train/schedule.h"

namespace troika {

// How far a run has come.
struct TrainingPosition {
  int64_t step = 0;
  BatchPosition batch;  // after the last batch
  bool has_batch = false;
  SampleOrder order;  // the loader's
};

struct TrainingState {
  TrainingPosition position;
  std::vector<SettingValues> settings;  // the trainer's own, then each group's own
  Plateau plateau;
  bool falls_in_warmup = false;           // of the schedule
  std::vector<int64_t> updates;           // of the parameters of each row of the settings
  std::array<float, 2> loss_scale{1, 0};  // scale, and good steps since it last changed
};

}  // namespace troika
