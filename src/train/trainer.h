// A model attached to devices: compile once, step many.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "data/loader.h"
#include "train/batch_checks.h"
#include "train/label_count.h"
#include "train/peers.h"
#include "train/trace_text.h"
#include "train/training_run.h"

namespace troika {

class Trainer : public ParameterOwner {
 public:
  // A list of devices is a world that this process holds whole.
  Trainer(std::shared_ptr<Context> context, std::shared_ptr<Model> model, LocalDevices local, TrainerOptions options);
  ~Trainer() override;

  const std::shared_ptr<Model>& model() const { return model_; }
  const std::vector<DeviceId>& devices() const { return local_.devices; }
  const TrainerOptions& options() const { return run_->options; }
  const Attachment& attached() const { return run_->attached; }
  const StepLayout& layout() const { return run_->attached.layout; }
  const LocalRanks& ranks() const { return run_->attached.ranks; }
  const ShardedState& state() const { return run_->attached.state; }
  Stepper& stepper() const { return run_->stepper; }
  StepRunner& runner() { return run_->attached.runner; }
  StateSync& sync() const { return run_->sync; }

  // ---- one batch ----
  // In a world of several processes these calls are collective, each with the process's own rows.
  // Returns false if a stop was requested: nothing was done. Without `wants_results` the call need
  // not wait for the devices, and the result has no loss.
  bool step(const Batch& batch, StepResult& result, bool wants_results = true);

  // ---- a step in pieces (train/pieces.h) ----
  // Returns false if a stop was requested: nothing was done. `output`, if not null, receives the
  // network's output for the batch, row-major.
  bool forward(const Batch& batch, const ForwardOptions& options, StepResult& result, bool wants_results,
               std::vector<float>* output);
  void backward(const TensorType& type, const float* gradient);
  StepResult apply(bool wants_results);
  Pieces& pieces() { return run_->pieces; }

  // ---- epochs (train/epoch.h) ----
  // Trains on at most so many batches of the rest of the epoch.
  PassEnd train(Loader& loader, int64_t batches, Metrics& metrics);
  // Returns false if a stop was requested, or if the callback asked for one.
  bool train_epoch(Loader& loader, Metrics& metrics);
  // Uses all replicas, or only the first replica on `device`.
  bool evaluate(Loader& loader, const DeviceId* device, Metrics& metrics);
  // Writes the output for the samples of an epoch, of which `output` has room for `room`.
  bool predict(Loader& loader, float* output, int64_t room, int64_t& samples);
  void set_progress(std::function<bool(const Progress&)> progress) { progress_ = std::move(progress); }
  void request_stop() { stop_requested_ = true; }
  void clear_stop() { stop_requested_ = false; }

  // ---- settings of updates ----
  // Hold from the next step on. Group -1 is the trainer.
  void set(int group, Setting setting, double value);
  double get(int group, Setting setting) const { return run_->stepper.settings().get(group, setting); }
  double learning_rate(int group) const { return run_->stepper.learning_rate(group); }  // of the next step
  // Frozen parameters lose their slots; other parameters keep theirs. On an error nothing has
  // changed.
  void set_frozen(int group, bool is_frozen);
  bool is_frozen(int group) const { return run_->is_frozen(group); }

  // ---- parameters ----
  void pull() override;
  void check_replicas();
  void require_attached() const;  // DETACHED if another trainer has taken over
  void check_usable() const;      // that, and COMM if an earlier step failed half way

  // ---- training state ----
  TrainingState training_state() const { return run_->stepper.state(); }
  const std::vector<std::string>& trainable() const { return layout().trainable(); }  // in the model's order
  HostSlots read_slots() { return run_->sync.read_slots(); }
  // Takes over a state. Its slots are those that the local ranks hold; `values` are by entry of the
  // model's store.
  void restore(const TrainingState& state, HostSlots slots, const std::vector<std::vector<std::byte>>& values);
  void refresh_store();  // brings the model's host copies up to date, from within a call of this trainer

  // ---- insight ----
  std::string explain(int64_t batch);
  std::string trace() const { return require_trace(ranks()); }

  // ---- for epochs and single batches ----
  BatchChecks& checks() { return checks_; }
  // Prepares plans and state. Throws Stopped if a stop is requested meanwhile, unless `heeds_stop`
  // is false.
  void prepare(Mode mode, int64_t n, const ActiveRanks& active, const StepForm& form = {}, bool heeds_stop = true);
  SampleKeeper& keeper() { return run_->attached.keeper; }
  LabelCount& label_count() { return label_count_; }
  StepResult start_step(const BatchView& view, const BatchOrigin* origin, Results wants);
  const RunResults& evaluate(const BatchView& view, const ActiveRanks& active);  // valid until the next run
  const std::atomic<bool>* stop_request() const { return peers_->exist() ? nullptr : &stop_requested_; }
  const Peers& peers() const { return *peers_; }
  bool take_stop_request() { return stop_requested_.exchange(false); }
  bool tell(const Progress& progress) const { return !progress_ || progress_(progress); }

  Use& busy() { return busy_; }

 private:
  std::shared_ptr<Context> context_;
  std::shared_ptr<Model> model_;
  const LocalDevices local_;
  std::unique_ptr<TrainingRun> run_;
  std::unique_ptr<Peers> peers_;
  BatchChecks checks_;
  LabelCount label_count_;
  std::function<bool(const Progress&)> progress_;
  std::atomic<bool> stop_requested_{false};
  Use busy_;  // a pull uses the trainer briefly, so that it makes no call BUSY
};

}  // namespace troika
