// Training states: what a run needs to go on as if it had never stopped.
#pragma once

#include <string>

#include "train/trainer.h"

namespace troika {

void save_checkpoint(Trainer& trainer, const std::string& path);

// Strict; a refused file changes nothing.
void load_checkpoint(Trainer& trainer, const std::string& path);

}  // namespace troika
