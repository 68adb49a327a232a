// Parts of the model, and requests for their plans.
#include "plan/step_layout.h"

#include <algorithm>

#include "core/text.h"
#include "ops/losses.h"

namespace troika {
namespace {

// A part that is far smaller than others would only get samples of enormous batches.
constexpr double kLargestRatio = 1e6;

void check_shares(const StepSpec& spec, int shares, const std::string& options_name) {
  const auto found = static_cast<int64_t>(spec.shares.size());
  if (found > 0 && found != shares)
    throw Error(Status::invalid_argument,
                text(options_name, "share_count is ", found, ", the mesh ", name_of(spec.mesh),
                     " divides the batch into ", shares, "; needs a size for each"));
  if (found > 0 && spec.logical_shards > 0)
    throw Error(Status::invalid_argument,
                text(options_name, "share_count is ", found, " and logical_shards is ", spec.logical_shards,
                     ", which divide the batch differently; set only one of them"));
  if (found == 0) return;
  const auto [least, most] = std::minmax_element(spec.shares.begin(), spec.shares.end());
  if (*most > *least * kLargestRatio)
    throw Error(Status::invalid_argument,
                text(options_name, "shares are from ", *least, " to ", *most, ", need numbers of which none is above ",
                     kLargestRatio, " times another"));
}

void check_class_weights(const StepSpec& spec, const Graph& model, const std::string& options_name) {
  if (spec.class_weights.empty() || model.outputs.empty()) return;
  const Shape& output = model.type(model.outputs[0].id).shape;
  const auto weights = static_cast<int64_t>(spec.class_weights.size());
  if (const int64_t classes = output.rank() < 2 ? 0 : ClassRows(output).classes; weights != classes)
    throw Error(Status::invalid_argument, text(options_name, "class_weight_count is ", weights, ", model '",
                                               model.name(), "' has ", classes, " classes; needs a weight for each"));
}

// Late updates run one by one, after the step whose gradients they take.
void check_late_updates(const StepSpec& spec, int parts, const std::string& options_name) {
  if (!spec.updates_late) return;
  const auto refuse = [&](const std::string& other, const char* why) {
    throw Error(Status::invalid_argument,
                text(options_name, "late_updates is 1 and ", other, ", ", why, "; set only one of them"));
  };
  if (parts > 1)
    throw Error(
        Status::unsupported,
        text(options_name, "late_updates is 1, needs a mesh that splits by data alone, not ", name_of(spec.mesh)));
  constexpr const char* kNeedsAll = "which needs all gradients before any update";
  if (spec.conditioning.max_norm > 0) refuse(text("max_gradient_norm is ", spec.conditioning.max_norm), kNeedsAll);
  if (spec.conditioning.is_scaled) refuse("losses are scaled", kNeedsAll);
  if (spec.conditioning.skips_not_finite) refuse("skip_not_finite is 1", kNeedsAll);
  if (spec.shards_optimizer) refuse("shard_optimizer is 1", "which sends parameters after each update");
}

}  // namespace

StepLayout::StepLayout(const Graph& model, StepSpec spec, int devices, const std::string& options_name, Purpose purpose)
    : model_(model), spec_(std::move(spec)), purpose_(purpose) {
  for (const Value& value : model.values())
    if (value.role == Role::parameter || value.role == Role::buffer) state_[value.name] = &value;
  spec_.mesh = spread(spec_.mesh, devices);
  ranks_ = RankMap(spec_.mesh);
  share_sizes_ = {ranks_.shares(), spec_.shares};
  if (purpose == Purpose::training) {
    check_mesh(options_name);
    check_combinations(options_name);
  }
  check_groups();
  if (purpose == Purpose::training) find_trainable();
  for (int part = 0; part < ranks_.parts(); ++part) parts_.push_back(make_part(part));
}

// Refuses what the mesh cannot be combined with, and makes its cuts.
void StepLayout::check_mesh(const std::string& options_name) {
  const std::string refusal = refusal_of(spec_.mesh, spec_.logical_shards > 0);
  if (!refusal.empty()) throw Error(Status::unsupported, options_name + refusal);
  if (ranks_.positions() == 1 && !spec_.layer_cuts.empty())
    throw Error(Status::invalid_argument, text(options_name, "layer_cuts is '", join(spec_.layer_cuts, ","),
                                               "', needs options.mesh.layer above 1"));
  if (ranks_.parts() == 1) return;
  if (spec_.pipeline_chunks > 1 && spec_.pipeline_schedule != PipelineSchedule::interleaved)
    throw Error(Status::invalid_argument, text(options_name, "layer_chunks is ", spec_.pipeline_chunks,
                                               ", needs options.layer_schedule TROIKA_LAYER_SCHEDULE_INTERLEAVED"));
  if (ranks_.positions() > 1) stages_.emplace(model_, ranks_.positions() * spec_.pipeline_chunks, spec_.layer_cuts);
  if (ranks_.channels() > 1) channel_split_.emplace(model_, ranks_.channels());
}

void StepLayout::check_combinations(const std::string& options_name) const {
  check_late_updates(spec_, ranks_.parts(), options_name);
  check_shares(spec_, ranks_.shares(), options_name);
  check_class_weights(spec_, model_, options_name);
  if (spec_.logical_shards == 0) return;
  if (spec_.syncs_statistics)
    throw Error(Status::invalid_argument,
                text(options_name, "sync_batch_norm is 1 and logical_shards is ", spec_.logical_shards,
                     ", which normalise differently; set only one of them"));
  if (spec_.compresses_gradients)
    throw Error(Status::invalid_argument,
                text(options_name, "gradient_compression is BF16 and logical_shards is ", spec_.logical_shards,
                     ", whose bits it would change with the number of devices; set only one of them"));
  const std::string refusal = refusal_of_shards(spec_.logical_shards, spec_.micro_batches, ranks_.size());
  if (!refusal.empty()) throw Error(Status::invalid_argument, options_name + refusal);
}

void StepLayout::check_groups() const {
  for (const ParameterGroup& group : spec_.groups)
    if (std::none_of(state_.begin(), state_.end(), [&](const auto& entry) {
          return entry.second->role == Role::parameter && matches(group, entry.first);
        }))
      throw Error(Status::not_found, text("parameter group '", group.pattern, "': no parameter of model '",
                                          model_.name(), "' matches it"));
}

void StepLayout::find_trainable() {
  bool has_parameters = false;
  for (const Value& value : model_.values()) {
    if (value.role != Role::parameter) continue;
    has_parameters = true;
    if (!is_frozen(value.name)) trainable_.push_back(value.name);
  }
  if (trainable_.empty())
    throw Error(Status::invalid_argument, text("model '", model_.name(), "': ",
                                               has_parameters ? "every parameter is frozen; nothing is left to train"
                                                              : "has no parameters; nothing is there to train"));
}

int StepLayout::row_of(const std::string& name) const {
  for (size_t g = 0; g < spec_.groups.size(); ++g)
    if (matches(spec_.groups[g], name)) return static_cast<int>(g) + 1;
  return 0;
}

bool StepLayout::is_frozen(const std::string& name) const {
  const int row = row_of(name);
  return row > 0 && spec_.groups[static_cast<size_t>(row - 1)].is_frozen;
}

UpdateGroup StepLayout::settings_of(const std::string& name) const {
  const bool has_one_axis = state_.at(name)->type.shape.rank() <= 1, has_norms = spec_.optimizer->norms != nullptr;
  UpdateGroup group;
  group.row = row_of(name);
  group.skips_decay = has_one_axis && (has_norms || !spec_.decays_one_axis);
  group.has_norms = has_norms && !has_one_axis;
  return group;
}

// Makes buckets of trainable parameters, then groups of equal settings within each bucket: an
// update waits only for its own bucket.
ModelPart StepLayout::make_part(int index) const {
  ModelPart part;
  std::vector<NamedBytes> sizes, whole_sizes;  // whole: the same on all ranks of a channel group
  for (const Value& value : model_.values()) {
    if (value.role != Role::parameter && value.role != Role::buffer) continue;
    const bool is_trained = std::find(trainable_.begin(), trainable_.end(), value.name) != trainable_.end();
    const std::vector<int> holders = holders_of(value.name);
    if (is_trained && !holders.empty() && ranks_.position_of_part(holders[0]) == ranks_.position_of_part(index))
      whole_sizes.push_back({value.name, value.type.bytes()});
    if (std::find(holders.begin(), holders.end(), index) == holders.end()) continue;
    part.state.push_back(value.name);
    if (!is_trained) continue;
    part.trainable.push_back(value.name);
    sizes.push_back({value.name, type_of(value.name, index).bytes()});
  }
  part.buckets = make_buckets(sizes, static_cast<size_t>(spec_.bucket_bytes));
  bool is_first = true;
  for (const Bucket& bucket : part.buckets) {
    is_first = is_first || ranks_.shares() > 1;  // without other shares, no update waits for a bucket
    for (const std::string& name : bucket.parameters) {
      const UpdateGroup settings = settings_of(name);
      if (is_first || !part.update_groups.back().has_settings_of(settings)) part.update_groups.push_back(settings);
      part.update_groups.back().parameters.push_back(name);
      is_first = false;
    }
  }
  if (shards_optimizer()) part.owners = assign_owners(whole_sizes, ranks_.shares());
  return part;
}

bool StepLayout::shards_optimizer() const {
  return spec_.shards_optimizer && purpose_ == Purpose::training && ranks_.shares() > 1;
}

const StateSlice& StepLayout::slice_of(const std::string& name, int part) const {
  static const StateSlice whole;
  return channel_split_ ? channel_split_->slice_of(name, ranks_.channel_of_part(part)) : whole;
}

std::vector<int> StepLayout::holders_of(const std::string& name) const {
  const int position = stages_ ? ranks_.position_of_stage(stages_->stage_of_state(name)) : 0;
  std::vector<int> holders;
  for (int channel = 0; channel < ranks_.channels(); ++channel) {
    const int part = ranks_.part_at(position, channel);
    if (slice_of(name, part).is_held) holders.push_back(part);
  }
  return holders;
}

TensorType StepLayout::type_of(const std::string& name, int part) const {
  const TensorType& type = state_.at(name)->type;
  return {type.dtype, sliced(type.shape, slice_of(name, part))};
}

StateTable StepLayout::make_state_table(int index) const {
  const ModelPart& part = parts_[static_cast<size_t>(index)];
  std::vector<StateEntry> entries;
  auto add = [&](const std::string& name, int bucket) {
    StateEntry entry;
    entry.name = name;
    entry.type = type_of(name, index);
    entry.is_buffer = state_.at(name)->role == Role::buffer;
    entry.bucket = bucket;
    if (const auto owner = part.owners.find(name); owner != part.owners.end()) entry.owner = owner->second;
    entry.is_decided = entry.is_buffer;
    entries.push_back(entry);
  };
  for (size_t b = 0; b < part.buckets.size(); ++b)
    for (const std::string& name : part.buckets[b].parameters) add(name, static_cast<int>(b));
  for (const std::string& name : part.state)
    if (std::find(part.trainable.begin(), part.trainable.end(), name) == part.trainable.end()) add(name, -1);
  auto add_own = [&entries](const char* name, TensorType type) {
    StateEntry entry;
    entry.name = name;
    entry.type = std::move(type);
    entry.is_buffer = entry.is_decided = true;
    entries.push_back(entry);
  };
  if (spec_.conditioning.is_scaled) add_own(kLossScale, {DType::f32, {2}});
  if (spec_.optimizer->counts_updates)
    add_own(kUpdateCount, {DType::i64, {static_cast<int64_t>(spec_.groups.size()) + 1}});
  return StateTable(std::move(entries), spec_.slots());
}

Range StepLayout::samples_of(Mode mode, int64_t n, int rank, bool is_alone) const {
  if (is_alone) return {0, n};
  return mode == Mode::train && spec_.logical_shards > 0
             ? samples_of_shards(spec_.logical_shards, n, ranks_.shares(), ranks_.share_of(rank))
             : share_sizes_.rows(n, ranks_.share_of(rank));
}

std::vector<MicroBatch> StepLayout::micro_batches(int64_t n, int rank) const {
  const int64_t share = ranks_.share_of(rank);
  if (spec_.syncs_statistics) return cut_aligned_micro_batches(spec_.micro_batches, n, share_sizes_, share);
  return spec_.logical_shards > 0 ? cut_logical_shards(spec_.logical_shards, n, share_sizes_.shares, share)
                                  : cut_micro_batches(spec_.micro_batches, share_sizes_.rows(n, share));
}

CompileRequest StepLayout::request(Mode mode, int64_t n, int rank, bool is_alone) const {
  const ModelPart& part = parts_[static_cast<size_t>(ranks_.part_of(rank))];
  CompileRequest request(model_, spec_);
  request.mode = mode;
  request.local_batch = samples_of(mode, n, rank, is_alone).size();
  request.global_batch = mode == Mode::train ? n : 0;
  if (mode == Mode::train) request.micro_batches = micro_batches(n, rank);
  if (!is_alone) request.results = results_of(mode, n, rank);
  request.ranks = is_alone ? 1 : ranks_.shares();
  request.rank = is_alone ? 0 : ranks_.share_of(rank);
  request.stages = stages();
  request.position = ranks_.position_of(rank);
  request.positions = ranks_.positions();
  request.channel_split = channel_split_ ? &*channel_split_ : nullptr;
  request.channel_rank = ranks_.channel_of(rank);
  request.trainable = trainable_;
  request.own_trainable = part.trainable;
  request.buckets = part.buckets;
  request.groups = groups_of(rank);
  request.counted_gradients = counted_gradients_of(rank);
  request.split_norms = split_norms_of(ranks_.part_of(rank));
  request.spec.shards_optimizer = shards_optimizer();
  return request;
}

BatchResults StepLayout::results_of(Mode mode, int64_t n, int rank) const {
  BatchResults results;
  if (mode == Mode::predict || ranks_.size() == 1) return results;
  for (int share = 0; share < ranks_.shares(); ++share) {
    if (share == ranks_.share_of(rank)) results.first = results.places;
    const bool is_whole = mode != Mode::train;  // without micro-batches
    results.places += is_whole ? 1 : static_cast<int64_t>(micro_batches(n, ranks_.rank_of(share, 0)).size());
  }
  results.is_counted = ranks_.channel_of(rank) == 0;
  results.has_losses = ranks_.position_of(rank) == ranks_.positions() - 1;
  results.shares = ranks_.shares();
  results.parts = ranks_.parts();
  return results;
}

// Returns the groups without the parameters that another share's rank updates.
std::vector<UpdateGroup> StepLayout::groups_of(int rank) const {
  const ModelPart& part = parts_[static_cast<size_t>(ranks_.part_of(rank))];
  if (part.owners.empty()) return part.update_groups;
  std::vector<UpdateGroup> own;
  for (UpdateGroup group : part.update_groups) {
    std::erase_if(group.parameters,
                  [&](const std::string& name) { return part.owners.at(name) != ranks_.share_of(rank); });
    if (!group.parameters.empty()) own.push_back(std::move(group));
  }
  return own;
}

std::vector<std::string> StepLayout::split_norms_of(int index) const {
  std::vector<std::string> names;
  if (ranks_.channels() == 1 || !spec_.optimizer->norms) return names;
  for (const std::string& name : trainable_)
    if (settings_of(name).has_norms && ranks_.position_of_part(holders_of(name)[0]) == ranks_.position_of_part(index))
      names.push_back(name);
  return names;
}

CountedGradients StepLayout::counted_gradients_of(int rank) const {
  const int index = ranks_.part_of(rank);
  CountedGradients counted{index, ranks_.parts(), part(index).trainable};
  // All ranks of a channel group hold what is not cut; the first rank counts it.
  std::erase_if(counted.names, [&](const std::string& name) {
    return ranks_.channel_of(rank) != 0 && slice_of(name, index).axis < 0;
  });
  return counted;
}

}  // namespace troika
