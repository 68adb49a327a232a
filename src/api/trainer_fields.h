// Checks and reads the C options of a trainer, for attaching and for planning.
#pragma once

#include <troika/trainer.h>

#include "models/parameter_store.h"
#include "train/trainer_options.h"

namespace troika::api {

// `given` may be NULL: defaults. `where` is the name of the struct in messages:
// "troika_model_attach: options.". A seed of 0 is replaced by `default_seed`.
TrainerOptions read_trainer_options(const troika_trainer_options* given, const std::string& where,
                                    uint64_t default_seed);

// Lets groups match parameters by the names of other layers that share them.
void add_shared_names(StepSpec& step, const ParameterStore& store);

}  // namespace troika::api
