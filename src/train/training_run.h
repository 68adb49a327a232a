// The run of a trainer: built from its options, a model and devices. Freezing a group builds
// another run.
#pragma once

#include <memory>
#include <vector>

#include "train/attachment.h"
#include "train/pieces.h"
#include "train/state_sync.h"
#include "train/stepper.h"

namespace troika {

struct TrainingRun {
  TrainingRun(const Context& context, Model& model, const LocalDevices& local, const TrainerOptions& options);

  bool is_frozen(int group) const;  // INVALID_ARGUMENT if there is no such group

  // Returns a run that goes on from this one, with the group frozen or thawed. Parameters that both
  // runs train keep their slots. The model's store has the newest values.
  std::unique_ptr<TrainingRun> with_frozen(const Context& context, Model& model, const LocalDevices& local, int group,
                                           bool is_frozen);

  const TrainerOptions options;
  Attachment attached;
  StateSync sync;
  Stepper stepper;
  Pieces pieces;
};

}  // namespace troika
