// Predicts a batch on all ranks of a world.
#pragma once

#include "train/trainer.h"

namespace troika {

enum class Rows { own, all };  // those of this process, or of all processes

// The output for this process's rows of a batch, of which another process may compute the last
// layers: then there is room for the whole batch until the rows are gathered. Collective.
void make_room(const Trainer& trainer, BatchView& view, std::vector<float>& output);
void gather_own_rows(const Trainer& trainer, const BatchView& view, std::vector<float>& output);

// Writes the network's output for the rows to `view.output`. Plans are prepared. Collective.
void predict_rows(Trainer& trainer, const BatchView& view, Rows wants = Rows::own);

// Predicts samples of the caller's own. Returns the output's shape. `output` receives the output
// for `type.shape[0]` samples, row-major. Collective.
Shape predict_inputs(Trainer& trainer, const TensorType& type, const void* inputs, std::vector<float>& output);

}  // namespace troika
