// Whether a batch fits a model and its loss.
#pragma once

#include "data/dataset.h"
#include "models/model.h"
#include "passes/passes.h"
#include "train/batch_view.h"

namespace troika {

class BatchChecks {
 public:
  BatchChecks(const Model& model, Loss loss);  // the model is complete, and outlives the checks

  const Shape& input_shape() const { return input_shape_; }  // of a sample

  // INVALID_ARGUMENT unless the inputs, [batch, ...], are those of the model, and there is at least one sample.
  void check_inputs(const Shape& inputs) const;
  // INVALID_ARGUMENT unless every sample has the targets that the loss needs.
  void check_targets(const BatchView& batch) const;
  // Whether the dataset's samples have such targets; what does not fit is left to check_targets.
  bool fits_targets(const Dataset& dataset) const;

 private:
  const Model& model_;
  const Loss loss_;
  const Shape input_shape_;
  const int64_t outputs_;  // of a sample
};

}  // namespace troika
