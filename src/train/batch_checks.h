// Whether a batch fits a model and its loss.
#pragma once

#include "data/dataset.h"
#include "models/model.h"
#include "plan/step_spec.h"
#include "train/batch_view.h"
#include "train/label_weights.h"

namespace troika {

class BatchChecks {
 public:
  // The model is complete, and outlives the checks.
  explicit BatchChecks(const Model& model, const StepSpec& step = {});

  // Returns the batch for a step, with the number of labels that count, and their weights, which
  // hold until the next call. INVALID_ARGUMENT unless the inputs are those of the model and every
  // sample has the targets that the loss needs.
  BatchView check(const Batch& batch);
  // The same without targets, for a prediction or a loss that the caller computes: the result has
  // none.
  BatchView check_samples(const Batch& batch) const;
  void require_real_inputs() const;  // INVALID_ARGUMENT if they are tokens, which have no gradient
  // INVALID_ARGUMENT unless inputs of that type and shape [batch, ...] are those of the model, and
  // there is at least one sample. If tokens are passed, each must be a word that the model knows.
  void check_inputs(DType dtype, const Shape& inputs, const void* data = nullptr) const;
  // Whether the dataset's samples are of the model's type.
  bool fits_inputs(const Dataset& dataset) const;
  // Whether they are, and every token is a word that the model knows.
  bool fits_words(const Dataset& dataset) const;
  // Whether the dataset's samples need none of the checks above. If they need some, the checks
  // report it.
  bool fits(const Dataset& dataset) const;

 private:
  void check_tokens(const int32_t* tokens, int64_t n) const;
  void check_ignored(std::optional<int32_t> ignored) const;
  void check_weights(const Batch& batch) const;
  int64_t check_targets(const BatchView& batch) const;

  const Model& model_;
  const Loss loss_;
  const LabelSettings labels_;
  const bool has_weights_, weighs_samples_;
  const Shape input_shape_;  // of a sample
  const DType input_dtype_;
  const int64_t words_;              // that every embedding of the input has; 0 without embeddings
  const int64_t outputs_, classes_;  // of a sample
  const int64_t labels_per_sample_;
  LabelWeights weights_;
};

}  // namespace troika
