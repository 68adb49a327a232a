// The predictors of a model on one device: one for each prediction in progress, kept for later
// ones, and one copy of the weights for all of them.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <utility>
#include <vector>

#include "train/predictor.h"

namespace troika {

class DevicePredictors {
 public:
  // The most predictors of a device. Further predictions wait until others have ended.
  static constexpr size_t kMost = 64;

  // Both must outlive it. The model is complete.
  DevicePredictors(const Context& context, Model& model, DeviceId device);
  ~DevicePredictors();

  DeviceId device() const { return device_; }
  // Writes a value of the model, or the model's output if `value` is kNoValue, for `n` samples,
  // row-major. All values of parameters are the model's newest when the computation begins. Any
  // number of threads at a time.
  void predict(int64_t n, ValueId value, const void* inputs, float* output);

  // The threads with which a CPU predicts. They follow from the arguments alone, because the bits
  // of a result may depend on them.
  int threads_for(int64_t n, ValueId value) const;
  size_t size() const;  // predictors

 private:
  struct Entry {
    std::unique_ptr<Predictor> predictor;
    bool is_in_use = false;
    uint64_t last_use = 0;
  };
  class Lease;

  Entry& take(int threads);
  Entry* find_free(int threads);
  void give_back(Entry& entry, bool is_lost);
  std::shared_lock<std::shared_mutex> hold_weights(int64_t n);

  const Context& context_;
  Model& model_;
  const DeviceId device_;
  std::vector<std::pair<ValueId, double>> operations_;  // of one sample, until each value is there

  mutable std::mutex mutex_;  // of the entries
  std::condition_variable freed_;
  std::vector<std::unique_ptr<Entry>> entries_;  // the first one owns the weights
  Predictor& owner_;
  uint64_t uses_ = 0;

  std::mutex turn_;            // to hold the weights: an upload need not wait for predictions that come later
  std::shared_mutex weights_;  // shared by predictions, alone for an upload
};

}  // namespace troika
