// Training states: all that a run needs to go on as if it had never stopped.
#pragma once

#include <string>

#include "train/trainer.h"

namespace troika {

void save_checkpoint(Trainer& trainer, const std::string& path);

// Strict: a file that does not fit is refused, and nothing changes.
void load_checkpoint(Trainer& trainer, const std::string& path);

// Writes a weights file with the averages in place of the trained parameters. INVALID_ARGUMENT if
// the trainer has no averages.
void save_average(Trainer& trainer, const std::string& path);

}  // namespace troika
