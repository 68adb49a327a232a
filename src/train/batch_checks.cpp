// Shapes, kinds of targets, and labels.
#include "train/batch_checks.h"

#include <algorithm>

#include "core/text.h"

namespace troika {

void check_inputs(const Shape& inputs, const Model& model) {
  const Shape& sample = model.input_shape();
  if (inputs.rank() != sample.rank() + 1 ||
      !std::equal(sample.dims().begin(), sample.dims().end(), inputs.dims().begin() + 1))
    throw Error(Status::invalid_argument, text("batch: inputs have shape ", inputs, ", model '", model.name(),
                                               "' needs [batch, ", join(sample.dims(), ", "), "]"));
  if (inputs[0] < 1) throw Error(Status::invalid_argument, "batch: has no samples, needs at least 1");
}

void check_targets(const BatchView& batch, const Model& model, Loss loss) {
  const int64_t outputs = model.output_shape().elements();
  if (loss == Loss::mean_squared_error) {
    if (!batch.values || batch.value_size != outputs)
      throw Error(Status::invalid_argument,
                  text("batch: targets are ", batch.values ? text(batch.value_size, " values a sample") : "labels",
                       ", mean squared error on model '", model.name(), "' needs ", outputs, " values a sample"));
    return;
  }
  if (!batch.labels) throw Error(Status::invalid_argument, "batch: targets are values, cross-entropy needs labels");
  for (int64_t i = 0; i < batch.n; ++i)
    if (batch.labels[i] < 0 || batch.labels[i] >= outputs)
      throw Error(Status::invalid_argument, text("batch: label of sample ", i, " is ", batch.labels[i], ", model '",
                                                 model.name(), "' has classes 0 to ", outputs - 1));
}

bool fits_targets(const Dataset& dataset, const Model& model, Loss loss) {
  const int64_t outputs = model.output_shape().elements();
  return loss == Loss::mean_squared_error ? dataset.value_size() == outputs
                                          : dataset.has_labels() && dataset.classes() <= outputs;
}

}  // namespace troika
