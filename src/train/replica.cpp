// Compiling, feeding and running one replica's plans.
#include "train/replica.h"

#include <cstring>
#include <thread>
#include <utility>

#include "core/process_state.h"
#include "core/text.h"
#include "train/plan_ports.h"

namespace troika {

Replica::Replica(int rank, std::shared_ptr<Device> device, bool collect_trace, bool runs_on_callers)
    : rank_(rank),
      device_(std::move(device)),
      arena_(no_buffer()),
      samples_(*device_),
      posted_(*device_, groups_),
      collects_trace_(collect_trace),
      runs_on_callers_(runs_on_callers && device_->runs_on_any_thread()),
      job_([this] { run(); }),
      collect_job_([this] { guarded([&] { posted_.collect(arguments_.deadline, results_); }); }),
      keep_job_([this] { samples_.add(std::exchange(dataset_to_keep_, nullptr), parts_read(current_plan())); }),
      state_(*device_, worker_, bases_),
      worker_(device_) {}

bool Replica::use(const PlanKey& key) {
  if (owes_update_ && plans_.current().key != key) finish_update();
  is_idle_ = key.mode == Mode::predict && key.local_batch == 0;
  return is_idle_ || plans_.use(key);
}

void Replica::prepare(const PlanKey& key, const CompileRequest& request, StateTable& state, const Log& log) {
  std::unique_ptr<Plan> plan;
  worker_.run([&] {
    plan = std::make_unique<Plan>(compile(request, *device_, state, log));
    watch_libraries(LibraryPart::plans);
    if (!state_.is_allocated()) allocate_state(state);
    if (plan->uses(Segment::copies)) state_.allocate_copies(state);
    grow_arena(plan->arena_bytes);
    bind(*plan, bases_);
    posted_.make_room(*plan);
    fed_numbers_.resize(std::max(fed_numbers_.size(), plan->fed_numbers.bytes));
    groups_.reserve(*plan);
  });
  traced_plan_ = nullptr;
  trace_.make_room(*plan, collects_trace_ ? device_.get() : nullptr);
  plans_.add(key, std::move(plan));
}

void Replica::allocate_state(const StateTable& state) {
  const Communicator* const data = groups_.of(RankGroup::data);
  state_.allocate(state, data ? data->rank() : 0);
  buckets_ = &state.buckets();
}

void Replica::release() {
  plans_.clear();
  traced_plan_ = nullptr;
  state_.release();
}

void Replica::share_state(const StateTable& state, const Replica& owner) {
  state_.share(owner.state_);
  buckets_ = &state.buckets();
}

void Replica::grow_arena(size_t bytes) {
  if (bytes <= arena_bytes_ && bases_.arena) return;
  arena_ = no_buffer();  // first, so that the old arena and the new one need not fit together
  bases_.arena = nullptr;
  try {
    arena_ = device_->allocate(bytes, "the plan's arena");
    bases_.arena = arena_.get();
    plans_.bind_all(bases_);
    arena_bytes_ = bytes;
  } catch (...) {
    // Plans that point into the old arena are compiled again when they are needed.
    plans_.clear();
    traced_plan_ = nullptr;
    arena_ = no_buffer();
    bases_.arena = nullptr;
    arena_bytes_ = 0;
    throw;
  }
}

bool Replica::use_samples(const std::shared_ptr<const Dataset>& dataset) {
  const SampleStore::Parts parts = parts_read(current_plan());
  samples_.use_none();
  return (!parts.inputs && !parts.targets) || samples_.use(*dataset, parts);
}

size_t Replica::bytes_of_samples(const Dataset& dataset) const {
  return SampleStore::bytes_of(dataset, parts_read(current_plan()));
}

void Replica::start_keeping(std::shared_ptr<const Dataset> dataset) {
  if (samples_.make_room()) plans_.forget_gathers();
  dataset_to_keep_ = std::move(dataset);
  worker_.start(keep_job_);
}

void Replica::wait_for_keeping() { worker_.wait(); }

void Replica::drop_samples(const Dataset* dataset) {
  if (samples_.drop(dataset)) plans_.forget_gathers();
}

void Replica::drop_abandoned_samples() {
  if (samples_.drop_abandoned()) plans_.forget_gathers();
}

void Replica::start(RunArguments arguments) {
  arguments_ = arguments;
  results_ = RunResults();
  if (!runs_on_callers_) return worker_.start(job_);
  const BorrowedThread thread(*device_);
  run();
}

void Replica::collect(RunArguments arguments) {
  arguments_ = arguments;
  results_ = RunResults();
  worker_.start(collect_job_);
}

void Replica::wait() {
  if (runs_on_callers_) return;
  // The plan's own waits end at the deadline. The rest is time for the error to arrive.
  worker_.wait(arguments_.deadline + std::chrono::seconds(60));
}

// A rank that fails ends its groups, so that no rank waits for it.
template <typename Work>
void Replica::guarded(Work work) {
  try {
    work();
  } catch (const std::exception& e) {
    abort(e.what());
    throw;
  }
}

void Replica::run() {
  guarded([&] {
    CompiledPlan& current = plans_.current();
    Plan& plan = *current.plan;
    const bool begins = arguments_.piece != Piece::backward;
    if (begins && current.runs == 1 && plan.recorded.empty() && records()) record(plan, *device_);
    if (arguments_.samples && samples_.current()) gather(current);
    if (plan.is_late) delay_update();
    feed(plan, bases_, *device_, arguments_, fed_numbers_);

    if (begins) trace_.events.clear();
    if (arguments_.adds_gradients) state_.set_gradients_aside();
    waited_ =
        execute(plan, *device_, bases_, *buckets_, groups_, arguments_.deadline,
                collects_trace_ || arguments_.is_measured ? &trace_ : nullptr, arguments_.piece, state_.take_copies());
    if (plan.keeps_copies) state_.keep_copies();
    owes_update_ = plan.is_late;
    if (arguments_.is_measured) times_ = measure_step(plan, trace_.events, *buckets_);
    if (arguments_.adds_gradients) state_.add_gradients_set_aside();
    if (collects_trace_) traced_plan_ = &plan;
    if (arguments_.piece != Piece::forward) ++current.runs;

    posted_.post(plan, bases_, arguments_.wants, arguments_.deadline, results_);
    if (arguments_.wants != Results::own) return;
    // The caller has left, and may have freed the memory, if the run missed its deadline.
    if (!runs_on_callers_ && std::chrono::steady_clock::now() >= arguments_.deadline) posted_.throw_late();
    if (arguments_.output) copy_rows(plan, bases_, *device_, Report::value, arguments_.output);
    if (arguments_.input_gradient) copy_rows(plan, bases_, *device_, Report::input_gradient, arguments_.input_gradient);
  });
}

// The run makes the update of the step before, with the settings of that step.
void Replica::delay_update() {
  late_settings_.swap(settings_);
  settings_ = *arguments_.settings;
  update_time_ = arguments_.deadline - std::chrono::steady_clock::now();
  if (std::exchange(owes_update_, false))  // a run that fails may have made a part of the update
    arguments_.settings = &late_settings_;
  else
    arguments_.piece = Piece::without_update;
}

void Replica::finish_update() {
  if (!std::exchange(owes_update_, false)) return;
  const Deadline deadline = std::chrono::steady_clock::now() + update_time_;
  bool are_there = false;  // all sums
  const auto update = [&] {
    const Plan& plan = current_plan();
    wait_for_late_sums(plan, groups_, deadline);
    are_there = true;
    RunArguments numbers;
    numbers.settings = &settings_;
    feed(plan, bases_, *device_, numbers, fed_numbers_);
    execute(plan, *device_, bases_, *buckets_, groups_, deadline, nullptr, Piece::update);
  };
  try {
    worker_.run([&] { guarded(update); });
  } catch (const Error& e) {
    // Without the sums, parameters stay those before the update. The groups have ended, so that the
    // next step fails.
    if (are_there || e.status() != Status::comm) throw;
  }
}

// Gathers from the store what feed copies from the host: the whole batch, or its micro-batches.
void Replica::gather(CompiledPlan& entry) {
  SampleStore& store = *samples_.current();
  const bool is_shuffled = arguments_.samples->key.has_value();
  if (entry.gathers_from != &store || entry.gathers_shuffled != is_shuffled) {
    entry.gathers = create_gathers(*entry.plan, bases_, store, is_shuffled);
    entry.gathers_from = &store;
    entry.gathers_shuffled = is_shuffled;
  }
  store.set_place(*arguments_.samples);
  for (const auto& kernel : entry.gathers) kernel->run();
}

}  // namespace troika
