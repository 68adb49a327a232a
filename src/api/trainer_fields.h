// Options of a trainer as the C interface has them, checked and read: of a trainer, and of a plan for one.
#pragma once

#include <troika/trainer.h>

#include "train/trainer_options.h"

namespace troika::api {

// `where` is how messages name the struct: "troika_model_attach: options.". NULL: defaults. A seed of 0 is `default_seed`.
TrainerOptions read_trainer_options(const troika_trainer_options* given, const std::string& where,
                                    uint64_t default_seed);

}  // namespace troika::api
