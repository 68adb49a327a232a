// A model attached to devices: compile once, step many.
#pragma once

#include <array>
#include <atomic>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data/loader.h"
#include "models/model.h"
#include "train/context.h"
#include "train/model_part.h"
#include "train/replica.h"
#include "train/state_slice.h"
#include "train/trainer_options.h"

namespace troika {

struct StepResult {
  double loss = 0;
  int64_t samples = 0, correct = 0, step = 0;
  double learning_rate = 0, seconds = 0;
  bool is_skipped = false;   // a gradient was not finite: nothing has changed but the loss scale
  double loss_scale = 1;     // that the step used
  double gradient_norm = 0;  // before clipping; 0 without
};

struct Metrics {
  double loss = 0;  // mean over samples
  int64_t samples = 0, correct = 0;
  double seconds = 0;
};

struct Progress {
  int64_t batch = 0, batches = 0, epoch = 0, samples = 0, correct = 0;
  double loss = 0, seconds = 0;
  bool is_training = false;
};

// A place in memory that callers lend for one step.
struct BatchView {
  int64_t n = 0;  // samples
  const float* inputs = nullptr;
  const int32_t* labels = nullptr;
  const float* values = nullptr;
  int64_t value_size = 0;
  float* output = nullptr;                // of predict
  const BatchOrigin* gathered = nullptr;  // samples of the dataset that the replicas hold; inputs and targets are null
};

// What is saved besides parameters and buffers.
struct TrainingState {
  int64_t step = 0;
  BatchPosition position;  // after the last batch
  bool has_position = false;
  std::optional<uint64_t> shuffle_seed;   // the loader's; none: the dataset's order
  std::vector<double> learning_rates;     // base rates: the trainer's, then each group's
  std::array<float, 2> loss_scale{1, 0};  // scale, and good steps since it last changed
};

class Trainer : public ParameterOwner {
 public:
  // `for_inference`: only predict is used, and the parameters' owner stays who it is.
  Trainer(std::shared_ptr<Context> context, std::shared_ptr<Model> model, std::vector<DeviceId> devices,
          TrainerOptions options, bool for_inference = false);
  ~Trainer() override;

  const std::shared_ptr<Model>& model() const { return model_; }
  const std::vector<DeviceId>& devices() const { return devices_; }
  const TrainerOptions& options() const { return options_; }

  // ---- one batch ----
  // False: a stop was requested, and nothing was done.
  // Without `wants_results` the call need not wait for the devices, and the result has no loss.
  bool step(const Batch& batch, StepResult& result, bool wants_results = true);
  // The network's output for `shape[0]` samples, row-major, over all replicas. Gives its shape.
  Shape predict(const Shape& shape, const float* inputs, std::vector<float>& output);

  // ---- epochs ----
  // False where a stop was requested or the callback said so. Where devices run ahead of the host, the step behind the one
  // that the callback is told of is under way; it ends, and counts.
  bool train_epoch(Loader& loader, Metrics& metrics);
  // On all replicas, or on the first of `device` alone.
  bool evaluate(Loader& loader, const DeviceId* device, Metrics& metrics);
  void set_progress(std::function<bool(const Progress&)> progress) { progress_ = std::move(progress); }
  void request_stop() { stop_requested_ = true; }

  // ---- learning rates ----
  void set_learning_rate(int group, double rate);
  double learning_rate(int group) const;  // of the next step

  // ---- parameters ----
  void pull() override;
  void read_parameter(const std::string& name, DeviceId device, void* data, size_t bytes);
  void read_gradient(const std::string& name, float* data, size_t bytes);
  void check_replicas();
  void require_attached() const;  // DETACHED where another trainer has taken over
  void check_usable() const;      // that, and COMM where an earlier step failed half way

  // ---- training state ----
  TrainingState state() const;
  const std::vector<std::string>& trainable() const { return trainable_; }  // in the model's order
  bool has_momentum() const { return options_.sgd.momentum > 0; }
  std::vector<float> read_momentum(const std::string& name);
  // Takes over a state: momentum by trainable parameter (none without momentum), values by entry of the model's store.
  void restore(const TrainingState& state, std::vector<std::vector<float>> momentum,
               const std::vector<std::vector<std::byte>>& values);
  // A loader that stands where the restored state does must go on in its order, or the next step refuses its batch.
  void expect_order() { expects_order_ = has_position_; }
  void refresh_store();  // brings the model's host copies up to date, from within a call of this trainer

  // ---- insight ----
  std::string explain(int64_t batch);
  std::string trace() const;
  const Replica& replica(size_t i) const { return *replicas_[i]; }
  size_t replica_count() const { return replicas_.size(); }
  const StateTable& state_of(size_t replica) const { return part_of(replica).state; }
  int share_of(size_t replica) const { return static_cast<int>(replica / parts()); }  // of the samples

  std::atomic<bool>& busy() { return busy_; }

 private:
  struct Settings {  // of one parameter
    int group = -1;
    bool is_frozen = false;
    double weight_decay = 0;
  };
  Settings settings_of(const std::string& name) const;
  void check_mesh();
  void check_replication() const;
  void check_channel_groups() const;
  void check_groups() const;
  void make_parts();
  ModelPart make_part(size_t index, const std::vector<std::string>& names) const;
  StateTable make_state_table(const ModelPart& part, size_t index, const std::vector<std::string>& names,
                              const std::map<std::string, int>& owners) const;
  void create_replicas();

