// The trainer's handle: a trainer, and the context that it keeps alive.
#pragma once

#include <troika/trainer.h>

#include "api/handle.h"
#include "train/trainer.h"

namespace troika::api {

struct TrainerObject {
  std::shared_ptr<Context> context;
  std::shared_ptr<Trainer> trainer;
};

}  // namespace troika::api

struct troika_trainer_s : troika::api::Handle<troika::api::TrainerObject, 0x54525452, troika::api::Threads::yes> {
  using Handle::Handle;
};
