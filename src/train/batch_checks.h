// Whether a batch fits a model and its loss.
#pragma once

#include "data/dataset.h"
#include "models/model.h"
#include "passes/passes.h"
#include "train/batch_view.h"

namespace troika {

// INVALID_ARGUMENT unless the inputs, [batch, ...], are those of the model, and there is at least one sample.
void check_inputs(const Shape& inputs, const Model& model);

// INVALID_ARGUMENT unless every sample has the targets that the loss needs.
void check_targets(const BatchView& batch, const Model& model, Loss loss);

// Whether the dataset's samples have such targets; what does not fit is left to check_targets.
bool fits_targets(const Dataset& dataset, const Model& model, Loss loss);

}  // namespace troika
