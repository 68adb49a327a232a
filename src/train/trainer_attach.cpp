// Attaching: which parameters are trained, in which buckets and groups, and a replica on each device.
#include <algorithm>

#include "comm/communicators.h"
#include "core/text.h"
#include "models/initializer.h"
#include "train/trainer.h"

namespace troika {
namespace {

constexpr const char* kOptions = "troika_model_attach: options.";  // how messages name a field

}  // namespace

Trainer::Trainer(std::shared_ptr<Context> context, std::shared_ptr<Model> model, std::vector<DeviceId> devices,
                 TrainerOptions options, bool for_inference)
    : context_(std::move(context)),
      model_(std::move(model)),
      devices_(std::move(devices)),
      options_(std::move(options)),
      for_inference_(for_inference) {
  if (!model_->is_complete())
    throw Error(Status::invalid_argument,
                text("model '", model_->name(), "': has no output yet; set it before attaching"));
  if (devices_.empty())
    throw Error(Status::invalid_argument, text("model '", model_->name(), "': the list of devices is empty"));
  for (DeviceId device : devices_) context_->backends().require(device);
  input_shape_ = model_->input_shape();
  outputs_ = model_->output_shape().elements();
  if (!for_inference_) check_mesh();
  if (!for_inference_) check_replication();
  check_groups();
  make_parts();
  if (options_.logical_shards > 0) check_logical_shards();
  losses_.resize(devices_.size() * most_micro_batches());
  loss_scale_ = {static_cast<float>(options_.loss_scale), 0};

  base_rates_.push_back(options_.learning_rate);
  for (const ParameterGroup& group : options_.groups) base_rates_.push_back(group.learning_rate.value_or(-1));
  step_rates_.resize(base_rates_.size());

  if (!for_inference_) {
    // What cannot be trained at all is refused here, not at the first step.
    build_graph(compile_request(Mode::train, static_cast<int64_t>(devices_.size()), 0, devices_.size()),
                context_->log());
    initialize_default(*model_, context_->seed(), true);
  }
  create_replicas();
  if (!for_inference_) model_->parameters()->set_owner(this);
}

// The options' mesh over the list of devices, and what it cannot be combined with.
void Trainer::check_mesh() {
  const Mesh mesh = spread(options_.mesh, static_cast<int>(devices_.size()));
  const std::string refusal = refusal_of(mesh, options_.logical_shards > 0);
  if (!refusal.empty()) throw Error(Status::unsupported, kOptions + refusal);
  if (mesh.layer == 1 && mesh.channel == 1) return;
  if (options_.pipeline_chunks > 1 && options_.pipeline_schedule != PipelineSchedule::interleaved)
    throw Error(Status::invalid_argument, text(kOptions, "layer_chunks is ", options_.pipeline_chunks,
                                               ", needs options.layer_schedule TROIKA_LAYER_SCHEDULE_INTERLEAVED"));
  if (mesh.layer > 1) stages_.emplace(model_->graph(), mesh.layer * options_.pipeline_chunks, options_.layer_cuts);
  if (mesh.channel > 1) channel_split_.emplace(model_->graph(), mesh.channel);
}

// What replicas do together beside the sum of their gradients.
void Trainer::check_replication() const {
  if (options_.logical_shards == 0) return;
  if (options_.syncs_statistics)
    throw Error(Status::invalid_argument,
                text(kOptions, "sync_batch_norm is 1 and logical_shards is ", options_.logical_shards,
                     ", which normalise differently; give one of them"));
  if (options_.compresses_gradients)
    throw Error(Status::invalid_argument,
                text(kOptions, "gradient_compression is BF16 and logical_shards is ", options_.logical_shards,
                     ", whose bits it would change with the number of devices; give one of them"));
}

void Trainer::check_groups() const {
  const ParameterStore& store = *model_->parameters();
  for (const ParameterGroup& group : options_.groups) {
    bool matches = false;
    for (size_t i = 0; i < store.size(); ++i)
      matches = matches || (!store.entry(i).is_buffer && matches_pattern(group.pattern, store.entry(i).name));
    if (!matches)
      throw Error(Status::not_found, text("parameter group '", group.pattern, "': no parameter of model '",
                                          model_->name(), "' matches it"));
  }
}

void Trainer::make_parts() {
  const ParameterStore& store = *model_->parameters();
  const size_t places = stages_ ? static_cast<size_t>(options_.mesh.layer) : 1;
  std::vector<std::vector<std::string>> names(places);
  bool has_parameters = false;
  for (size_t i = 0; i < store.size(); ++i) {
    const Parameter& p = store.entry(i);
    has_parameters = has_parameters || !p.is_buffer;
    names[stages_ ? static_cast<size_t>(stages_->stage_of_state(p.name)) % places : 0].push_back(p.name);
    if (!p.is_buffer && !for_inference_ && !settings_of(p.name).is_frozen) trainable_.push_back(p.name);
  }
  if (trainable_.empty() && !for_inference_)
    throw Error(Status::invalid_argument, text("model '", model_->name(), "': ",
                                               has_parameters ? "every parameter is frozen; nothing is left to train"
                                                              : "has no parameters; nothing is there to train"));
  for (size_t part = 0; part < places * channels(); ++part) parts_.push_back(make_part(part, names[part / channels()]));
}

// Trainable ones in buckets, then groups of equal settings within each bucket: an update waits for its own bucket alone.
ModelPart Trainer::make_part(size_t index, const std::vector<std::string>& names) const {
  const ParameterStore& store = *model_->parameters();
  ModelPart part;
  std::vector<NamedBytes> sizes;
  for (const std::string& name : names)
    if (slice_of(name, index).is_held && std::find(trainable_.begin(), trainable_.end(), name) != trainable_.end()) {
      const TensorType& type = store.entry(store.index_of(name)).type;
      part.trainable.push_back(name);
      sizes.push_back({name, TensorType{type.dtype, sliced(type.shape, slice_of(name, index))}.bytes()});
    }
  part.buckets = make_buckets(sizes, static_cast<size_t>(options_.bucket_bytes));
  const auto shares = devices_.size() / static_cast<size_t>(options_.mesh.layer * options_.mesh.channel);
  bool is_first = true;
  for (const Bucket& bucket : part.buckets) {
    is_first = is_first || shares > 1;  // alone, no update waits for a bucket
    for (const std::string& name : bucket.parameters) {
      const Settings s = settings_of(name);
      if (is_first || part.update_groups.back().rate_index != s.group + 1 ||
          part.update_groups.back().weight_decay != s.weight_decay)
        part.update_groups.push_back({{}, s.group + 1, s.weight_decay});
      part.update_groups.back().parameters.push_back(name);
      is_first = false;
    }
  }
  std::map<std::string, int> owners;
  if (options_.shards_optimizer && shares > 1) owners = assign_owners(sizes, static_cast<int>(shares));
  part.state = make_state_table(part, index, names, owners);
  return part;
}

void Trainer::create_replicas() {
  const int n = static_cast<int>(devices_.size());
  std::vector<std::shared_ptr<Device>> opened;
  for (int rank = 0; rank < n; ++rank) {
    DeviceShare share = context_->cpu_share(rank, n);
    // Sums within kernels may depend on how many threads there are.
    if (options_.logical_shards > 0) share.threads = 1;
    if (channel_split_) share.threads = std::max(1, context_->cpu_threads() / n);
    opened.push_back(context_->backends().open(devices_[static_cast<size_t>(rank)], share));
  }
  for (int rank = 0; rank < n; ++rank) {
    replicas_.push_back(std::make_unique<Replica>(rank, opened[static_cast<size_t>(rank)], options_.collect_trace));
    all_ranks_.push_back(static_cast<size_t>(rank));
  }
  if (for_inference_) return;
  set_groups(opened);
}

namespace {

// Gives each of `count` replicas, from `first` on in steps of `step`, its end of a group that `create` makes of their devices.
template <typename End, typename Create>
void set_group(const std::vector<std::unique_ptr<Replica>>& replicas,
               const std::vector<std::shared_ptr<Device>>& devices, size_t first, size_t step, size_t count,
               void (Replica::*set)(std::unique_ptr<End>), Create create) {
  if (count < 2) return;
  std::vector<std::shared_ptr<Device>> members;
  for (size_t i = 0; i < count; ++i) members.push_back(devices[first + i * step]);
  std::vector<std::unique_ptr<End>> ends = create(members);
  for (size_t i = 0; i < count; ++i) (*replicas[first + i * step].*set)(std::move(ends[i]));
}

bool repeats_a_device(const std::vector<std::shared_ptr<Device>>& devices) {
  for (auto device = devices.begin(); device != devices.end(); ++device)
    if (std::any_of(devices.begin(), device, [&](const auto& other) { return other->id() == (*device)->id(); }))
      return true;
  return false;
}

}  // namespace

void Trainer::set_groups(const std::vector<std::shared_ptr<Device>>& devices) {
  const size_t shares = devices.size() / parts(), places = parts() / channels();
  // NCCL launches several groups in an order of its own, in which replicas that share GPUs would wait for each other.
  const bool needs_fixed_order = options_.logical_shards > 0 || repeats_a_device(devices);
  auto set_sums = [&](size_t first, size_t step, size_t count, int slots,
                      void (Replica::*set)(std::unique_ptr<Communicator>)) {
    set_group(replicas_, devices, first, step, count, set,
              [=](const auto& members) { return create_communicators(members, slots, needs_fixed_order); });
  };
  for (size_t part = 0; part < parts(); ++part)
    set_sums(part, parts(), shares, data_slots(parts_[part].buckets.size()), &Replica::set_communicator);
  for (size_t share = 0; share < shares; ++share) {
    for (size_t channel = 0; channel < channels(); ++channel)
      set_group(replicas_, devices, share * parts() + channel, channels(), places, &Replica::set_pipeline,
                [](const auto& members) { return create_messengers(members); });
    for (size_t place = 0; place < places; ++place)
      set_sums(share * parts() + place * channels(), 1, channels(), 1, &Replica::set_channel_group);
    set_sums(share * parts(), 1, parts(), 1, &Replica::set_model_group);
  }
}

Trainer::~Trainer() {
  ParameterStore& store = *model_->parameters();
  if (!store.is_owner(this)) return;
  try {
    store.set_owner(nullptr);  // pulls the newest values
  } catch (const std::exception& e) {
    store.drop_owner();
    try {
      context_->log().write(LogLevel::error,
                            text("model '", model_->name(), "': the last values could not be read back: ", e.what()));
    } catch (const std::bad_alloc&) {  // no memory to say so either
    }
  }
}

void Trainer::check_logical_shards() const {
  const std::string refusal =
      refusal_of_shards(options_.logical_shards, options_.micro_batches, static_cast<int64_t>(devices_.size()));
  if (!refusal.empty()) throw Error(Status::invalid_argument, kOptions + refusal);
}

Trainer::Settings Trainer::settings_of(const std::string& name) const {
  for (size_t g = 0; g < options_.groups.size(); ++g) {
    const ParameterGroup& group = options_.groups[g];
    if (!matches_pattern(group.pattern, name)) continue;
    return {group.learning_rate ? static_cast<int>(g) : -1, group.is_frozen,
            group.weight_decay.value_or(options_.weight_decay)};
  }
  return {-1, false, options_.weight_decay};
}

StateTable Trainer::make_state_table(const ModelPart& part, size_t index, const std::vector<std::string>& names,
                                     const std::map<std::string, int>& owners) const {
  const ParameterStore& store = *model_->parameters();
  std::vector<StateEntry> entries;
  auto add = [&](const std::string& name, int bucket) {
    const Parameter& p = store.entry(store.index_of(name));
    StateEntry entry;
    entry.name = name;
    entry.type = {p.type.dtype, sliced(p.type.shape, slice_of(name, index))};
    entry.is_buffer = p.is_buffer;
    entry.bucket = bucket;
    if (const auto owner = owners.find(name); owner != owners.end()) entry.owner = owner->second;
    entry.is_decided = p.is_buffer;
    entries.push_back(entry);
  };
  for (size_t b = 0; b < part.buckets.size(); ++b)
    for (const std::string& name : part.buckets[b].parameters) add(name, static_cast<int>(b));
  for (const std::string& name : names)
    if (slice_of(name, index).is_held &&
        std::find(part.trainable.begin(), part.trainable.end(), name) == part.trainable.end())
      add(name, -1);
  if (options_.sgd.is_scaled) {
    StateEntry scale;
    scale.name = kLossScale;
    scale.type = {DType::f32, {2}};
    scale.is_buffer = scale.is_decided = true;
    entries.push_back(scale);
  }
  return StateTable(std::move(entries), has_momentum());
}

}  // namespace troika
