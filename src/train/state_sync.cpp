// What travels between the store and the devices.
#include "train/state_sync.h"

#include <algorithm>
#include <cstring>

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
  if (!host_momentum_.empty()) {
    for (size_t i = 0; i < host_momentum_.size(); ++i)
      state_.write(Role::optimizer_state, layout_.trainable()[i], host_momentum_[i].data());
    host_momentum_.clear();
  }
}

void StateSync::share_buffers() {
  if (buffers_are_shared_) return;
  state_.share_buffers();
  buffers_are_shared_ = true;
}

void StateSync::restore_loss_scale(std::array<float, 2> loss_scale) {
  loss_scale_ = loss_scale;
  loss_scale_is_uploaded_ = !layout_.spec().sgd.is_scaled;
}

void StateSync::pull() {
  ParameterStore& store = *model_.parameters();
  for (size_t i = 0; i < store.size(); ++i) {
    const Parameter& p = store.entry(i);
    state_.read(p.is_buffer ? Role::buffer : Role::parameter, p.name, store.allocate(i).data());
  }
  uploaded_version_ = store.version();
}

std::vector<float> StateSync::read_momentum(const std::string& name) const {
  const ParameterStore& store = *model_.parameters();
  std::vector<float> momentum(static_cast<size_t>(store.entry(store.index_of(name)).type.shape.elements()), 0.0f);
  if (!host_momentum_.empty()) {
    const auto found = std::find(layout_.trainable().begin(), layout_.trainable().end(), name);
    return host_momentum_[static_cast<size_t>(found - layout_.trainable().begin())];
  }
  if (state_.is_allocated()) state_.read(Role::optimizer_state, name, momentum.data());
  return momentum;
}

}  // namespace troika
