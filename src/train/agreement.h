// Agreement of all processes on a batch, and on what the step depends on.
#pragma once

#include "train/trainer.h"

namespace troika {

// Returns the numbers that all processes compare before a batch. `weight`: of the loss of a forward
// pass.
Standing standing_of(const Trainer& trainer, double weight = 1);

// All processes take the values of the first. Collective.
void share_values(Trainer& trainer);

// Agrees on a batch, as Peers::take, and on the values of the model.
template <typename TakeStop, typename Check>
bool agree_on_batch(Trainer& trainer, const char* what, const BatchOrigin* origin, BatchView& view,
                    TakeStop takes_stop, Check check, double weight = 1) {
  const Standing own = standing_of(trainer, weight);
  if (!trainer.peers().take({what, origin, own}, view, takes_stop, check)) return false;
  if (own.has_new_values) share_values(trainer);  // in all processes
  return true;
}

}  // namespace troika
