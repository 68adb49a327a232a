// The loop over epochs: trains, evaluates, writes the run folder, and stops if Ctrl-C asks for it.
#include "cli/training.h"

#include <chrono>
#include <cmath>
#include <vector>

#include "cli/class_names.h"
#include "cli/device_list.h"
#include "cli/epoch_history.h"
#include "cli/model_file.h"
#include "cli/run_report.h"
#include "cli/run_results.h"
#include "cli/step_trace.h"
#include "cli/stop_signals.h"
#include "cli/text.h"
#include "cli/training_setup.h"
#include "core/path.h"

namespace troika::cli {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point began) { return std::chrono::duration<double>(Clock::now() - began).count(); }

constexpr size_t kFewDevices = 4;  // that the first line of a run can name one by one

// Returns the last line of a run, without its files. `reason`: to end early.
std::string describe_end(const std::vector<EpochMetrics>& rows, double seconds, const TrainingSetup& setup,
                         const Job& job, const std::string& reason) {
  const EpochMetrics& last = rows.back();
  std::string line =
      formatted("trained to epoch %lld in %s", static_cast<long long>(last.epoch), as_clock(seconds).c_str());
  const double training = training_seconds(rows, rows.size() - 1);
  if (!std::isnan(training)) line += formatted(" (%.1f s an epoch)", training / static_cast<double>(rows.size()));
  line += " on " + short_devices(setup.devices);
  if (!job.is_alone()) line += formatted(" of each of %d processes", job.size());
  if (!reason.empty()) line += ": " + reason;
  if (last.is_evaluated()) line += formatted("; test accuracy %.4f", last.test_accuracy);
  const bool is_text = setup.train.is_text();
  const EpochMetrics* const best = best_epoch(rows, is_text);
  if (best && is_text)
    line += formatted("; lowest test loss %.4f in epoch %lld", best->test_loss, static_cast<long long>(best->epoch));
  else if (best && best->test_accuracy > last.test_accuracy)
    line += formatted(", best %.4f in epoch %lld", best->test_accuracy, static_cast<long long>(best->epoch));
  return line;
}

// One run: everything that lives from its first step to its last step.
class Run {
 public:
  Run(TrainOptions& options, const RunFolder& folder, ProgressOptions progress, const Job& job,
      const std::function<void(const RunRecord&)>& save)
      : options_(options),
        folder_(folder),
        job_(job),
        save_(save),
        trace_(options.trace),
        report_(progress, options.tensorboard, job, folder_.path, options.epochs),
        setup_(options, job, !std::filesystem::exists(folder_.checkpoint())),
        results_(folder_, options, setup_, job) {
    call(troika_loader_tell, setup_.train_loader.get(), &position_);
    call(troika_trainer_set_progress, setup_.trainer.get(), &Run::on_batch, static_cast<void*>(this), nullptr);
  }

  // Takes up the folder's checkpoint, if there is one, its metrics, and the sums of the epoch that
  // was stopped. Sums of another step do not belong to this checkpoint.
  void resume(const RunRecord& begun) {
    if (setup_.describe_data() != begun.data)
      throw Failure("the data are " + setup_.describe_data() + ", the run began with " + begun.data +
                    "; give the same with --data");
    check_class_names(setup_.train.class_names, begun.class_names);
    if (std::filesystem::exists(folder_.checkpoint())) position_ = results_.load_checkpoint();
    // The state has the rate of the run so far, which may change here.
    call(troika_trainer_set_option, setup_.trainer.get(), int32_t{-1}, int32_t{TROIKA_OPTION_LEARNING_RATE},
         options_.optimizer.learning_rate);
    rows_ = read_metrics(folder_.metrics(), position_.epoch);
    last_stop_ = begun.last_stop;
    if (position_.batch == 0) return;
    if (last_stop_.step == steps_done())
      sums_ = last_stop_;
    else
      sums_.is_whole = false;
  }

  // Trains, or reports that there is nothing to do and leaves every file as it is.
  int train() {
    try {
      return train_epochs();
    } catch (const std::exception& error) {
      report_.failed(error.what());
      throw;
    }
  }

 private:
  int train_epochs() {
    const bool lacks_evaluation =
        position_.batch == 0 && !rows_.empty() && rows_.back().epoch == position_.epoch && !rows_.back().is_evaluated();
    look_for_end();
    if (has_ended() && !lacks_evaluation) {
      report_.done(describe_nothing(), text_of(folder_.weights()));
      return 0;
    }
    save_({setup_.describe_data(), last_stop_, job_.size(), setup_.train.class_names});
    results_.start();
    report_.start(summary(), steps_done(), sums_);
    trace_.start(steps_done());
    const StopSignals signals(report_.answer_to_stop());
    if (lacks_evaluation) {  // an earlier process was stopped in it
      evaluate(rows_.back());
      if (finish_epoch()) return stop();
    }
    while (!has_ended()) {
      if (!train_epoch()) return stop();
      rows_.push_back(make_row());
      sums_ = {};
      evaluate(rows_.back());
      if (finish_epoch()) return stop();
    }
    report_.done(
        describe_end(rows_, report_.seconds(), setup_, job_, early_end_) + "; weights in " + text_of(folder_.weights()),
        text_of(folder_.weights()));
    return 0;
  }