  // Replica r has part r % parts() of the model, and share r / parts() of the samples. Part p has the layers of place
  // p / channels() in the pipeline, and channels p % channels() of them.
  size_t parts() const { return parts_.size(); }
  size_t channels() const { return channel_split_ ? static_cast<size_t>(channel_split_->ranks()) : 1; }
  const ModelPart& part_of(size_t replica) const { return parts_[replica % parts()]; }
  ModelPart& part_of(size_t replica) { return parts_[replica % parts()]; }
  const StateSlice& slice_of(const std::string& name, size_t part) const;
  std::vector<size_t> holders_of(const std::string& name) const;           // parts with it, or a slice of it
  void write_state(Role role, const std::string& name, const void* data);  // on every replica
  void read_state(Role role, const std::string& name, void* data) const;   // from the first share's
  bool shards_optimizer() const { return options_.shards_optimizer && !for_inference_ && devices_.size() > parts(); }
  std::vector<UpdateGroup> groups_of(size_t rank) const;
  GradientShare gradient_share_of(size_t rank) const;
  void set_groups(const std::vector<std::shared_ptr<Device>>& devices);

  // What replica `rank`, one of `ranks`, computes of a batch of n samples.
  std::vector<MicroBatch> micro_batches(int64_t n, size_t rank, size_t ranks) const;
  Range samples_of(Mode mode, int64_t n, size_t rank, size_t ranks) const;
  void check_logical_shards() const;
  CompileRequest compile_request(Mode mode, int64_t global_batch, size_t rank, size_t ranks) const;
  void prepare(Mode mode, int64_t global_batch, const std::vector<size_t>& ranks);
  void upload_state();
  void sync_buffers();
  void pull_unlocked(ParameterStore& store);
  RunArguments arguments_of(Mode mode, const BatchView& batch, size_t rank, size_t ranks);
  void start_and_wait(Mode mode, const std::vector<size_t>& ranks, const BatchView& batch,
                      Results wants = Results::own);
  void collect(int64_t n);
  template <typename Start>
  void run_on(const std::vector<size_t>& ranks, const BatchView& batch, Mode mode, Start start);
  StepResult start_step(const BatchView& view, const BatchOrigin* origin, Results wants);
  void finish_step(StepResult& result);
  BatchView take_batch(Mode mode, Loader& loader, const BatchOrigin& coming, const std::vector<size_t>& ranks);
  bool keep_samples(const std::shared_ptr<const Dataset>& dataset, const std::vector<size_t>& ranks);
  bool have_room_for(const Dataset& dataset, const std::vector<size_t>& ranks) const;
  void note_loss_scale(StepResult& result);
  size_t most_micro_batches() const;  // of a replica
  double sum_of_losses() const;
  void check_batch(const Shape& shape) const;
  void check_targets(const BatchView& batch) const;
  void check_order(const BatchOrigin& origin) const;
  bool take_stop_request() { return stop_requested_.exchange(false); }
  BatchView view_of(const Batch& batch) const;

  std::shared_ptr<Context> context_;
  std::shared_ptr<Model> model_;
  const std::vector<DeviceId> devices_;
  const TrainerOptions options_;
  const bool for_inference_;
  Shape input_shape_;                          // of a sample
  int64_t outputs_ = 0;                        // of a sample
  std::vector<std::string> trainable_;         // in the model's order
  std::optional<LayerStages> stages_;          // none: each replica has all layers
  std::optional<ChannelSplit> channel_split_;  // none: each has all channels
  std::vector<ModelPart> parts_;
  std::vector<std::unique_ptr<Replica>> replicas_;
  std::vector<size_t> all_ranks_;
  std::vector<double> losses_;  // of the last run's micro-batches: most_micro_batches() for each replica, the rest 0;
                                // ranks of a channel group all have the group's

  std::vector<double> base_rates_;  // the trainer's, then each group's
  std::vector<float> step_rates_;   // of the step in progress
  int64_t step_ = 0;
  BatchPosition position_;
  bool has_position_ = false;
  std::optional<uint64_t> shuffle_seed_;  // as in TrainingState
  bool expects_order_ = false;

  uint64_t uploaded_version_ = 0;          // of the store
  std::array<float, 2> loss_scale_{1, 0};  // as every replica holds it after the last step
  float last_loss_scale_ = 1;              // of the last step's gradients
  bool loss_scale_is_uploaded_ = false;
  std::vector<std::vector<float>> host_momentum_;  // to upload, by trainable parameter; empty: none
  bool buffers_are_synced_ = true;
  bool has_gradients_ = false;
  int64_t largest_batch_ = 0;              // that plans were made for
  std::weak_ptr<const Dataset> not_kept_;  // the last that some device has not taken
  std::exception_ptr broken_;              // why replicas may differ; null: they do not
  std::function<bool(const Progress&)> progress_;
  std::atomic<bool> stop_requested_{false};
  std::atomic<bool> busy_{false};
};

}  // namespace troika
