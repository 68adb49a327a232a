// Types, shapes, tokens, kinds of targets, and labels.
#include "train/batch_checks.h"

#include <algorithm>

#include "core/text.h"
#include "ops/embedding.h"

namespace troika {
namespace {

// Returns the number of words of the smallest embedding that reads the model's input.
int64_t count_words(const Graph& graph) {
  int64_t words = 0;
  for (const Node& node : graph.nodes()) {
    if (node.op != &embedding_op || graph.value(node.inputs[embedding::tokens]).role != Role::samples) continue;
    const int64_t own = graph.type(node.inputs[embedding::weight]).shape[0];
    words = words == 0 ? own : std::min(words, own);
  }
  return words;
}

}  // namespace

BatchChecks::BatchChecks(const Model& model, const StepSpec& step)
    : model_(model),
      loss_(step.loss),
      labels_(step.labels),
      has_weights_(step.has_weights()),
      weighs_samples_(step.weighs_samples),
      input_shape_(model.input_shape()),
      input_dtype_(model.input_dtype()),
      words_(count_words(model.graph())),
      outputs_(model.output_shape().elements()),
      classes_(outputs_ / troika::labels_per_sample(Loss::cross_entropy, model.output_shape().times(1))),
      labels_per_sample_(troika::labels_per_sample(loss_, model.output_shape().times(1))),
      weights_(step) {}

BatchView BatchChecks::check(const Batch& batch) {
  BatchView view = view_of(batch);
  check_inputs(batch.dtype, batch.shape, view.inputs);
  check_ignored(batch.ignored);
  check_weights(batch);
  view.counted = check_targets(view);
  view.weight = static_cast<double>(view.counted);
  if (has_weights_) weights_.weigh(view, batch.weights.empty() ? nullptr : batch.weights.data());
  return view;
}

// A label that weighs nothing for the dataset would be trained on as any other.
void BatchChecks::check_ignored(std::optional<int32_t> ignored) const {
  if (loss_ != Loss::cross_entropy || !ignored || ignored == labels_.ignored) return;
  throw Error(Status::invalid_argument,
              text("batch: its dataset ignores label ", *ignored, ", the trainer's ignore_index is ",
                   labels_.ignored ? text(*labels_.ignored) : std::string("not set"), "; needs ", *ignored));
}

// Samples would weigh the same for a trainer that does not expect weights.
void BatchChecks::check_weights(const Batch& batch) const {
  if (!batch.weights.empty() && !weighs_samples_)
    throw Error(Status::invalid_argument,
                "batch: its samples have weights, the trainer's sample_weights is 0; needs 1");
}

BatchView BatchChecks::check_samples(const Batch& batch) const {
  BatchView view;
  view.n = view.rows = view.counted = batch.size();
  view.inputs = batch.input_data();
  check_inputs(batch.dtype, batch.shape, view.inputs);
  return view;
}

void BatchChecks::require_real_inputs() const {
  if (input_dtype_ != DType::f32)
    throw Error(Status::invalid_argument, text("input_gradient: the inputs of model '", model_.name(), "' are ",
                                               name_of(input_dtype_), ", which have no gradient; needs f32"));
}

void BatchChecks::check_inputs(DType dtype, const Shape& inputs, const void* data) const {
  const Shape& sample = input_shape_;
  if (inputs.rank() != sample.rank() + 1 ||
      !std::equal(sample.dims().begin(), sample.dims().end(), inputs.dims().begin() + 1))
    throw Error(Status::invalid_argument, text("batch: inputs have shape ", inputs, ", model '", model_.name(),
                                               "' needs [batch, ", join(sample.dims(), ", "), "]"));
  if (dtype != input_dtype_)
    throw Error(Status::invalid_argument, text("batch: inputs are ", name_of(dtype), ", model '", model_.name(),
                                               "' needs ", name_of(input_dtype_)));
  if (inputs[0] < 1) throw Error(Status::invalid_argument, "batch: has no samples, needs at least 1");
  if (words_ > 0 && data) check_tokens(static_cast<const int32_t*>(data), inputs[0]);
}

void BatchChecks::check_tokens(const int32_t* tokens, int64_t n) const {
  const int64_t steps = input_shape_.elements();
  for (int64_t i = 0; i < n * steps; ++i)
    if (tokens[i] < 0 || tokens[i] >= words_)
      throw Error(Status::invalid_argument,
                  text("batch: token ", i % steps, " of sample ", i / steps, " is ", tokens[i], ", model '",
                       model_.name(), "' has words 0 to ", words_ - 1));
}

// Returns the number of labels that are not ignored, or of samples if there are no labels.
int64_t BatchChecks::check_targets(const BatchView& batch) const {
  if (loss_ != Loss::cross_entropy) {
    if (!batch.values || batch.value_size != outputs_)
      throw Error(
          Status::invalid_argument,
          text("batch: ",
               batch.values   ? text("targets are ", batch.value_size, " values a sample")
               : batch.labels ? text("targets are labels")
                              : text("has no targets"),
               ", loss ", name_of(loss_), " on model '", model_.name(), "' needs ", outputs_, " values a sample"));
    return batch.n;
  }
  if (!batch.labels)
    throw Error(Status::invalid_argument, text("batch: ", batch.values ? "targets are values" : "has no targets",
                                               ", cross-entropy needs labels"));
  if (batch.label_size != labels_per_sample_)
    throw Error(Status::invalid_argument,
                text("batch: has ", batch.label_size, batch.label_size == 1 ? " label" : " labels",
                     " per sample, model '", model_.name(), "' needs ", labels_per_sample_));
  int64_t counted = 0;
  for (int64_t i = 0; i < batch.n * batch.label_size; ++i) {
    if (batch.labels[i] == labels_.ignored) continue;
    ++counted;
    if (batch.labels[i] >= 0 && batch.labels[i] < classes_) continue;
    const std::string step = batch.label_size > 1 ? text(" at position ", i % batch.label_size) : "";
    throw Error(Status::invalid_argument,
                text("batch: label of sample ", i / batch.label_size, step, " is ", batch.labels[i], ", model '",
                     model_.name(), "' has classes 0 to ", classes_ - 1));
  }
  return counted;
}

bool BatchChecks::fits_inputs(const Dataset& dataset) const {
  return dataset.sample_shape() == input_shape_ && dataset.form().dtype == input_dtype_;
}

bool BatchChecks::fits_words(const Dataset& dataset) const {
  return fits_inputs(dataset) && (words_ == 0 || dataset.form().words <= words_);
}

bool BatchChecks::fits(const Dataset& dataset) const {
  const SampleForm& form = dataset.form();
  if (!fits_words(dataset) || has_weights_ || form.is_weighted) return false;
  if (loss_ != Loss::cross_entropy) return form.value_size == outputs_;
  return dataset.has_labels() && form.label_size == labels_per_sample_ && form.classes <= classes_ &&
         (!form.ignored || form.ignored == labels_.ignored);
}

}  // namespace troika
