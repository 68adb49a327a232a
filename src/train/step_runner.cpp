// Runs a step on all local ranks.
#include "train/step_runner.h"

#include <algorithm>
#include <chrono>

#include "core/address_space.h"
#include "core/sampler.h"
#include "core/text.h"

namespace troika {

StepRunner::StepRunner(const StepLayout& layout, const LocalRanks& ranks, ShardedState& state, const Log& log,
                       std::chrono::milliseconds deadline, size_t sample_bytes, int64_t output_elements)
    : layout_(layout),
      ranks_(ranks),
      state_(state),
      log_(log),
      deadline_(deadline),
      sum_orders_(layout, ranks, log),
      sample_bytes_(sample_bytes),
      output_elements_(output_elements) {}

void StepRunner::prepare(Mode mode, int64_t n, const ActiveRanks& active, const PlanForm& form) {
  const Interruption interruption(std::chrono::steady_clock::now() + deadline_, form.stop);
  holds_forward_ = false;
  for (const LocalRank& local : ranks_) local.replica->drop_abandoned_samples();
  // The arena grows, and kernels are measured, with as much memory as possible.
  if (n > largest_batch_)
    for (const LocalRank& local : ranks_) local.replica->drop_samples();
  largest_batch_ = std::max(largest_batch_, n);
  compile_plans(mode, n, active, form, interruption);
  if (!state_.has_agreed() && !state_.agree_on_layouts()) {
    log_.write(LogTopic::plan, LogLevel::info, "processes prefer different layouts of parameters: all are plain");
    compile_plans(mode, n, active, form, interruption);
  }
  state_.allocate();
  require_address_space(kRoomOfLibraries);  // for the run, of which no rank has begun yet
}

void StepRunner::compile_plans(Mode mode, int64_t n, const ActiveRanks& active, const PlanForm& form,
                               const Interruption& interruption) {
  const bool is_step = mode == Mode::train && form.step.part == StepForm::whole;
  const std::vector<size_t>& sum_order = sum_orders_.find(is_step && !active.is_alone ? n : 0);
  for (int rank : active.ranks) {
    Replica& replica = ranks_.at(rank);
    const PlanKey key{mode,
                      layout_.samples_of(mode, n, rank, active.is_alone).size(),
                      mode == Mode::train ? n : 0,
                      active.is_alone,
                      form.output,
                      form.step,
                      !sum_order.empty()};
    if (replica.use(key)) continue;
    CompileRequest request = layout_.request(mode, n, rank, active.is_alone);
    request.output = form.output;
    request.sum_order = sum_order;
    request.spec.updates_late = is_step && sum_orders_.are_possible();
    request.form = form.step;
    request.runs_beside = replica.records();
    request.interruption = interruption;
    replica.prepare(key, request, state_.table_of(rank), log_);
    log_.write(LogTopic::plan, LogLevel::info,
               text("compiled plan ", replica.current_plan().name, ", arena ", replica.arena_bytes(), " bytes"));
  }
}

// Returns the factor of the loss's gradient, for plans that are fed one.
float StepRunner::label_weight(const BatchView& batch, const StepPiece& piece) const {
  if (!layout_.spec().counts_labels()) return static_cast<float>(piece.loss_weight);
  // If all labels of a batch are ignored or weigh 0, its gradients are 0.
  return batch.weight > 0 ? static_cast<float>(piece.loss_weight / batch.weight) : 0.0f;
}

RunArguments StepRunner::arguments_of(Mode mode, const ActiveRanks& active, const BatchView& batch,
                                      const StepNumbers& numbers, int rank) const {
  const Range range = layout_.samples_of(mode, batch.n, rank, active.is_alone);
  const int64_t row = range.begin - batch.first;  // of the rows that this process has
  RunArguments a;
  if (batch.inputs) a.x = static_cast<const std::byte*>(batch.inputs) + static_cast<size_t>(row) * sample_bytes_;
  a.x_bytes = static_cast<size_t>(range.size()) * sample_bytes_;
  if (batch.gathered) {
    SamplePlace& place = a.samples.emplace();
    place.first = batch.gathered->first + range.begin;
    if (batch.gathered->order.seed) place.key = Sampler::key_of(*batch.gathered->order.seed, batch.gathered->at.epoch);
  } else if (batch.labels) {
    a.target = batch.labels + row * batch.label_size;
    a.target_bytes = static_cast<size_t>(range.size() * batch.label_size) * sizeof(int32_t);
  } else if (batch.values) {
    a.target = batch.values + row * batch.value_size;
    a.target_bytes = static_cast<size_t>(range.size() * batch.value_size) * sizeof(float);
  }
  if (batch.weights) {
    const int64_t labels = batch.labels ? batch.label_size : 1;
    a.weights = batch.weights + row * labels;
    a.weights_bytes = static_cast<size_t>(range.size() * labels) * sizeof(float);
  }
  if (mode == Mode::train) a.settings = &numbers.settings;  // outlives a run that misses its deadline
  a.dropout_counter[0] = numbers.seed;
  a.dropout_counter[1] = numbers.step;
  // the first of a channel group, whose ranks all have the output
  const bool leads = layout_.ranks().channel_of(rank) == 0;
  a.output = batch.output && leads ? batch.output + (range.begin - batch.first_output) * output_elements_ : nullptr;
  return a;
}

// Starts a run on each rank by start(rank, replica, deadline), and waits for all runs.
template <typename Start>
void StepRunner::run_each(const ActiveRanks& active, Start start) {
  const Deadline deadline = Deadline::clock::now() + deadline_;
  auto started = active.ranks.begin();  // after the last rank that runs
  std::exception_ptr first_error;
  auto note = [&] {  // called within a catch: no rank waits for a rank that is lost
    if (!first_error) first_error = std::current_exception();
    try {
      throw;
    } catch (const std::exception& e) {
      for (int rank : active.ranks) ranks_.at(rank).abort(e.what());
    }
  };
  try {
    for (; started != active.ranks.end(); ++started)
      if (Replica& replica = ranks_.at(*started); !replica.is_idle()) start(*started, replica, deadline);
  } catch (...) {
    note();
  }
  for (auto rank = active.ranks.begin(); rank != started; ++rank) {
    if (ranks_.at(*rank).is_idle()) continue;
    try {
      ranks_.at(*rank).wait();
    } catch (...) {
      note();
    }
  }
  if (first_error) ranks_.rethrow(first_error);
  reporter_ = active.ranks.front();
}

void StepRunner::prepare_sums() {
  for (const auto& [rank, replica] : ranks_) replica->state().prepare_sums(state_.table_of(rank));
}

std::optional<Shape> StepRunner::input_gradient_shape() const {
  for (const LocalRank& local : ranks_)
    for (const OutputPort& output : local.replica->current_plan().outputs) {
      if (output.report != Report::input_gradient) continue;
      const std::vector<int64_t>& dims = output.type.shape.dims();
      return Shape(std::vector<int64_t>(dims.begin() + 1, dims.end()));
    }
  return std::nullopt;
}

void StepRunner::add_piece(RunArguments& a, const StepPiece& piece, const BatchView& batch, int rank) const {
  const Range range = layout_.samples_of(Mode::train, batch.n, rank);
  a.piece = piece.piece;
  a.adds_gradients = piece.adds_gradients;
  if (piece.output_gradient) {
    a.target = piece.output_gradient + (range.begin - batch.first) * output_elements_;
    a.target_bytes = static_cast<size_t>(range.size() * output_elements_) * sizeof(float);
  }
  const bool leads = layout_.ranks().channel_of(rank) == 0;
  if (piece.input_gradient && leads)
    a.input_gradient =
        piece.input_gradient + (range.begin - piece.first_input_gradient) * piece.input_gradient_elements;
}

void StepRunner::run(Mode mode, const ActiveRanks& active, const BatchView& batch, const StepNumbers& numbers,
                     Results wants, const StepPiece& piece) {
  holds_forward_ = false;
  const bool is_step = mode == Mode::train && piece.piece == Piece::all && batch.n > 0;
  const bool is_measured = is_step && sum_orders_.measures_next(batch.n);
  run_each(active, [&](int rank, Replica& replica, Deadline deadline) {
    RunArguments a = arguments_of(mode, active, batch, numbers, rank);
    a.label_weight = label_weight(batch, piece);
    if (piece.piece != Piece::all) add_piece(a, piece, batch, rank);
    a.deadline = deadline;
    a.wants = wants;
    a.is_measured = is_measured;
    replica.start(a);
  });
  holds_forward_ = piece.piece == Piece::forward;
  if (is_measured) sum_orders_.choose(batch.n);
}

void StepRunner::collect() {
  run_each(ranks_.all(), [&](int, Replica& replica, Deadline deadline) {
    RunArguments a;
    a.deadline = deadline;
    replica.collect(a);
  });
}

}  // namespace troika
