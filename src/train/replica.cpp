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
      collects_trace_(collect_trace),
      runs_on_callers_(runs_on_callers && device_->runs_on_any_thread()),
      job_([this] { run(); }),
      collect_job_([this] {
        guarded([&] {
          if (posted_[turn_].plan) take_results(posted_[turn_]);
        });
      }),
      keep_job_([this] { samples_.add(std::exchange(dataset_to_keep_, nullptr), parts_read(current_plan())); }),
      state_(*device_, worker_, bases_),
      worker_(device_) {}

bool Replica::use(const PlanKey& key) {
  is_idle_ = key.mode == Mode::predict && key.local_batch == 0;
  return is_idle_ || plans_.use(key);
}

void Replica::prepare(const PlanKey& key, const CompileRequest& request, StateTable& state, const Log& log) {
  std::unique_ptr<Plan> plan;
  worker_.run([&] {
    plan = std::make_unique<Plan>(compile(request, *device_, state, log));
    watch_libraries();
    if (!state_.is_allocated()) allocate_state(state);
    grow_arena(plan->arena_bytes);
    bind(*plan, bases_);
    if (posted_[0].plan || posted_[1].plan)
      throw Error(Status::internal, text("replica ", rank_, ": a plan is compiled before results have been read"));
    if (plan->result_numbers.bytes > posted_bytes_ || !posted_[0].readback) {
      auto first = device_->create_readback(plan->result_numbers.bytes);
      posted_[1].readback = device_->create_readback(plan->result_numbers.bytes);
      posted_[0].readback = std::move(first);
      posted_bytes_ = plan->result_numbers.bytes;
    }
    fed_numbers_.resize(std::max(fed_numbers_.size(), plan->fed_numbers.bytes));
    groups_.reserve(*plan);
  });
  traced_plan_ = nullptr;
  trace_.reserve(plan->steps.size());
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
    feed(plan, bases_, *device_, arguments_, fed_numbers_);

    if (begins) trace_.clear();
    if (arguments_.adds_gradients) state_.set_gradients_aside();
    waited_ = execute(plan, *device_, bases_, *buckets_, groups_, arguments_.deadline,
                      collects_trace_ ? &trace_ : nullptr, arguments_.piece);
    if (arguments_.adds_gradients) state_.add_gradients_set_aside();
    if (collects_trace_) traced_plan_ = &plan;
    if (arguments_.piece != Piece::forward) ++current.runs;

    Posted& earlier = posted_[turn_];
    if (arguments_.wants != Results::earlier) earlier.plan = nullptr;
    if (arguments_.wants == Results::none) return;
    turn_ = 1 - turn_;
    Posted& own = posted_[turn_];
    post_results(plan, own);
    if (arguments_.wants == Results::earlier) {
      if (earlier.plan) take_results(earlier);
      return;
    }
    take_results(own);
    // The caller has left, and may have freed the memory, if the run missed its deadline.
    if (!runs_on_callers_ && std::chrono::steady_clock::now() >= arguments_.deadline) throw_late();
    if (arguments_.output) copy_rows(plan, bases_, *device_, Report::value, arguments_.output);
    if (arguments_.input_gradient) copy_rows(plan, bases_, *device_, Report::input_gradient, arguments_.input_gradient);
  });
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

void Replica::post_results(const Plan& plan, Posted& posted) {
  posted.plan = &plan;
  posted.readback->post(bases_.address(plan.result_numbers), plan.result_numbers.bytes);
}

void Replica::take_results(Posted& posted) {
  await(posted);
  results_ = read_results(*std::exchange(posted.plan, nullptr), posted.readback->data());
}

void Replica::throw_late() const {
  throw Error(Status::comm, text("device ", device_->id(), ": its work did not end before the deadline"));
}

void Replica::await(Posted& posted) {
  constexpr int kSpins = 2000;  // a step takes from tens of microseconds to seconds: look often first, then sleep
  for (int looks = 0; !posted.readback->is_there(); ++looks) {
    groups_.check();  // throws if another rank is lost
    if (std::chrono::steady_clock::now() >= arguments_.deadline) throw_late();
    if (looks < kSpins)
      std::this_thread::yield();
    else
      std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
}

}  // namespace troika
