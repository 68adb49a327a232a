// Shapes, kinds of targets, and labels.
#include "train/batch_checks.h"

#include <algorithm>

#include "core/text.h"

namespace troika {

BatchChecks::BatchChecks(const Model& model, Loss loss)
    : model_(model), loss_(loss), input_shape_(model.input_shape()), outputs_(model.output_shape().elements()) {}

void BatchChecks::check_inputs(const Shape& inputs) const {
  const Shape& sample = input_shape_;
  if (inputs.rank() != sample.rank() + 1 ||
      !std::equal(sample.dims().begin(), sample.dims().end(), inputs.dims().begin() + 1))
    throw Error(Status::invalid_argument, text("batch: inputs have shape ", inputs, ", model '", model_.name(),
                                               "' needs [batch, ", join(sample.dims(), ", "), "]"));
  if (inputs[0] < 1) throw Error(Status::invalid_argument, "batch: has no samples, needs at least 1");
}

void BatchChecks::check_targets(const BatchView& batch) const {
  if (loss_ == Loss::mean_squared_error) {
    if (!batch.values || batch.value_size != outputs_)
      throw Error(Status::invalid_argument,
                  text("batch: targets are ", batch.values ? text(batch.value_size, " values a sample") : "labels",
                       ", mean squared error on model '", model_.name(), "' needs ", outputs_, " values a sample"));
    return;
  }
  if (!batch.labels) throw Error(Status::invalid_argument, "batch: targets are values, cross-entropy needs labels");
  for (int64_t i = 0; i < batch.n; ++i)
    if (batch.labels[i] < 0 || batch.labels[i] >= outputs_)
      throw Error(Status::invalid_argument, text("batch: label of sample ", i, " is ", batch.labels[i], ", model '",
                                                 model_.name(), "' has classes 0 to ", outputs_ - 1));
}

bool BatchChecks::fits_targets(const Dataset& dataset) const {
  return loss_ == Loss::mean_squared_error ? dataset.value_size() == outputs_
                                           : dataset.has_labels() && dataset.classes() <= outputs_;
}

}  // namespace troika
