// Predicts with a model on any device, for any number of threads at a time. The owner of the
// parameters stays the same.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "train/batch_checks.h"
#include "train/device_predictors.h"

namespace troika {

class PredictorPool {
 public:
  PredictorPool(std::shared_ptr<Context> context, std::shared_ptr<Model> model)
      : context_(std::move(context)), model_(std::move(model)) {}

  // Throws INVALID_ARGUMENT unless the model is complete and takes such inputs, with a batch.
  void check(const TensorType& type, const void* inputs);
  // Writes a value of the model, or the model's output if `value` is kNoValue, for `n` samples,
  // row-major. The inputs have been checked.
  void predict(DeviceId device, int64_t n, ValueId value, const void* inputs, float* output);

 private:
  DevicePredictors& on(DeviceId device);

  const std::shared_ptr<Context> context_;
  const std::shared_ptr<Model> model_;
  std::mutex mutex_;  // of the rest
  std::optional<BatchChecks> checks_;
  std::vector<std::unique_ptr<DevicePredictors>> devices_;
};

}  // namespace troika
