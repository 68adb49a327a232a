// Attaching: which parameters are trained, in which buckets and groups, and a replica on each device.
#include <algorithm>

#include "comm/communicators.h"
#include "core/text.h"
#include "models/initializer.h"
#include "train/trainer.h"

namespace troika {

Trainer::Trainer(std::shared_ptr<Context> context, std::shared_ptr<Model> model, std::vector<DeviceId> devices,
                 TrainerOptions options, bool for_inference)
    : context_(std::move(context)),
      model_(std::move(model)),
      devices_(std::move(devices)),
      options_(std::move(options)),
      for_inference_(for_inference),
      state_table_({}, false) {
  if (!model_->is_complete())
    throw Error(Status::invalid_argument,
                text("model '", model_->name(), "': has no output yet; set it before attaching"));
  if (devices_.empty())
    throw Error(Status::invalid_argument, text("model '", model_->name(), "': the list of devices is empty"));
  for (DeviceId device : devices_) context_->backends().require(device);
  input_shape_ = model_->input_shape();
  outputs_ = model_->output_shape().elements();

  // Parameters: trainable ones in buckets, then groups of equal settings within each bucket.
  std::vector<NamedBytes> sizes;
  ParameterStore& store = *model_->parameters();
  bool has_parameters = false;
  for (size_t i = 0; i < store.size(); ++i) {
    const Parameter& p = store.entry(i);
    has_parameters = has_parameters || !p.is_buffer;
    if (p.is_buffer || for_inference_ || settings_of(p.name).is_frozen) continue;
    trainable_.push_back(p.name);
    sizes.push_back({p.name, p.type.bytes()});
  }
  for (const ParameterGroup& group : options_.groups) {
    bool matches = false;
    for (size_t i = 0; i < store.size(); ++i)
      matches = matches || (!store.entry(i).is_buffer && matches_pattern(group.pattern, store.entry(i).name));
    if (!matches)
      throw Error(Status::not_found, text("parameter group '", group.pattern, "': no parameter of model '",
                                          model_->name(), "' matches it"));
  }
  if (trainable_.empty() && !for_inference_)
    throw Error(Status::invalid_argument, text("model '", model_->name(), "': ",
                                               has_parameters ? "every parameter is frozen; nothing is left to train"
                                                              : "has no parameters; nothing is there to train"));
  buckets_ = make_buckets(sizes, static_cast<size_t>(options_.bucket_bytes));
  for (const Bucket& bucket : buckets_) {
    bool is_first = true;  // an update waits for its own bucket alone
    for (const std::string& name : bucket.parameters) {
      const Settings s = settings_of(name);
      if (is_first || update_groups_.back().rate_index != s.group + 1 ||
          update_groups_.back().weight_decay != s.weight_decay)
        update_groups_.push_back({{}, s.group + 1, s.weight_decay});
      update_groups_.back().parameters.push_back(name);
      is_first = false;
    }
  }
  state_table_ = make_state_table(*this);
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

  const int n = static_cast<int>(devices_.size());
  std::vector<std::shared_ptr<Device>> opened;
  for (int rank = 0; rank < n; ++rank)
    opened.push_back(context_->backends().open(devices_[static_cast<size_t>(rank)], context_->cpu_share(rank, n)));
  std::vector<std::unique_ptr<Communicator>> communicators;
  if (n > 1 && !for_inference_) communicators = create_communicators(opened, static_cast<int>(buckets_.size()));
  for (int rank = 0; rank < n; ++rank) {
    replicas_.push_back(std::make_unique<Replica>(rank, opened[static_cast<size_t>(rank)], options_.collect_trace));
    if (!communicators.empty()) replicas_.back()->set_communicator(std::move(communicators[static_cast<size_t>(rank)]));
    all_ranks_.push_back(static_cast<size_t>(rank));
  }
  if (!for_inference_) store.set_owner(this);
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

Trainer::Settings Trainer::settings_of(const std::string& name) const {
  for (size_t g = 0; g < options_.groups.size(); ++g) {
    const ParameterGroup& group = options_.groups[g];
    if (!matches_pattern(group.pattern, name)) continue;
    return {group.learning_rate ? static_cast<int>(g) : -1, group.is_frozen,
            group.weight_decay.value_or(options_.weight_decay)};
  }
  return {-1, false, options_.weight_decay};
}

StateTable Trainer::make_state_table(const Trainer& t) {
  const ParameterStore& store = *t.model_->parameters();
  std::vector<StateEntry> entries;
  auto add = [&](const std::string& name, int bucket) {
    const Parameter& p = store.entry(store.index_of(name));
    StateEntry entry;
    entry.name = name;
    entry.type = p.type;
    entry.is_buffer = p.is_buffer;
    entry.bucket = bucket;
    entry.is_decided = p.is_buffer;
    entries.push_back(entry);
  };
  for (size_t b = 0; b < t.buckets_.size(); ++b)
    for (const std::string& name : t.buckets_[b].parameters) add(name, static_cast<int>(b));
  for (size_t i = 0; i < store.size(); ++i)
    if (std::find(t.trainable_.begin(), t.trainable_.end(), store.entry(i).name) == t.trainable_.end())
      add(store.entry(i).name, -1);
  if (t.options_.sgd.is_scaled) {
    StateEntry scale;
    scale.name = kLossScale;
    scale.type = {DType::f32, {2}};
    scale.is_buffer = scale.is_decided = true;
    entries.push_back(scale);
  }
  return StateTable(std::move(entries), t.has_momentum());
}

}  // namespace troika