  // Writes the results of an epoch. Returns whether the run is to stop here.
  bool finish_epoch() {
    results_.write(rows_);
    report_.finish_epoch(rows_.back());
    look_for_end();
    // If all devices evaluate, all processes are stopped in the evaluation.
    const bool all_know = job_.is_alone() || setup_.eval_devices.empty();
    if (!rows_.back().is_evaluated() && all_know) return true;
    if (!StopSignals::stop_requested() || has_ended()) return false;
    if (job_.is_alone()) return true;
    call(troika_trainer_request_stop, setup_.trainer.get());  // all processes stop at the next batch
    return false;
  }

  // Finds the reason to end before all epochs are done: that of the leader.
  void look_for_end() {
    early_end_ = position_.batch == 0 ? reason_to_end(rows_, setup_.train.is_text(), options_.end) : "";
    if (job_.is_alone() || !options_.end.is_on()) return;
    const bool ends = job_.decide(!early_end_.empty());
    if (ends && early_end_.empty()) early_end_ = "rank 0 ends the run";
    if (!ends) early_end_.clear();
  }

  bool has_ended() const { return position_.epoch >= options_.epochs || !early_end_.empty(); }

  std::string describe_nothing() const {
    const std::string begin =
        "nothing to do: '" + text_of(folder_.path) + "' is trained to epoch " + std::to_string(position_.epoch);
    if (position_.epoch >= options_.epochs)
      return begin + formatted(", --epochs is %d; give more to go on", options_.epochs);
    return begin + ", and " + early_end_ + "; give another --target-accuracy or --early-stop to go on";
  }

  int64_t steps_done() const { return position_.epoch * setup_.steps_per_epoch + position_.batch; }

  RunSummary summary() const {
    int64_t parameters = 0;
    call(troika_model_count_parameters, setup_.model.get(), static_cast<int32_t*>(nullptr), &parameters);
    RunSummary summary;
    summary.model = shown_model(options_.model);
    summary.devices =
        setup_.devices.size() > kFewDevices ? short_devices(setup_.devices) : format_devices(setup_.devices);
    if (!job_.is_alone())
      summary.devices +=
          formatted(" and those of %d more %s", job_.size() - 1, job_.size() == 2 ? "process" : "processes");
    summary.mesh = options_.mesh.mesh;
    summary.shares = options_.mesh.shares_text();
    summary.shape = as_shape(setup_.train.info.dims, setup_.train.info.rank);
    summary.is_text = setup_.train.is_text();
    summary.parameters = parameters;
    summary.train_samples = setup_.train.info.n;
    summary.test_samples = setup_.test.info.n;
    summary.batch = options_.batch;
    summary.steps_per_epoch = setup_.steps_per_epoch;
    summary.first_epoch = position_.epoch;
    summary.first_step = position_.batch;
    summary.warnings = setup_.warnings(options_);
    summary.epochs = options_.epochs;
    return summary;
  }

  // Trains on the rest of the epoch, with checkpoints in between. Returns false if a stop was
  // requested before its end.
  bool train_epoch() {
    while (true) {
      const int64_t until_checkpoint =
          options_.save_every > 0 ? options_.save_every - steps_done() % options_.save_every : setup_.steps_per_epoch;
      before_call_ = sums_;
      call_began_ = Clock::now();
      troika_metrics metrics = TROIKA_METRICS_INIT;
      const troika_status status = call(troika_trainer_train_batches, setup_.trainer.get(), setup_.train_loader.get(),
                                        trace_.limit(until_checkpoint, steps_done()), &metrics);
      if (has_diverged_)
        fail_diverged(formatted(
            "loss is not a number in epoch %lld, at step %lld of %lld", static_cast<long long>(position_.epoch + 1),
            static_cast<long long>(position_.batch + 1), static_cast<long long>(setup_.steps_per_epoch)));
      trace_.save(setup_.trainer, steps_done(), status);
      if (status == TROIKA_END_OF_DATA) break;
      if (status == TROIKA_STOPPED) {
        count_untold(metrics);
        if (position_.batch < setup_.steps_per_epoch) return false;
      } else if (options_.save_every > 0 && steps_done() % options_.save_every == 0) {
        save_inside_epoch();
      }
    }
    ++position_.epoch;
    position_.batch = 0;
    return true;
  }

  // If devices run ahead of the host, a step that had begun when the callback asked for a stop has
  // ended since.
  void count_untold(const troika_metrics& metrics) {
    if (before_call_.samples + metrics.samples == sums_.samples) return;
    sums_ = before_call_;
    sums_.loss += metrics.loss * static_cast<double>(metrics.labels);
    sums_.samples += metrics.samples;
    sums_.labels += metrics.labels;
    sums_.correct += metrics.correct;
    sums_.seconds += metrics.seconds;
    call(troika_loader_tell, setup_.train_loader.get(), &position_);
  }

