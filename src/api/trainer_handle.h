// The trainer's handle: a trainer, the context that it keeps alive, and its options.
#pragma once

#include <troika/trainer.h>

#include "api/group_handle.h"
#include "api/handle.h"
#include "api/kept_options.h"
#include "train/async_steps.h"
#include "train/state_saver.h"
#include "train/trainer.h"

namespace troika::api {

struct TrainerObject {
  TrainerObject(std::shared_ptr<Context> c, const troika_trainer_options* given)
      : context(std::move(c)), options(given) {}
  ~TrainerObject() { steps->end(); }
  std::shared_ptr<Context> context;
  std::shared_ptr<GroupObject> group;  // null: this process alone
  std::shared_ptr<Trainer> trainer;
  KeptOptions options;
  StateSaver saver;  // its thread needs only its own copy of a state
  const std::shared_ptr<AsyncSteps> steps = std::make_shared<AsyncSteps>();
};

}  // namespace troika::api

struct troika_trainer_s : troika::api::Handle<troika::api::TrainerObject, 0x54525452, troika::api::Threads::yes> {
  using Handle::Handle;
};
