// A model on devices: what `Attachment` builds when a model is attached.
#pragma once

#include "models/model.h"
#include "train/sample_keeper.h"
#include "train/step_runner.h"
#include "train/trainer_options.h"

namespace troika {

struct Attachment {
  // Refuses everything that can be refused before a device is opened. If the model is to be
  // trained, parameters without a value get the default initialisation.
  Attachment(const Context& context, Model& model, const LocalDevices& local, const TrainerOptions& options,
             StepLayout::Purpose purpose);

  const StepLayout layout;
  const LocalRanks ranks;
  ShardedState state;
  StepRunner runner;
  SampleKeeper keeper;
};

}  // namespace troika
