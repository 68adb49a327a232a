// Plans, stepping and predicting.
#include "train/trainer.h"

#include <algorithm>
#include <chrono>

#include "core/sampler.h"
#include "core/stopwatch.h"
#include "core/text.h"

namespace troika {

std::vector<MicroBatch> Trainer::micro_batches(int64_t n, size_t rank, size_t ranks) const {
  const auto size = static_cast<int64_t>(ranks / parts()), index = static_cast<int64_t>(rank / parts());
  if (options_.syncs_statistics) return cut_aligned_micro_batches(options_.micro_batches, n, size, index);
  return options_.logical_shards > 0 ? cut_logical_shards(options_.logical_shards, n, size, index)
                                     : cut_micro_batches(options_.micro_batches, balanced_split(n, size, index));
}

size_t Trainer::most_micro_batches() const {
  return static_cast<size_t>(options_.logical_shards > 0
                                 ? options_.logical_shards / static_cast<int64_t>(devices_.size() / parts())
                                 : options_.micro_batches);
}

Range Trainer::samples_of(Mode mode, int64_t n, size_t rank, size_t ranks) const {
  const auto shares = static_cast<int64_t>(ranks / parts());
  const int64_t share = ranks == 1 ? 0 : static_cast<int64_t>(rank / parts());
  return mode == Mode::train && options_.logical_shards > 0
             ? samples_of_shards(options_.logical_shards, n, shares, share)
             : balanced_split(n, shares, share);
}

// In the order of samples, so that with logical shards the sum does not depend on how many replicas there are.
double Trainer::sum_of_losses() const {
  double sum = 0;
  for (size_t r = 0; r < replicas_.size(); r += channels())
    for (size_t i = 0; i < most_micro_batches(); ++i) sum += losses_[r * most_micro_batches() + i];
  return sum;
}

CompileRequest Trainer::compile_request(Mode mode, int64_t global_batch, size_t rank, size_t ranks) const {
  CompileRequest request(model_->graph());
  request.mode = mode;
  request.local_batch = samples_of(mode, global_batch, rank, ranks).size();
  request.global_batch = mode == Mode::train ? global_batch : 0;
  if (mode == Mode::train) request.micro_batches = micro_batches(global_batch, rank, ranks);
  request.ranks = static_cast<int>(ranks / parts());
  request.rank = static_cast<int>(rank / parts());
  if (stages_) {
    request.stages = &*stages_;
    request.position = static_cast<int>(rank % parts() / channels());
    request.positions = static_cast<int>(parts() / channels());
    request.schedule = options_.pipeline_schedule;
  }
  if (channel_split_) {
    request.channel_split = &*channel_split_;
    request.channel_rank = static_cast<int>(rank % channels());
  }
  request.loss = options_.loss;
  request.is_mean = options_.reduction == Reduction::mean;
  request.fuse = options_.fuse;
  request.trainable = trainable_;
  request.own_trainable = part_of(rank).trainable;
  request.buckets = part_of(rank).buckets;
  request.sgd = options_.sgd;
  request.compute = options_.compute;
  request.allow_tf32 = options_.allow_tf32;
  request.recompute = options_.recompute;
  request.groups = groups_of(rank);
  request.gradient_share = gradient_share_of(rank);
  request.compresses_gradients = options_.compresses_gradients;
  request.shards_optimizer = shards_optimizer();
  request.syncs_statistics = options_.syncs_statistics;
  request.rates = static_cast<int64_t>(base_rates_.size());
  return request;
}

// Without those that another share's rank updates.
std::vector<UpdateGroup> Trainer::groups_of(size_t rank) const {
  const ModelPart& part = part_of(rank);
  if (!shards_optimizer()) return part.update_groups;
  std::vector<UpdateGroup> own;
  for (UpdateGroup group : part.update_groups) {
    std::erase_if(group.parameters, [&](const std::string& name) {
      return part.state.find(name).owner != static_cast<int>(rank / parts());
    });
    if (!group.parameters.empty()) own.push_back(std::move(group));
  }
  return own;
}

GradientShare Trainer::gradient_share_of(size_t rank) const {
  GradientShare share{static_cast<int>(rank % parts()), static_cast<int>(parts()), part_of(rank).trainable};
  // What ranks of a channel group have whole, they all have: the first counts it.
  std::erase_if(*share.counted, [&](const std::string& name) {
    return rank % channels() != 0 && slice_of(name, rank % parts()).axis < 0;
  });
  return share;
}

void Trainer::prepare(Mode mode, int64_t global_batch, const std::vector<size_t>& ranks) {
  for (const auto& replica : replicas_) replica->drop_abandoned_samples();
  // The arena grows, and kernels are measured, with all the memory that there can be.
  if (global_batch > largest_batch_)
    for (const auto& replica : replicas_) replica->drop_samples();
  largest_batch_ = std::max(largest_batch_, global_batch);
  for (size_t rank : ranks) {
    Replica& replica = *replicas_[rank];
    if (replica.use(mode, samples_of(mode, global_batch, rank, ranks.size()).size(),
                    mode == Mode::train ? global_batch : 0))
      continue;
    CompileRequest request = compile_request(mode, global_batch, rank, ranks.size());
    if (replica.records()) request.least_beside = options_.least_beside;
    replica.prepare(request, part_of(rank).state, context_->log());
    context_->log().write(LogLevel::info, text("compiled plan ", replica.current_plan().name, ", arena ",
                                               replica.arena_bytes(), " bytes"));
  }
  for (size_t r = 0; r < replicas_.size(); ++r)
    if (!replicas_[r]->has_state()) replicas_[r]->allocate_state(part_of(r).state);
  upload_state();
}

void Trainer::upload_state() {
  ParameterStore& store = *model_->parameters();
  std::lock_guard lock(store.mutex());
  if (for_inference_) store.refresh();
  if (uploaded_version_ != store.version()) {
    if (!for_inference_) refresh_store();
    for (size_t i = 0; i < store.size(); ++i) {
      const Parameter& p = store.entry(i);
      if (!p.is_initialized)
        throw Error(Status::not_initialized,
                    text("parameter '", p.name, "' has no value yet; initialize or load the model first"));
      write_state(p.is_buffer ? Role::buffer : Role::parameter, p.name, p.data.data());
    }
    uploaded_version_ = store.version();
    buffers_are_synced_ = true;
  }
  if (options_.sgd.is_scaled && !loss_scale_is_uploaded_) {
    for (size_t r = 0; r < replicas_.size(); ++r)
      replicas_[r]->upload(part_of(r).state, Role::buffer, kLossScale, loss_scale_.data());
    loss_scale_is_uploaded_ = true;
  }
  if (!host_momentum_.empty()) {
    for (size_t i = 0; i < trainable_.size(); ++i)
      write_state(Role::optimizer_state, trainable_[i], host_momentum_[i].data());
    host_momentum_.clear();
  }
}

// Running statistics are those of the first share of samples: the others take them before they evaluate.
void Trainer::sync_buffers() {
  if (buffers_are_synced_) return;
  std::vector<std::byte> data;
  for (size_t part = 0; part < parts(); ++part)
    for (const StateEntry& entry : parts_[part].state.entries()) {
      if (!entry.is_buffer) continue;
      data.resize(entry.bytes);
      replicas_[part]->read_segment(Segment::parameters, entry.offset, data.data(), entry.bytes);
      for (size_t r = part + parts(); r < replicas_.size(); r += parts())
        replicas_[r]->upload(parts_[part].state, Role::buffer, entry.name, data.data());
    }
  buffers_are_synced_ = true;
}

void Trainer::require_attached() const {
  if (!for_inference_ && !model_->parameters()->is_owner(this))
    throw Error(Status::detached,
                text("model '", model_->name(), "' was attached again; this trainer no longer owns its parameters"));
}

void Trainer::check_usable() const {
  require_attached();
  try {
    if (broken_) std::rethrow_exception(broken_);
  } catch (const std::exception& e) {
    throw Error(Status::comm,
                text("an earlier step failed half way (", e.what(), "); attach the model again and load a checkpoint"));
  }
}

void Trainer::check_batch(const Shape& shape) const {
  const Shape& sample = input_shape_;
  if (shape.rank() != sample.rank() + 1 ||
      !std::equal(sample.dims().begin(), sample.dims().end(), shape.dims().begin() + 1))
    throw Error(Status::invalid_argument, text("batch: inputs have shape ", shape, ", model '", model_->name(),
                                               "' needs [batch, ", join(sample.dims(), ", "), "]"));
  if (shape[0] < 1) throw Error(Status::invalid_argument, "batch: has no samples, needs at least 1");
}

void Trainer::check_targets(const BatchView& batch) const {
  const int64_t n = batch.n, outputs = outputs_;
  if (options_.loss == Loss::mean_squared_error) {
    if (!batch.values || batch.value_size != outputs)
      throw Error(Status::invalid_argument,
                  text("batch: targets are ", batch.values ? text(batch.value_size, " values a sample") : "labels",
                       ", mean squared error on model '", model_->name(), "' needs ", outputs, " values a sample"));
    return;
  }
  if (!batch.labels) throw Error(Status::invalid_argument, "batch: targets are values, cross-entropy needs labels");
  for (int64_t i = 0; i < n; ++i)
    if (batch.labels[i] < 0 || batch.labels[i] >= outputs)
      throw Error(Status::invalid_argument, text("batch: label of sample ", i, " is ", batch.labels[i], ", model '",
                                                 model_->name(), "' has classes 0 to ", outputs - 1));
}

void Trainer::check_order(const BatchOrigin& origin) const {
  if (!expects_order_ || origin.at != position_ || origin.shuffle_seed == shuffle_seed_) return;
  auto order = [](const std::optional<uint64_t>& seed) {
    return seed ? text("shuffled with seed ", *seed) : std::string("in the dataset's order");
  };
  throw Error(Status::invalid_argument,
              text("batch: its samples come ", order(origin.shuffle_seed), ", those of the training state ",
                   order(shuffle_seed_), "; create the loader with the same shuffle and seed"));
}

BatchView Trainer::view_of(const Batch& b) const {
  BatchView view;
  view.n = b.size();
  view.inputs = b.inputs.data();
  view.labels = b.labels.empty() ? nullptr : b.labels.data();
  view.values = b.values.empty() ? nullptr : b.values.data();
  view.value_size = b.value_size;
  return view;
}

RunArguments Trainer::arguments_of(Mode mode, const BatchView& batch, size_t rank, size_t ranks) {
  const int64_t features = input_shape_.elements();
  const Range range = samples_of(mode, batch.n, ranks == 1 ? 0 : rank, ranks);
  RunArguments a;
  a.x = batch.inputs ? batch.inputs + range.begin * features : nullptr;
  a.x_bytes = static_cast<size_t>(range.size() * features) * sizeof(float);
  if (batch.gathered) {
    SamplePlace& place = a.samples.emplace();
    place.first = batch.gathered->first + range.begin;
    if (batch.gathered->shuffle_seed)
      place.key = Sampler::key_of(*batch.gathered->shuffle_seed, batch.gathered->at.epoch);
  } else if (batch.labels) {
    a.target = batch.labels + range.begin;
    a.target_bytes = static_cast<size_t>(range.size()) * sizeof(int32_t);
  } else if (batch.values) {
    a.target = batch.values + range.begin * batch.value_size;
    a.target_bytes = static_cast<size_t>(range.size() * batch.value_size) * sizeof(float);
  }
  a.learning_rates = &step_rates_;
  a.dropout_counter[0] = static_cast<int64_t>(options_.seed);
  a.dropout_counter[1] = step_;
  a.losses = losses_.data() + rank * most_micro_batches();
  const bool leads = rank % channels() == 0;  // its channel group, whose ranks all have the output
  a.output = batch.output && leads ? batch.output + range.begin * outputs_ : nullptr;
  return a;
}

// Starts a run on each of `ranks` by start(replica, arguments), and waits for them all.
template <typename Start>
void Trainer::run_on(const std::vector<size_t>& ranks, const BatchView& batch, Mode mode, Start start) {
  const Deadline deadline = Deadline::clock::now() + std::chrono::milliseconds(options_.deadline_ms);
  std::fill(losses_.begin(), losses_.end(), 0.0);
  std::vector<size_t>::const_iterator started = ranks.begin();  // behind the last one that runs
  std::exception_ptr first_error;
  auto note = [&] {  // within a catch: nobody waits for a rank that is lost
    if (!first_error) first_error = std::current_exception();
    try {
      throw;
    } catch (const std::exception& e) {
      for (size_t rank : ranks) replicas_[rank]->abort(e.what());
    }
  };
  try {
    for (; started != ranks.end(); ++started) {
      RunArguments a = arguments_of(mode, batch, *started, ranks.size());
      a.deadline = deadline;
      if (!replicas_[*started]->is_idle()) start(*replicas_[*started], a);
    }
  } catch (...) {
    note();
  }
  for (auto rank = ranks.begin(); rank != started; ++rank) {
    if (replicas_[*rank]->is_idle()) continue;
    try {
      replicas_[*rank]->wait();
    } catch (...) {
      note();
    }
  }
  if (first_error) std::rethrow_exception(first_error);
}

void Trainer::start_and_wait(Mode mode, const std::vector<size_t>& ranks, const BatchView& batch, Results wants) {
  run_on(ranks, batch, mode, [wants](Replica& replica, RunArguments& arguments) {
    arguments.wants = wants;
    replica.start(arguments);
  });
}

// The results of the last step, of n samples, which was started for `earlier` ones.
void Trainer::collect(int64_t n) {
  BatchView view;
  view.n = n;
  run_on(all_ranks_, view, Mode::train, [](Replica& replica, RunArguments& arguments) { replica.collect(arguments); });
}

// Follows what update_loss_scale did on every replica, by the same arithmetic.
void Trainer::note_loss_scale(StepResult& result) {
  if (!options_.sgd.is_scaled) return;
  auto& [scale, good] = loss_scale_;
  result.loss_scale = static_cast<double>(last_loss_scale_ = scale);
  result.is_skipped = !replicas_[0]->results().is_finite;
  if (result.is_skipped) {
    scale = std::max(scale * static_cast<float>(kLossScaleBackoff), 1.0f);
    good = 0;
  } else if (++good >= static_cast<float>(options_.sgd.scale_interval)) {
    scale *= static_cast<float>(kLossScaleGrowth);
    good = 0;
  }
}

StepResult Trainer::start_step(const BatchView& view, const BatchOrigin* origin, Results wants) {
  for (size_t g = 0; g < base_rates_.size(); ++g)
    step_rates_[g] =
        static_cast<float>(options_.schedule.at(step_, base_rates_[g] < 0 ? base_rates_[0] : base_rates_[g]));
  try {
    model_->parameters()->mark_newer(this);
    start_and_wait(Mode::train, all_ranks_, view, wants);
  } catch (...) {
    broken_ = std::current_exception();
    throw;
  }
  StepResult result;
  result.samples = view.n;
  result.learning_rate = options_.schedule.at(step_, base_rates_[0]);
  result.step = ++step_;
  buffers_are_synced_ = replicas_.size() == parts();
  has_gradients_ = true;
  if (origin) {
    position_ = origin->next;
    shuffle_seed_ = origin->shuffle_seed;
    has_position_ = true;
    expects_order_ = false;
  }
  return result;
}

// What the devices have told of a step.
void Trainer::finish_step(StepResult& result) {
  result.loss = sum_of_losses();
  if (options_.reduction == Reduction::mean) result.loss /= static_cast<double>(result.samples);
  for (size_t r = 0; r < replicas_.size(); r += channels()) result.correct += replicas_[r]->results().correct;
  note_loss_scale(result);
  result.gradient_norm = static_cast<double>(replicas_[0]->results().gradient_norm);
}

bool Trainer::step(const Batch& batch, StepResult& result, bool wants_results) {
  check_usable();
  if (take_stop_request()) return false;
  const Stopwatch stopwatch;
  const BatchView view = view_of(batch);
  check_batch(batch.shape);
  check_targets(view);
  if (batch.origin) check_order(*batch.origin);
  prepare(Mode::train, view.n, all_ranks_);
  result = start_step(view, batch.origin ? &*batch.origin : nullptr,
                      wants_results || options_.sgd.is_scaled ? Results::own : Results::none);
  finish_step(result);
  result.seconds = stopwatch.seconds();
  return true;
}

Shape Trainer::predict(const Shape& shape, const float* inputs, std::vector<float>& output) {
  check_usable();
  check_batch(shape);
  prepare(Mode::predict, shape[0], all_ranks_);
  sync_buffers();
  output.resize(static_cast<size_t>(shape[0] * outputs_));
  BatchView view;
  view.n = shape[0];
  view.inputs = inputs;
  view.output = output.data();
  start_and_wait(Mode::predict, all_ranks_, view);
  return model_->output_shape().times(shape[0]);
}

}  // namespace troika
