// One device's copy of the model: its worker, its memory, its plans.
#pragma once

#include <memory>
#include <vector>

#include "data/batch.h"
#include "models/parameter_store.h"
#include "plan/compile.h"
#include "runtime/executor.h"
#include "runtime/worker.h"
#include "train/sample_store.h"

namespace troika {

// Which run's results a run waits for and gives back.
enum class Results {
  none,  // it ends when its launches have been handed to the device
  own,
  earlier,  // those of the run before, where that asked for `earlier` too: the device works on while the host looks at them
};

// What one run of a plan is fed and gives back. Pointers are borrowed for the run.
struct RunArguments {
  const float* x = nullptr;      // this replica's samples, row-major
  const void* target = nullptr;  // labels i32 or values f32, of the same samples
  size_t x_bytes = 0, target_bytes = 0;
  std::optional<SamplePlace> samples;  // instead of both: of the dataset that the replica holds
  const std::vector<float>* learning_rates = nullptr;
  int64_t dropout_counter[2] = {0, 0};  // {seed, step}
  Deadline deadline;
  Results wants = Results::own;
  // Results
  double* losses = nullptr;  // borrowed: one a micro-batch, the sum over its samples
  int64_t correct = 0;       // over this replica's samples
  bool is_finite = true;     // with loss scaling: every gradient was
  float gradient_norm = 0;   // before clipping; 0 without
  float* output = nullptr;   // predict: the network's output, row-major
};

class Replica {
 public:
  Replica(int rank, std::shared_ptr<Device> device, bool collect_trace);

  int rank() const { return rank_; }
  DeviceId device_id() const { return device_->id(); }
  // This rank's ends of its groups (RankGroups says which).
  void set_communicator(std::unique_ptr<Communicator> communicator) { communicator_ = std::move(communicator); }
  void set_pipeline(std::unique_ptr<Messenger> pipeline) { pipeline_ = std::move(pipeline); }
  void set_channel_group(std::unique_ptr<Communicator> group) { channel_group_ = std::move(group); }
  void set_model_group(std::unique_ptr<Communicator> group) { model_group_ = std::move(group); }

  // Makes the plan of that mode and these batches current, where it exists already; a replica without samples to
  // evaluate is idle.
  bool use(Mode mode, int64_t local_batch, int64_t global_batch);
  // Compiles the plan for the request and makes it current. The arena grows to hold it. On an error nothing has changed.
  void prepare(const CompileRequest& request, StateTable& state, const Log& log);
  const Plan& current_plan() const { return *current_->plan; }

  // Datasets that the device keeps, for runs of the current plan that gather from them. Whether one can be gathered from: it lies
  // there, or the plan reads no samples.
  bool use_samples(const std::shared_ptr<const Dataset>& dataset);
  // Bytes that it would take, and that the device has for it.
  size_t bytes_of_samples(const Dataset& dataset) const;
  size_t room_for_samples() const { return device_->room_for_samples(); }
  // Begins copying it to the device; wait ends it, and throws OUT_OF_MEMORY where it does not fit.
  void start_keeping(std::shared_ptr<const Dataset> dataset);
  void wait_for_keeping();
  void drop_samples(const Dataset* dataset = nullptr);  // null: all
  void drop_abandoned_samples();
  bool keeps_samples() const { return !stores_.empty(); }
  size_t sample_bytes() const;

  bool runs_ahead() const { return device_->runs_ahead(); }
  // Whether launches are recorded, and can run beside each other.
  bool records() const { return device_->can_record() && !collects_trace_; }

  // Starts the prepared plan; wait() ends it and throws what went wrong.
  void start(RunArguments arguments);
  void wait();
  // After a run that asked for `earlier` results: gives its own back.
  void collect(RunArguments arguments);
  const RunArguments& results() const { return arguments_; }
  bool is_idle() const { return is_idle_; }

  // Memory for the state, once its table is placed; zeroed.
  void allocate_state(const StateTable& state);
  bool has_state() const { return bases_.parameters != nullptr; }

  // Between row-major host memory and this replica's state.
  void upload(const StateTable& state, Role role, const std::string& name, const void* data);
  void download(const StateTable& state, Role role, const std::string& name, void* data);
  // A state segment's bytes as they lie.
  void read_segment(Segment segment, size_t offset, void* data, size_t bytes);

  void abort(const std::string& reason);

  size_t arena_bytes() const { return arena_bytes_; }
  size_t plan_count() const { return plans_.size(); }
  const std::vector<TraceEvent>& trace() const { return trace_; }
  const Plan* traced_plan() const { return traced_plan_; }

 private:
  struct Entry {
    Mode mode;
    int64_t local_batch, global_batch;
    std::unique_ptr<Plan> plan;
    uint64_t last_use;
    int runs = 0;  // on the arena's present place
    // Launches that gather its samples there, from that store and so shuffled.
    std::vector<std::unique_ptr<Kernel>> gathers = {};
    const SampleStore* gathers_from = nullptr;
    bool gathers_shuffled = false;
  };
  // Results of a run on their way.
  struct Posted {
    std::unique_ptr<Readback> readback;
    const Plan* plan = nullptr;  // null: none is on its way, or it has been read
  };
  struct Kept {
    std::unique_ptr<SampleStore> store;
    uint64_t last_use;
  };

  template <typename Work>
  void guarded(Work work);
  template <typename Which>
  void drop_stores(Which which);
  SampleStore::Parts parts_read() const;
  void run();
  void feed(const Plan& plan);
  void gather(Entry& entry);
  void grow_arena(size_t bytes);
  void post_results(const Plan& plan, Posted& posted);
  void await(Posted& posted);
  void read_results(Posted& posted);

  const int rank_;
  std::shared_ptr<Device> device_;
  std::unique_ptr<Communicator> communicator_, channel_group_, model_group_;
  std::unique_ptr<Messenger> pipeline_;
  std::vector<Entry> plans_;
  Entry* current_ = nullptr;
  bool is_idle_ = false;
  uint64_t uses_ = 0;
  Buffer arena_, parameters_, gradients_, optimizer_;
  size_t arena_bytes_ = 0;
  Bases bases_;
  const std::vector<BucketRange>* buckets_ = nullptr;
  std::vector<Kept> stores_;
  SampleStore* store_ = nullptr;                    // of the run; null: its plan reads no samples
  std::shared_ptr<const Dataset> dataset_to_keep_;  // by the job in progress
  std::vector<std::byte> fed_numbers_;              // as the plan's lie
  Posted posted_[2];                                // of this run and of the one before, in turn
  size_t turn_ = 0;                                 // whose is posted_[turn_]: the last run's
  size_t posted_bytes_ = 0;                         // that each can hold
  RunArguments arguments_;
  const bool collects_trace_;
  std::vector<TraceEvent> trace_;
  const Plan* traced_plan_ = nullptr;
  std::function<void()> job_, collect_job_, keep_job_;
  Worker worker_;  // last: its thread ends before the rest goes
};

}  // namespace troika
