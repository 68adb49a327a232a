// Finding the predictors of a device.
#include "train/predictor_pool.h"

namespace troika {

void PredictorPool::check(const TensorType& type, const void* inputs) {
  {
    const std::lock_guard lock(mutex_);
    if (!checks_) checks_.emplace(*model_);
  }
  checks_->check_inputs(type.dtype, type.shape, inputs);
}

void PredictorPool::predict(DeviceId device, int64_t n, ValueId value, const void* inputs, float* output) {
  on(device).predict(n, value, inputs, output);
}

DevicePredictors& PredictorPool::on(DeviceId device) {
  const std::lock_guard lock(mutex_);
  for (const auto& predictors : devices_)
    if (predictors->device() == device) return *predictors;
  return *devices_.emplace_back(std::make_unique<DevicePredictors>(*context_, *model_, device));
}

}  // namespace troika
