// Keeps a model's values on the host and on its trainer's devices in step. Newer values travel when
// they are needed.
#pragma once

#include <array>
#include <map>
#include <string>
#include <vector>

#include "models/model.h"
#include "train/sharded_state.h"

namespace troika {

// The optimizer's slots, whole and row-major, by slot_name.
using HostSlots = std::map<std::string, std::vector<float>>;

class StateSync {
 public:
  // All must outlive it.
  StateSync(Model& model, const StepLayout& layout, ShardedState& state)
      : model_(model), layout_(layout), state_(state) {}

  // ---- to the devices ----
  // Before a run: copies the values of the model's store that the devices lack, and what was
  // restored.
  void upload();
  // Running statistics are those of the largest share of the samples. Copies them to the other
  // shares, if that is not done yet. Collective.
  void share_buffers();
  // Before an evaluation or a prediction: shares buffers, and takes the averages if they are used.
  void prepare_evaluation(bool uses_averages);
  // A step has begun: the devices hold the newest values.
  void mark_stepped() { buffers_are_shared_ = layout_.ranks().shares() == 1; }
  // Restored values, which the next upload copies.
  void restore_slots(HostSlots slots) {
    host_slots_ = std::move(slots);
    slots_are_restored_ = true;
  }
  void restore_loss_scale(std::array<float, 2> loss_scale);
  void restore_updates(const std::vector<int64_t>& updates);

  // ---- averages ----
  // Replaces parameters by their averages for evaluation, and puts the parameters back afterwards.
  // All values are uploaded.
  void use_averages();
  void use_parameters();

  // ---- to the host ----
  void pull();  // into the model's store, all
  // Slots of other processes are read from their devices. Collective if a process lacks a part of
  // the model.
  HostSlots read_slots();
  // Whether the devices have the store's values, or newer ones.
  bool is_uploaded() const { return state_.is_allocated() && uploaded_version_ == model_.parameters()->version(); }

 private:
  void start_averages();

  Model& model_;
  const StepLayout& layout_;
  ShardedState& state_;
  uint64_t uploaded_version_ = 0;  // of the store
  std::array<float, 2> loss_scale_{1, 0};
  bool loss_scale_is_uploaded_ = true;
  std::vector<int64_t> updates_;
  bool updates_are_uploaded_ = true;
  HostSlots host_slots_;             // to upload
  bool slots_are_restored_ = false;  // and not uploaded: each process has those of its ranks
  bool averages_are_started_ = false;
  std::map<std::string, std::vector<float>> set_aside_;  // parameters, while their averages are in use
  bool buffers_are_shared_ = true;
};

// Puts the parameters back in the place of their averages when an evaluation ends, also by an
// error.
class ParametersAfterwards {
 public:
  explicit ParametersAfterwards(StateSync& sync) : sync_(sync) {}
  ~ParametersAfterwards() noexcept(false);

 private:
  StateSync& sync_;
};

}  // namespace troika
