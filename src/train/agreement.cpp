// The numbers that processes compare, and the values of the first.
#include "train/agreement.h"

namespace troika {

Standing standing_of(const Trainer& trainer, double weight) {
  if (!trainer.peers().exist()) return {};
  return {.step = trainer.stepper().step(),
          .learning_rate = trainer.learning_rate(-1),
          .settings = trainer.stepper().settings_checksum(),
          .has_new_values = !trainer.sync().is_uploaded(),
          .weight = weight};
}

void share_values(Trainer& trainer) {
  ParameterStore& store = *trainer.model()->parameters();
  std::lock_guard lock(store.mutex());
  trainer.refresh_store();
  trainer.peers().share_values(store);
}

}  // namespace troika
