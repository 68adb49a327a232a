// One device's copy of the model: its worker, its memory, its plans.
#pragma once

#include <memory>
#include <vector>

#include "data/batch.h"
#include "models/parameter_store.h"
#include "runtime/executor.h"
#include "runtime/worker.h"
#include "train/compiled_plans.h"
#include "train/kept_samples.h"
#include "train/posted_results.h"
#include "train/run_arguments.h"
#include "train/state_memory.h"
#include "train/step_times.h"

namespace troika {

class Replica {
 public:
  // `runs_on_callers`: runs take place on the thread that starts them, if the device allows it.
  Replica(int rank, std::shared_ptr<Device> device, bool collect_trace, bool runs_on_callers = false);

  int rank() const { return rank_; }
  DeviceId device_id() const { return device_->id(); }
  RankGroups& groups() { return groups_; }

  // Makes the plan of that key current. Returns true if there is one, or if none is needed: a
  // replica without samples to predict from is idle.
  bool use(const PlanKey& key);
  // Compiles the plan for the request and makes the plan current. The arena grows to hold the plan.
  // On an error nothing has changed.
  void prepare(const PlanKey& key, const CompileRequest& request, StateTable& state, const Log& log);
  const Plan& current_plan() const { return *plans_.current().plan; }

  // Datasets that the device keeps, for runs of the current plan that gather samples from them.
  // Returns true if the device has the dataset, or if the plan reads no samples.
  bool use_samples(const std::shared_ptr<const Dataset>& dataset);
  // Bytes that the dataset takes on the device, and bytes that the device has free for datasets.
  size_t bytes_of_samples(const Dataset& dataset) const;
  size_t room_for_samples() const { return device_->room_for_samples(); }
  // Begins to copy the dataset to the device. The wait throws OUT_OF_MEMORY if there is no room.
  void start_keeping(std::shared_ptr<const Dataset> dataset);
  void wait_for_keeping();
  void drop_samples(const Dataset* dataset = nullptr);  // null: all
  void drop_abandoned_samples();
  bool keeps_samples() const { return !samples_.empty(); }
  size_t sample_bytes() const { return samples_.bytes(); }

  bool runs_ahead() const { return device_->runs_ahead(); }
  // Whether launches are recorded, and can run concurrently.
  bool records() const { return device_->can_record() && !collects_trace_; }

  // Starts the prepared plan. wait() returns when the run has ended, and throws its error.
  void start(RunArguments arguments);
  void wait();
  // After a run that asked for `earlier` results: reads the results of that run itself.
  void collect(RunArguments arguments);
  const RunResults& results() const { return results_; }
  // The time of the last run in which the replica waited for other ranks.
  std::chrono::steady_clock::duration waited() const { return waited_; }
  bool is_idle() const { return is_idle_; }
  // The times of the last run that was measured.
  const StepTimes& times() const { return times_; }

  // Runs the update that a late plan has left to its next run. Waits for sums that other ranks have
  // started, for as long as the run before might have taken. If another rank is lost, so is the
  // update, and the groups end.
  void finish_update();
  const StateMemory& state_memory() const { return state_; }  // for its sizes
  // With all updates of the runs so far.
  StateMemory& state() {
    finish_update();
    return state_;
  }
  void allocate_state(const StateTable& state);  // of a table that is placed
  void release();                                // plans and state, before any run
  // Uses the memory of another replica on the same device, which has it for longer.
  void share_state(const StateTable& state, const Replica& owner);

  // Ends the worker, and leaves the groups. No run may follow.
  void disconnect() {
    worker_.end();
    groups_ = RankGroups();
  }
  // Ends this rank's groups. From any thread.
  void abort(const std::string& reason) { groups_.abort(reason); }

  size_t arena_bytes() const { return arena_bytes_; }
  size_t plan_count() const { return plans_.size(); }
  const std::vector<TraceEvent>& trace() const { return trace_.events; }
  const Plan* traced_plan() const { return traced_plan_; }

 private:
  template <typename Work>
  void guarded(Work work);
  void run();
  void delay_update();
  void gather(CompiledPlan& entry);
  void grow_arena(size_t bytes);

  const int rank_;
  std::shared_ptr<Device> device_;
  RankGroups groups_;
  CompiledPlans plans_;
  bool is_idle_ = false;
  Buffer arena_;
  size_t arena_bytes_ = 0;
  Bases bases_;
  const std::vector<BucketRange>* buckets_ = nullptr;
  KeptSamples samples_;                             // its current store is the run's; none if the plan reads no samples
  std::shared_ptr<const Dataset> dataset_to_keep_;  // for the job in progress
  std::vector<std::byte> fed_numbers_;              // laid out as the plan's `fed_numbers`
  PostedResults posted_;
  RunArguments arguments_;
  RunResults results_;
  std::chrono::steady_clock::duration waited_{0};
  StepTimes times_;
  bool owes_update_ = false;                            // of the current plan, which is late
  std::vector<float> settings_, late_settings_;         // of the last late step, and of the one before
  std::chrono::steady_clock::duration update_time_{0};  // that the update may take
  const bool collects_trace_, runs_on_callers_;
  Trace trace_;
  const Plan* traced_plan_ = nullptr;
  std::function<void()> job_, collect_job_, keep_job_;
  StateMemory state_;
  Worker worker_;  // last: its thread ends before the rest goes
};

}  // namespace troika
