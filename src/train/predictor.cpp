// Predicting.
#include "train/predictor.h"

namespace troika {

Predictor::Predictor(std::shared_ptr<Context> context, std::shared_ptr<Model> model, DeviceId device)
    : context_(std::move(context)),
      model_(std::move(model)),
      device_(device),
      attached_(*context_, *model_, LocalDevices({device}), TrainerOptions(), StepLayout::Purpose::inference),
      checks_(*model_, Loss::cross_entropy),
      sync_(*model_, attached_.layout, attached_.state) {}

Shape Predictor::predict(const TensorType& type, const void* inputs, std::vector<float>& output) {
  const Shape& shape = type.shape;
  checks_.check_inputs(type.dtype, shape, inputs);
  attached_.runner.prepare(Mode::predict, shape[0], attached_.ranks.all());
  ParameterStore& store = *model_->parameters();
  {
    std::lock_guard lock(store.mutex());
    store.refresh();
    sync_.upload();
  }
  return run_prediction(attached_, *model_, shape[0], inputs, output);
}

Shape run_prediction(Attachment& attached, const Model& model, int64_t n, const void* inputs,
                     std::vector<float>& output) {
  const Shape result = model.output_shape().times(n);
  output.resize(static_cast<size_t>(result.elements()));
  BatchView view;
  view.n = n;
  view.inputs = inputs;
  view.output = output.data();
  attached.runner.run(Mode::predict, attached.ranks.all(), view, StepNumbers());
  return result;
}

}  // namespace troika