  bool note_trained_batch(const troika_progress& p) {
    has_diverged_ =
        has_diverged_ || (!std::isfinite(p.batch_loss) && !p.skipped);  // loss scaling gets over a skipped step
    if (has_diverged_) return false;
    if (std::isfinite(p.batch_loss)) sums_.add(p);
    sums_.seconds = before_call_.seconds + seconds_since(call_began_);
    learning_rate_ = p.learning_rate;
    ++position_.batch;
    report_.train(position_.epoch + 1, sums_, p);
    return true;
  }

  // Returns the row of the epoch that has just been trained, without its evaluation.
  EpochMetrics make_row() const {
    EpochMetrics row;
    row.epoch = position_.epoch;
    row.step = position_.epoch * setup_.steps_per_epoch;
    if (sums_.is_whole) {
      if (sums_.samples == 0)  // loss scaling skipped every step
        fail_diverged(formatted("loss is not a number in epoch %lld", static_cast<long long>(position_.epoch)));
      row.loss = sums_.mean_loss();
      row.train_accuracy = sums_.accuracy();
      row.images_per_second = sums_.rate();
      row.seconds = sums_.seconds;
    }
    row.learning_rate = learning_rate_;
    return row;
  }

  // Fills in the figures of the test, unless a stop is requested in it.
  void evaluate(EpochMetrics& row) {
    troika_metrics metrics = TROIKA_METRICS_INIT;
    const troika_status status = setup_.evaluate(metrics);
    if (status == TROIKA_STOPPED) return;
    if (std::isnan(metrics.loss))
      fail_diverged(formatted("test loss is not a number after epoch %lld", static_cast<long long>(position_.epoch)));
    row.test_loss = metrics.loss;
    row.test_accuracy = metrics.accuracy;
    row.test_images_per_second = static_cast<double>(metrics.samples) / metrics.seconds;
    if (options_.schedule.name == "plateau") call(troika_trainer_report_metric, setup_.trainer.get(), metrics.loss);
  }

  static int32_t on_batch(const troika_progress* progress, void* user) {
    auto* run = static_cast<Run*>(user);
    const bool goes_on = progress->training ? run->note_trained_batch(*progress) : true;
    if (!progress->training) run->report_.test(run->position_.epoch, *progress);
    return !goes_on || StopSignals::stop_requested() ? 1 : 0;
  }

  // Saves the checkpoint, and the sums that the epoch's row will need in run.json.
  void save_inside_epoch() {
    results_.save_checkpoint();
    last_stop_ = {};
    if (sums_.is_whole) last_stop_ = sums_, last_stop_.step = steps_done();
    save_({setup_.describe_data(), last_stop_, job_.size(), setup_.train.class_names});
  }

  // A run whose loss is not finite leaves the files of earlier epochs as they are.
  [[noreturn]] void fail_diverged(const std::string& found) const {
    throw Failure(found + "; lower --lr, or give --warmup, in a new run" +
                  (folder_.trace().empty() ? "" : " ('" + text_of(folder_.path) + "' keeps what it saved before)"));
  }

  int stop() {
    save_inside_epoch();
    const bool is_in_test = position_.batch == 0 && !rows_.empty() && !rows_.back().is_evaluated();
    const std::string place =
        is_in_test ? formatted("in the evaluation of epoch %lld", static_cast<long long>(position_.epoch))
                   : formatted("in epoch %lld after %lld of %lld steps", static_cast<long long>(position_.epoch + 1),
                               static_cast<long long>(position_.batch), static_cast<long long>(setup_.steps_per_epoch));
    report_.stopped("stopped " + place + "; go on with: troika train --resume " + text_of(folder_.path) +
                        (job_.is_alone() ? "" : formatted(" --processes %d", job_.size())),
                    text_of(folder_.checkpoint()));
    return StopSignals::exit_status();
  }

  const TrainOptions& options_;
  RunFolder folder_;
  const Job& job_;
  const std::function<void(const RunRecord&)>& save_;
  StepTrace trace_;
  RunReport report_;
  TrainingSetup setup_;
  RunResults results_;
  troika_loader_position position_ = TROIKA_LOADER_POSITION_INIT;  // of the next step
  EpochSums sums_, before_call_, last_stop_;
  double learning_rate_ = 0;
  std::vector<EpochMetrics> rows_;
  Clock::time_point call_began_ = Clock::now();
  bool has_diverged_ = false;
  std::string early_end_;  // empty: none
};

}  // namespace

int run_training(TrainOptions& options, const RunFolder& folder, const ProgressOptions& progress, const Job& job,
                 const RunRecord* begun, const std::function<void(const RunRecord& record)>& save) {
  Run run(options, folder, progress, job, save);
  if (begun) run.resume(*begun);
  return run.train();
}

}  // namespace troika::cli
