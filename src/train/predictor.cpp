// Predicting.
#include "train/predictor.h"

namespace troika {
namespace {

LocalDevices lone_device(DeviceId device, int threads) {
  LocalDevices local({device});
  local.threads = threads;
  local.runs_on_callers = true;
  return local;
}

void run(Attachment& attached, int64_t n, const void* inputs, float* output) {
  BatchView view;
  view.n = view.rows = n;
  view.inputs = inputs;
  view.output = output;
  attached.runner.run(Mode::predict, attached.ranks.all(), view, StepNumbers());
}

}  // namespace

Predictor::Predictor(const Context& context, Model& model, DeviceId device, int threads)
    : threads_(threads),
      attached_(context, model, lone_device(device, threads), TrainerOptions(), StepLayout::Purpose::inference),
      sync_(model, attached_.layout, attached_.state) {}

void Predictor::upload() {
  has_arrived_ = false;
  attached_.state.pack();
  sync_.upload();
  attached_.state.finish();
  has_arrived_ = true;
}

void Predictor::predict(int64_t n, const void* inputs, float* output) { run(attached_, n, inputs, output); }

Shape run_prediction(Attachment& attached, const Model& model, int64_t n, const void* inputs,
                     std::vector<float>& output) {
  const Shape result = model.output_shape().times(n);
  output.resize(static_cast<size_t>(result.elements()));
  run(attached, n, inputs, output.data());
  return result;
}

}  // namespace troika
