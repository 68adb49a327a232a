// Training states: what a run needs to go on as if it had never stopped.
#pragma once

#include <string>

#include "train/trainer.h"

namespace troika {

void save_checkpoint(Trainer& trainer, const std::string& path);

// Strict; a refused file changes nothing.
void load_checkpoint(Trainer& trainer, const std::string& path);

// A weights file with the averages in place of the parameters that are trained. INVALID_ARGUMENT without averages.
void save_average(Trainer& trainer, const std::string& path);

}  // namespace troika
