// Keeps a model's values on the host and those on its trainer's devices in step: newer ones travel when they are asked for.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "models/model.h"
#include "train/sharded_state.h"

namespace troika {

class StateSync {
 public:
  // All must outlive it.
  StateSync(Model& model, const StepLayout& layout, ShardedState& state)
      : model_(model), layout_(layout), state_(state) {}

  // ---- to the devices ----
  // Before a run: values of the model's store that the devices lack, and what was restored.
  void upload();
  // Running statistics are those of the first share of samples: the other shares take them before they evaluate.
  void share_buffers();
  // A step has begun: the devices hold the newest values.
  void mark_stepped() { buffers_are_shared_ = layout_.ranks().shares() == 1; }
  // Restored values, for the next upload: momentum by trainable parameter (none without momentum).
  void restore_momentum(std::vector<std::vector<float>> momentum) { host_momentum_ = std::move(momentum); }
  void restore_loss_scale(std::array<float, 2> loss_scale);

  // ---- to the host ----
  void pull();  // into the model's store, all
  std::vector<float> read_momentum(const std::string& name) const;
  // Whether the devices have the store's values, or newer ones.
  bool is_uploaded() const { return state_.is_allocated() && uploaded_version_ == model_.parameters()->version(); }

 private:
  Model& model_;
  const StepLayout& layout_;
  ShardedState& state_;
  uint64_t uploaded_version_ = 0;  // of the store
  std::array<float, 2> loss_scale_{1, 0};
  bool loss_scale_is_uploaded_ = true;
  std::vector<std::vector<float>> host_momentum_;  // empty: none to upload
  bool buffers_are_shared_ = true;
};

}  // namespace troika
