// Training states: all that a run needs to go on as if it had never stopped.
#pragma once

#include <string>
#include <vector>

#include "state/safetensors.h"
#include "train/trainer.h"

namespace troika {

void save_checkpoint(Trainer& trainer, const std::string& path);

// A training state in host memory, which any thread may write while the trainer goes on.
class StateCopy {
 public:
  explicit StateCopy(Trainer& trainer);
  int64_t step() const { return step_; }
  void write(const std::string& path) const;

 private:
  int64_t step_;
  std::vector<std::vector<std::byte>> values_;  // by entry of the model's store
  HostSlots slots_;
  SafetensorsWriter writer_;  // of the two above
};

// Strict: a file that does not fit is refused, and nothing changes.
void load_checkpoint(Trainer& trainer, const std::string& path);

// Writes a weights file with the averages in place of the trained parameters. INVALID_ARGUMENT if
// the trainer has no averages.
void save_average(Trainer& trainer, const std::string& path);

}  // namespace troika
