// Predicts a batch on all ranks of a world.
#pragma once

#include "train/trainer.h"

namespace troika {

enum class Rows { own, all };  // those of this process, or of all processes

// Writes the network's output for the rows to `view.output`. Plans are prepared. Collective.
void predict_rows(Trainer& trainer, const BatchView& view, Rows wants = Rows::own);

// Predicts samples of the caller's own, and returns the output's shape. Collective.
Shape predict_inputs(Trainer& trainer, const TensorType& type, const void* inputs, std::vector<float>& output);

}  // namespace troika
