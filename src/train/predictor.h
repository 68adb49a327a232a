// A model in evaluation mode on one device, without a trainer: the owner of the parameters stays
// the same.
#pragma once

#include <memory>
#include <vector>

#include "train/attachment.h"
#include "train/batch_checks.h"
#include "train/state_sync.h"

namespace troika {

class Predictor {
 public:
  Predictor(std::shared_ptr<Context> context, std::shared_ptr<Model> model, DeviceId device);

  DeviceId device() const { return device_; }
  // Returns the output's shape. `output` receives the network's output for `shape[0]` samples,
  // row-major.
  Shape predict(const TensorType& type, const void* inputs, std::vector<float>& output);

 private:
  std::shared_ptr<Context> context_;
  std::shared_ptr<Model> model_;
  const DeviceId device_;
  Attachment attached_;
  const BatchChecks checks_;
  StateSync sync_;
};

// The same on devices that are attached already. Their state is up to date and their plans are
// prepared.
Shape run_prediction(Attachment& attached, const Model& model, int64_t n, const void* inputs,
                     std::vector<float>& output);

}  // namespace troika
