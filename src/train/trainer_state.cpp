// What a trainer holds between steps: parameters, gradients, rates, and looking at them.
#include <cmath>
#include <cstring>

#include "core/text.h"
#include "train/trainer.h"

namespace troika {
namespace {

void check_group(int group, size_t groups) {
  if (group >= -1 && group < static_cast<int>(groups)) return;
  throw Error(Status::invalid_argument, text("learning rate: group is ", group, ", need -1",
                                             groups == 0 ? "; the trainer has no groups" : text(" to ", groups - 1)));
}

}  // namespace

void Trainer::pull() {
  ParameterStore& store = *model_->parameters();
  if (busy_.exchange(true))
    throw Error(Status::busy,
                text("model '", model_->name(),
                     "': another call of its trainer is in progress (perhaps on this thread, in a callback)"));
  struct Release {
    std::atomic<bool>& flag;
    ~Release() { flag = false; }
  } release{busy_};
  pull_unlocked(store);
}

void Trainer::pull_unlocked(ParameterStore& store) {
  for (size_t i = 0; i < store.size(); ++i) {
    const Parameter& p = store.entry(i);
    read_state(p.is_buffer ? Role::buffer : Role::parameter, p.name, store.allocate(i).data());
  }
  uploaded_version_ = store.version();
}

void Trainer::refresh_store() {
  ParameterStore& store = *model_->parameters();
  std::lock_guard lock(store.mutex());
  if (!store.begin_refresh(this)) return;
  pull_unlocked(store);
  store.end_refresh();
}

void Trainer::set_learning_rate(int group, double rate) {
  check_group(group, options_.groups.size());
  if (!(rate >= 0) || !std::isfinite(rate))
    throw Error(Status::invalid_argument, text("learning rate: found ", rate, ", need a finite number of at least 0"));
  if (group >= 0 && base_rates_[static_cast<size_t>(group + 1)] < 0)
    throw Error(Status::invalid_argument,
                text("learning rate: group ", group, " ('", options_.groups[static_cast<size_t>(group)].pattern,
                     "') was attached without a rate of its own"));
  base_rates_[static_cast<size_t>(group + 1)] = rate;
}

double Trainer::learning_rate(int group) const {
  check_group(group, options_.groups.size());
  const double own = base_rates_[static_cast<size_t>(group + 1)];
  return options_.schedule.at(step_, own < 0 ? base_rates_[0] : own);
}

void Trainer::read_parameter(const std::string& name, DeviceId device, void* data, size_t bytes) {
  require_attached();
  ParameterStore& store = *model_->parameters();
  const Parameter& p = store.entry(store.index_of(name));
  std::vector<DeviceId> holders;
  size_t replica = devices_.size();
  for (size_t first = 0; first < devices_.size(); first += parts())
    for (size_t part : holders_of(name)) {
      holders.push_back(devices_[first + part]);
      if (replica == devices_.size() && holders.back() == device) replica = first + part;
    }
  if (replica == devices_.size())
    throw Error(Status::not_on_device,
                text("parameter '", name, "' is not on ", device, "; ",
                     parts() == 1 ? text("model '", model_->name(), "'") : "it", " is on ", join(holders, ", ")));
  if (bytes != p.type.bytes())
    throw Error(Status::invalid_argument, text("parameter '", name, "': buffer has ", bytes, " bytes, ",
                                               name_of(p.type.dtype), p.type.shape, " needs ", p.type.bytes()));
  if (!replicas_[0]->has_state() || uploaded_version_ != store.version()) {  // nothing newer than the host's copy
    refresh_store();
    std::lock_guard lock(store.mutex());
    std::memcpy(data, p.data.data(), bytes);
    return;
  }
  const Role role = p.is_buffer ? Role::buffer : Role::parameter;
  if (slice_of(name, replica % parts()).axis < 0)
    replicas_[replica]->download(part_of(replica).state, role, name, data);
  else
    read_state(role, name, data);  // the whole: a device has some of its channels
}

void Trainer::read_gradient(const std::string& name, float* data, size_t bytes) {
  require_attached();
  ParameterStore& store = *model_->parameters();
  const Parameter& p = store.entry(store.index_of(name));
  if (std::find(trainable_.begin(), trainable_.end(), name) == trainable_.end())
    throw Error(Status::not_initialized,
                text("parameter '", name, "' is ", p.is_buffer ? "a buffer" : "frozen", " and has no gradient"));
  if (bytes != p.type.bytes())
    throw Error(Status::invalid_argument, text("gradient of '", name, "': buffer has ", bytes, " bytes, f32",
                                               p.type.shape, " needs ", p.type.bytes()));
  if (!has_gradients_)
    throw Error(Status::not_initialized, text("gradient of '", name, "' has no value before the first step"));
  read_state(Role::gradient, name, data);
  if (options_.sgd.is_scaled)
    for (size_t i = 0; i < bytes / sizeof(float); ++i) data[i] /= last_loss_scale_;
}

std::vector<float> Trainer::read_momentum(const std::string& name) {
  const ParameterStore& store = *model_->parameters();
  const auto elements = static_cast<size_t>(store.entry(store.index_of(name)).type.shape.elements());
  std::vector<float> momentum(elements, 0.0f);
  if (!host_momentum_.empty()) {
    for (size_t i = 0; i < trainable_.size(); ++i)
      if (trainable_[i] == name) return host_momentum_[i];
  } else if (replicas_[0]->has_state()) {
    read_state(Role::optimizer_state, name, momentum.data());
  }
  return momentum;
}

void Trainer::check_replicas() {
  check_usable();
  if (!replicas_[0]->has_state()) return;
  std::vector<std::byte> first, other;
  auto compare = [&](size_t part, const StateEntry& entry, Segment segment, const char* what) {
    first.resize(entry.bytes);
    other.resize(entry.bytes);
    replicas_[part]->read_segment(segment, entry.offset, first.data(), entry.bytes);
    for (size_t i = part + parts(); i < replicas_.size(); i += parts()) {
      replicas_[i]->read_segment(segment, entry.offset, other.data(), entry.bytes);
      if (first == other) continue;
      size_t at = 0;
      while (first[at] == other[at]) ++at;
      throw Error(Status::mismatch, text(what, " '", entry.name, "' differs between replica ", part, " (",
                                         devices_[part], ") and replica ", i, " (", devices_[i], ") at byte ", at));
    }
  };
  for (size_t part = 0; part < parts(); ++part)
    for (const StateEntry& entry : parts_[part].state.entries()) {
      if (entry.is_buffer) continue;
      compare(part, entry, Segment::parameters, "parameter");
      if (entry.bucket >= 0 && entry.owner < 0 && has_momentum())
        compare(part, entry, Segment::optimizer, "momentum of");
    }
  check_channel_groups();
}

// What ranks of a channel group all hold whole is the same on them.
void Trainer::check_channel_groups() const {
  std::vector<std::byte> first, other;
  for (size_t part = 0; part < parts(); ++part) {
    const size_t leader = part / channels() * channels();
    for (const StateEntry& entry : parts_[part].state.entries()) {
      if (part == leader || entry.is_buffer || slice_of(entry.name, part).axis >= 0) continue;
      const StateEntry& theirs = parts_[leader].state.find(entry.name);
      first.resize(theirs.type.bytes());
      other.resize(entry.type.bytes());
      replicas_[leader]->download(parts_[leader].state, Role::parameter, entry.name, first.data());
      replicas_[part]->download(parts_[part].state, Role::parameter, entry.name, other.data());
      if (first != other)
        throw Error(Status::mismatch, text("parameter '", entry.name, "' differs between ", devices_[leader], " and ",
                                           devices_[part], ", which hold channels of the same layers"));
    }
  }
}

const StateSlice& Trainer::slice_of(const std::string& name, size_t part) const {
  static const StateSlice whole;
  return channel_split_ ? channel_split_->slice_of(name, static_cast<int>(part % channels())) : whole;
}

std::vector<size_t> Trainer::holders_of(const std::string& name) const {
  const size_t places = parts() / channels();
  const size_t place = stages_ ? static_cast<size_t>(stages_->stage_of_state(name)) % places : 0;
  std::vector<size_t> holders;
  for (size_t part = place * channels(); part < (place + 1) * channels(); ++part)
    if (slice_of(name, part).is_held) holders.push_back(part);
  return holders;
}

void Trainer::write_state(Role role, const std::string& name, const void* data) {
  const ParameterStore& store = *model_->parameters();
  const TensorType& type = store.entry(store.index_of(name)).type;
  std::vector<std::byte> own;
  for (size_t part : holders_of(name)) {
    const StateSlice& slice = slice_of(name, part);
    const void* source = data;
    if (slice.axis >= 0) {
      own.resize(static_cast<size_t>(sliced(type.shape, slice).elements()) * size_of(type.dtype));
      copy_part_out(type.shape, slice, size_of(type.dtype), static_cast<const std::byte*>(data), own.data());
      source = own.data();
    }
    const int owner = role == Role::optimizer_state ? parts_[part].state.find(name).owner : -1;
    for (size_t r = part; r < replicas_.size(); r += parts())
      if (owner < 0 || share_of(r) == owner) replicas_[r]->upload(parts_[part].state, role, name, source);
  }
}

void Trainer::read_state(Role role, const std::string& name, void* data) const {
  const ParameterStore& store = *model_->parameters();
  const TensorType& type = store.entry(store.index_of(name)).type;
  std::vector<std::byte> own;
  for (size_t part : holders_of(name)) {
    const StateSlice& slice = slice_of(name, part);
    const int owner = role == Role::optimizer_state ? parts_[part].state.find(name).owner : -1;
    Replica& replica = *replicas_[part + static_cast<size_t>(std::max(owner, 0)) * parts()];
    if (slice.axis < 0) return replica.download(parts_[part].state, role, name, data);
    own.resize(static_cast<size_t>(sliced(type.shape, slice).elements()) * size_of(type.dtype));
    replica.download(parts_[part].state, role, name, own.data());
    copy_part_in(type.shape, slice, size_of(type.dtype), own.data(), static_cast<std::byte*>(data));
  }
}

TrainingState Trainer::state() const {
  return {step_, position_, has_position_, shuffle_seed_, base_rates_, loss_scale_};
}

void Trainer::restore(const TrainingState& state, std::vector<std::vector<float>> momentum,
                      const std::vector<std::vector<std::byte>>& values) {
  ParameterStore& store = *model_->parameters();
  {
    std::lock_guard lock(store.mutex());
    refresh_store();
    for (size_t i = 0; i < values.size(); ++i)
      if (!values[i].empty()) store.write(i, values[i].data(), values[i].size());
  }
  step_ = state.step;
  position_ = state.position;
  has_position_ = state.has_position;
  shuffle_seed_ = state.shuffle_seed;
  expects_order_ = false;
  base_rates_ = state.learning_rates;
  host_momentum_ = std::move(momentum);
  loss_scale_ = state.loss_scale;
  loss_scale_is_uploaded_ = false;
  has_gradients_ = false;
}

std::string Trainer::explain(int64_t batch) {
  check_usable();
  if (batch < 1) throw Error(Status::invalid_argument, text("explain: batch is ", batch, ", needs at least 1"));
  prepare(Mode::train, batch, all_ranks_);
  std::string result;
  for (const auto& replica : replicas_)
    result += text("replica ", replica->rank(), " ", print_plan(replica->current_plan()));
  return result;
}

std::string Trainer::trace() const {
  std::ostringstream out = text_stream();
  std::chrono::steady_clock::time_point start = std::chrono::steady_clock::time_point::max();
  for (const auto& replica : replicas_)
    if (replica->traced_plan() && !replica->trace().empty()) start = std::min(start, replica->trace().front().begin);
  auto us = [&](auto t) { return std::chrono::duration_cast<std::chrono::microseconds>(t - start).count(); };
  for (const auto& replica : replicas_) {
    if (!replica->traced_plan()) continue;
    for (const TraceEvent& e : replica->trace()) {
      out << replica->rank() << ' ' << us(e.begin) << ' ' << us(e.end) << ' ';
      if (e.step.kind == PlanStep::launch) {
        const Launch& launch = replica->traced_plan()->launches[e.step.index];
        out << launch.op << ' ' << launch.layer << '\n';
      } else {
        static constexpr const char* kNames[] = {
            "",      "start_all_reduce ", "wait_all_reduce ", "start_all_gather ", "wait_all_gather ",
            "send ", "receive ",          "group_sum ",       "channel_gather ",   "channel_scatter "};
        const bool is_message = e.step.kind == PlanStep::send || e.step.kind == PlanStep::receive;
        out << kNames[e.step.kind]
            << (is_message ? static_cast<size_t>(replica->traced_plan()->messages[e.step.index].slot) : e.step.index)
            << '\n';
      }
    }
  }
  if (out.str().empty())
    throw Error(Status::not_initialized, "trace: there is none; set collect_trace and run a step first");
  return out.str();
}

}  // namespace troika
