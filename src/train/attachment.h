// A model on devices: what attaching makes.
#pragma once

#include "models/model.h"
#include "train/sample_keeper.h"
#include "train/step_runner.h"
#include "train/trainer_options.h"

namespace troika {

struct Attachment {
  // Everything that can be refused is refused before a device is opened. Parameters of a model that trains and that have no
  // value take the default initialisation.
  Attachment(const Context& context, Model& model, const std::vector<DeviceId>& devices, const TrainerOptions& options,
             StepLayout::Purpose purpose);

  const StepLayout layout;
  const LocalRanks ranks;
  ShardedState state;
  StepRunner runner;
  SampleKeeper keeper;
};

}  // namespace troika
