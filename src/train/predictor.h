// A model in evaluation mode on one device, without a trainer, for one prediction at a time: plans
// and activations of its own, and weights that it shares with other predictors of the device.
#pragma once

#include <vector>

#include "train/attachment.h"
#include "train/state_sync.h"

namespace troika {

class Predictor {
 public:
  // Both must outlive it. A CPU device computes on so many threads; one is the thread that calls.
  Predictor(const Context& context, Model& model, DeviceId device, int threads);

  int threads() const { return threads_; }

  // ---- weights, while no predictor of the device predicts ----
  bool has_weights() const { return attached_.state.is_allocated(); }
  // Stores weights on the device, in the layouts that kernels for `n` samples choose. They have no
  // values yet.
  void store_weights(int64_t n) { prepare(n, kNoValue); }
  // Uses the weights of another predictor of the same device, which must outlive this.
  void share_weights(const Predictor& owner) { attached_.state.share(owner.attached_.state); }
  // Whether the weights, which are this predictor's own, have the values of the model's store.
  bool is_uploaded() const { return has_arrived_ && sync_.is_uploaded(); }
  void upload();  // of the values; the caller holds the store's lock

  // ---- predictions ----
  // Makes the plan for `n` samples and a value of the model current; kNoValue: the model's output.
  // The predictor has weights.
  void prepare(int64_t n, ValueId value) {
    attached_.runner.prepare(Mode::predict, n, attached_.ranks.all(), {.output = value});
  }
  // Writes the value for the `n` samples of the plan, row-major. The inputs are those of the model.
  void predict(int64_t n, const void* inputs, float* output);

 private:
  const int threads_;
  Attachment attached_;
  StateSync sync_;
  bool has_arrived_ = false;  // the last upload
};

// Predicts on devices that are attached already, and returns the output's shape. Their state is up
// to date and their plans are prepared.
Shape run_prediction(Attachment& attached, const Model& model, int64_t n, const void* inputs,
                     std::vector<float>& output);

}  // namespace troika
