// Evaluates and predicts one batch of the caller's own, on all devices of a trainer.
#pragma once

#include "train/trainer.h"

namespace troika {

// Returns false if a stop was requested. Changes nothing.
bool evaluate_batch(Trainer& trainer, const Batch& batch, StepResult& result);

// Writes the network's output for the batch's samples, row-major.
void predict_batch(Trainer& trainer, const Batch& batch, float* output);

}  // namespace troika
