// Predicts a batch on all ranks of a world.
#pragma once

#include "train/trainer.h"

namespace troika {

enum class Rows { own, all };  // those of this process, or of all processes

// Passes the output for the rows of each share, of a batch of n, from the process with the share's
// last layers to all. Collective.
void gather_output(const Trainer& trainer, int64_t n, std::vector<float>& output);

// Writes the network's output for the rows to `view.output`. Plans are prepared. Collective.
void predict_rows(Trainer& trainer, const BatchView& view, Rows wants = Rows::own);

// Predicts samples of the caller's own, and returns the output's shape. Collective.
Shape predict_inputs(Trainer& trainer, const TensorType& type, const void* inputs, std::vector<float>& output);

}  // namespace troika
