// Copies between the store and the devices.
#include "train/state_sync.h"

#include <algorithm>
#include <cstring>
#include <exception>

#include "core/text.h"

namespace troika {

void StateSync::upload() {
  const ParameterStore& store = *model_.parameters();
  if (uploaded_version_ != store.version()) {
    for (size_t i = 0; i < store.size(); ++i) {
      const Parameter& p = store.entry(i);
      if (!p.is_initialized)
        throw Error(Status::not_initialized,
                    text("parameter '", p.name, "' has no value yet; initialize or load the model first"));
      state_.write(p.is_buffer ? Role::buffer : Role::parameter, p.name, p.data.data());
    }
    uploaded_version_ = store.version();
    buffers_are_shared_ = true;
  }
  if (!loss_scale_is_uploaded_) {
    state_.write_everywhere(kLossScale, loss_scale_.data());
    loss_scale_is_uploaded_ = true;
  }
  if (!updates_are_uploaded_) {
    state_.write_everywhere(kUpdateCount, updates_.data());
    updates_are_uploaded_ = true;
  }
  if (!averages_are_started_) start_averages();
  for (const auto& [name, values] : host_slots_) state_.write(Role::optimizer_state, name, values.data());
  host_slots_.clear();
  slots_are_restored_ = false;
}

// Averages start with the values of the parameters.
void StateSync::start_averages() {
  const ParameterStore& store = *model_.parameters();
  if (layout_.spec().average_decay > 0)
    for (const std::string& name : layout_.trainable())
      state_.write(Role::optimizer_state, slot_name(kAverageSlot, name), store.entry(store.index_of(name)).data.data());
  averages_are_started_ = true;
}

void StateSync::use_averages() {
  if (!set_aside_.empty() || layout_.spec().average_decay == 0) return;
  const ParameterStore& store = *model_.parameters();
  std::vector<float> average;
  for (const std::string& name : layout_.trainable()) {
    const size_t elements = static_cast<size_t>(store.entry(store.index_of(name)).type.shape.elements());
    std::vector<float> values(elements);
    average.resize(elements);
    state_.read(Role::parameter, name, values.data());
    state_.read(Role::optimizer_state, slot_name(kAverageSlot, name), average.data());
    set_aside_.emplace(name, std::move(values));
    state_.write(Role::parameter, name, average.data());
  }
}

void StateSync::use_parameters() {
  for (const auto& [name, values] : set_aside_) state_.write(Role::parameter, name, values.data());
  set_aside_.clear();
}

void StateSync::share_buffers() {
  if (buffers_are_shared_) return;
  state_.share_buffers();
  buffers_are_shared_ = true;
}

void StateSync::prepare_evaluation(bool uses_averages) {
  if (uses_averages) use_averages();
  share_buffers();
}

void StateSync::restore_loss_scale(std::array<float, 2> loss_scale) {
  loss_scale_ = loss_scale;
  loss_scale_is_uploaded_ = !layout_.spec().conditioning.is_scaled;
}

void StateSync::restore_updates(const std::vector<int64_t>& updates) {
  updates_ = updates;
  updates_are_uploaded_ = !layout_.spec().optimizer->counts_updates;
}

void StateSync::pull() {
  ParameterStore& store = *model_.parameters();
  for (size_t i = 0; i < store.size(); ++i) {
    const Parameter& p = store.entry(i);
    state_.read(p.is_buffer ? Role::buffer : Role::parameter, p.name, store.allocate(i).data());
  }
  uploaded_version_ = store.version();
}

HostSlots StateSync::read_slots() {
  if (slots_are_restored_ && state_.is_split()) {
    state_.agree_on_plain_layouts();
    state_.allocate();
    upload();
  }
  const ParameterStore& store = *model_.parameters();
  HostSlots slots;
  for (const std::string& slot : layout_.spec().slots())
    for (const std::string& name : layout_.trainable()) {
      const std::string key = slot_name(slot, name);
      const Parameter& parameter = store.entry(store.index_of(name));
      std::vector<float>& values = slots[key];
      if (const auto found = host_slots_.find(key); found != host_slots_.end()) {
        values = found->second;
        continue;
      }
      values.resize(static_cast<size_t>(parameter.type.shape.elements()));
      if (state_.is_allocated())
        state_.read(Role::optimizer_state, key, values.data());
      else if (slot == kAverageSlot)
        std::memcpy(values.data(), parameter.data.data(), parameter.data.size());
    }
  return slots;
}

ParametersAfterwards::~ParametersAfterwards() noexcept(false) {
  if (std::uncaught_exceptions() == 0) {
    sync_.use_parameters();
    return;
  }
  try {
    sync_.use_parameters();
  } catch (...) {  // the first error is the one to report
  }
}

}  // namespace troika
