// The loop over epochs: trains, evaluates, writes the run folder, and stops if Ctrl-C asks for it.
#include "cli/training.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>
#include <vector>

#include "cli/auto_mesh.h"
#include "cli/command_line.h"
#include "cli/device_list.h"
#include "cli/files.h"
#include "cli/precision.h"
#include "cli/run_report.h"
#include "cli/step_trace.h"
#include "cli/stop_signals.h"
#include "cli/text.h"
#include "core/path.h"

namespace troika::cli {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point began) { return std::chrono::duration<double>(Clock::now() - began).count(); }

// `groups` and `milestones` are memory for the result.
troika_trainer_options trainer_options(const TrainOptions& options, int64_t steps_per_epoch, ParameterGroups& groups,
                                       std::vector<int64_t>& milestones) {
  troika_trainer_options out = TROIKA_TRAINER_OPTIONS_INIT;
  out.precision = parse_precision(options.precision);
  set_optimizer(options.optimizer, out, groups);
  set_schedule(options.schedule, steps_per_epoch, out, milestones);
  out.bucket_bytes = options.bucket_bytes;
  set_mesh(options.mesh, out);
  set_recompute(options.recompute, out);
  set_replication(options.replication, out);
  out.collect_trace = !options.trace.empty();
  return out;
}

// Returns the one device to evaluate on; none: all of `devices`.
std::vector<troika_device> parse_eval_devices(const Context& context, const TrainOptions& options,
                                              const std::vector<troika_device>& devices) {
  if (options.eval_devices == "all") return {};
  if (options.mesh.is_auto())
    throw Failure("--eval-devices is '" + options.eval_devices +
                  "'; give all with --mesh auto, which may split the model over the devices");
  std::vector<troika_device> found = parse_devices(context, "--eval-devices", options.eval_devices);
  if (found.size() != 1)
    throw Failure("--eval-devices is '" + options.eval_devices + "'; give all, or one of --devices");
  const auto is_wanted = [&](troika_device d) { return d.kind == found[0].kind && d.index == found[0].index; };
  if (std::none_of(devices.begin(), devices.end(), is_wanted))
    throw Failure("--eval-devices is '" + options.eval_devices + "', --devices is '" + options.devices +
                  "'; give all, or one of --devices");
  return found;
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
        context_(create_context(threads_of_process(options.threads), options.seed)),
        devices_(parse_devices(context_, "--devices", options.devices)) {
    if (job.is_alone()) check_mesh(options.mesh, devices_.size());
    if (!job.is_alone() && options.mesh.is_auto())
      throw Failure("--mesh is auto, which knows the devices of one process; give a mesh over those of all processes");
    eval_devices_ = parse_eval_devices(context_, options, devices_);
    train_ = open_samples(context_, options.data, Split::train);
    test_ = open_samples(context_, options.data, Split::test);
    train_.info.classes = options.data.resolved_classes(std::max(train_.info.classes, test_.info.classes));
    model_ = create_model_for(context_, options.model, train_.info);
    train_loader_ = create_loader(train_, options.batch, true, options.seed);
    test_loader_ = create_loader(test_, options.batch, false, 0);
    call(troika_loader_tell, train_loader_.get(), &position_);
    steps_per_epoch_ = position_.batches;
    ParameterGroups groups;
    std::vector<int64_t> milestones;
    troika_trainer_options attach_options = trainer_options(options, steps_per_epoch_, groups, milestones);
    attach_options.group = job.group();
    settle_mesh(options.mesh, context_, options.threads, model_, devices_, options.batch, attach_options);
    call(troika_model_attach, model_.get(), devices_.data(), static_cast<int32_t>(devices_.size()), &attach_options,
         trainer_.out());
    call(troika_trainer_set_progress, trainer_.get(), &Run::on_batch, static_cast<void*>(this), nullptr);
  }

  // Takes up the folder's checkpoint, if there is one, its metrics, and the sums of the epoch that
  // was stopped. Sums of another step do not belong to this checkpoint.
  void resume(const RunRecord& begun) {
    if (describe_data() != begun.data)
      throw Failure("the data are " + describe_data() + ", the run began with " + begun.data +
                    "; give the same with --data");
    if (std::filesystem::exists(folder_.checkpoint())) load_checkpoint();
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
    if (position_.epoch >= options_.epochs) {
      report_.done(formatted("nothing to do: '%s' is trained to epoch %lld, --epochs is %d; give more to go on",
                             text_of(folder_.path).c_str(), static_cast<long long>(position_.epoch), options_.epochs),
                   text_of(folder_.weights()));
      return 0;
    }
    save_({describe_data(), last_stop_});
    is_first_ = folder_.trace().empty();
    if (job_.leads()) remove_stale_temporaries(folder_.path, folder_.names());
    report_.start(summary(), steps_done(), sums_);
    trace_.start(steps_done());
    const StopSignals signals;
    while (position_.epoch < options_.epochs) {
      if (!train_epoch()) return stop();
      rows_.push_back(finish_row());
      sums_ = {};
      write_folder();
      report_.finish_epoch(rows_.back());
      if (!StopSignals::stop_requested() || position_.epoch >= options_.epochs) continue;
      if (job_.is_alone()) return stop();
      call(troika_trainer_request_stop, trainer_.get());  // all processes stop at the next batch
    }
    std::string accuracy;
    if (!rows_.empty() && !std::isnan(rows_.back().test_accuracy))
      accuracy = formatted("; test accuracy %.4f", rows_.back().test_accuracy);
    report_.done(formatted("trained to epoch %lld in %s", static_cast<long long>(position_.epoch),
                           as_clock(report_.seconds()).c_str()) +
                     accuracy + "; weights in " + text_of(folder_.weights()),
                 text_of(folder_.weights()));
    return 0;
  }

  // Describes the part of the data that a resumed run must find again.
  std::string describe_data() const {
    return formatted("%lld training samples of %s in %lld classes", static_cast<long long>(train_.info.n),
                     as_shape(train_.info.dims, train_.info.rank).c_str(), static_cast<long long>(train_.info.classes));
  }

  int64_t steps_done() const { return position_.epoch * steps_per_epoch_ + position_.batch; }

  RunSummary summary() const {
    int64_t parameters = 0;
    call(troika_model_count_parameters, model_.get(), static_cast<int32_t*>(nullptr), &parameters);
    RunSummary summary;
    summary.model = options_.model;
    summary.devices = format_devices(devices_);
    if (!job_.is_alone()) summary.devices += formatted(" and those of %d more processes", job_.size() - 1);
    summary.mesh = options_.mesh.mesh;
    summary.shape = as_shape(train_.info.dims, train_.info.rank);
    summary.is_text = train_.is_text();
    summary.parameters = parameters;
    summary.train_samples = train_.info.n;
    summary.test_samples = test_.info.n;
    summary.batch = options_.batch;
    summary.steps_per_epoch = steps_per_epoch_;
    summary.first_epoch = position_.epoch;
    summary.epochs = options_.epochs;
    return summary;
  }

  // Trains on the rest of the epoch, with checkpoints in between. Returns false if a stop was
  // requested before its end.
  bool train_epoch() {
    while (true) {
      const int64_t until_checkpoint =
          options_.save_every > 0 ? options_.save_every - steps_done() % options_.save_every : steps_per_epoch_;
      before_call_ = sums_;
      call_began_ = Clock::now();
      troika_metrics metrics = TROIKA_METRICS_INIT;
      const troika_status status =
          call(troika_trainer_train_batches, trainer_.get(), train_loader_.get(),
               trace_.limit(until_checkpoint, steps_done()), &metrics);
      if (has_diverged_)
        fail_diverged(formatted("loss is not a number in epoch %lld, at step %lld of %lld",
                                static_cast<long long>(position_.epoch + 1),
                                static_cast<long long>(position_.batch + 1), static_cast<long long>(steps_per_epoch_)));
      trace_.save(trainer_, steps_done(), status);
      if (status == TROIKA_END_OF_DATA) break;
      if (status == TROIKA_STOPPED) {
        count_untold(metrics);
        if (position_.batch < steps_per_epoch_) return false;
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
    call(troika_loader_tell, train_loader_.get(), &position_);
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

  // Returns the row of the epoch that has just been trained, with its evaluation.
  EpochMetrics finish_row() {
    EpochMetrics row;
    row.epoch = position_.epoch;
    row.step = position_.epoch * steps_per_epoch_;
    if (sums_.is_whole) {
      if (sums_.samples == 0)  // loss scaling skipped every step
        fail_diverged(formatted("loss is not a number in epoch %lld", static_cast<long long>(position_.epoch)));
      row.loss = sums_.mean_loss();
      row.train_accuracy = sums_.accuracy();
      row.images_per_second = sums_.rate();
      row.seconds = sums_.seconds;
    }
    row.learning_rate = learning_rate_;
    troika_metrics metrics = TROIKA_METRICS_INIT;
    const troika_status status =
        eval_devices_.empty()
            ? call(troika_trainer_evaluate, trainer_.get(), test_loader_.get(), &metrics)
            : call(troika_trainer_evaluate_on, trainer_.get(), eval_devices_.front(), test_loader_.get(), &metrics);
    if (status != TROIKA_STOPPED) {
      if (std::isnan(metrics.loss))
        fail_diverged(formatted("test loss is not a number after epoch %lld", static_cast<long long>(position_.epoch)));
      row.test_loss = metrics.loss;
      row.test_accuracy = metrics.accuracy;
      row.test_images_per_second = static_cast<double>(metrics.samples) / metrics.seconds;
      if (options_.schedule.name == "plateau") call(troika_trainer_report_metric, trainer_.get(), metrics.loss);
    }
    return row;
  }

  static int32_t on_batch(const troika_progress* progress, void* user) {
    auto* run = static_cast<Run*>(user);
    const bool goes_on = progress->training ? run->note_trained_batch(*progress) : true;
    if (!progress->training) run->report_.test(run->position_.epoch, *progress);
    return !goes_on || StopSignals::stop_requested() ? 1 : 0;
  }

  // After the first epoch the checkpoint comes first: whatever a crash or a full disk leaves, the
  // run can go on from it. Later the checkpoint comes last: metrics and weights are as new as it
  // is, or newer.
  void write_folder() {
    const bool is_first = std::exchange(is_first_, false);
    if (is_first) call(troika_trainer_save, trainer_.get(), text_of(folder_.checkpoint()).c_str());
    write_results();
    if (options_.optimizer.average_decay > 0)
      call(troika_trainer_save_average, trainer_.get(), text_of(folder_.average()).c_str());
    if (!is_first) call(troika_trainer_save, trainer_.get(), text_of(folder_.checkpoint()).c_str());
  }

  void write_results() {
    if (!job_.leads()) {
      int64_t size = 0;  // takes part in reading values that only some processes hold
      call(troika_model_save_memory, model_.get(), static_cast<void*>(nullptr), int64_t{0}, &size);
      return;
    }
    write_metrics(folder_.metrics(), rows_, train_.is_text());
    write_charts(folder_.path, options_.model + " on " + format_devices(devices_), rows_);
    call(troika_model_save, model_.get(), text_of(folder_.weights()).c_str());
  }

  void load_checkpoint() {
    const std::string file = text_of(folder_.checkpoint());
    try {
      call(troika_trainer_load, trainer_.get(), file.c_str(), &position_);
    } catch (const Failure& failure) {
      throw Failure(std::string(failure.what()) + "; put back this run's checkpoint, or begin a new run with --out");
    }
    if (position_.batches != 0 && position_.batches != steps_per_epoch_)
      throw Failure("'" + file + "' is of another run: its epochs have " + std::to_string(position_.batches) +
                    " steps, this run's " + std::to_string(steps_per_epoch_) +
                    "; put back this run's checkpoint, or begin a new run with --out");
    if (position_.batch >= steps_per_epoch_) ++position_.epoch, position_.batch = 0;
    call(troika_loader_seek, train_loader_.get(), &position_);
  }

  // Saves the checkpoint, and the sums that the epoch's row will need in run.json.
  void save_inside_epoch() {
    call(troika_trainer_save, trainer_.get(), text_of(folder_.checkpoint()).c_str());
    last_stop_ = {};
    if (sums_.is_whole) last_stop_ = sums_, last_stop_.step = steps_done();
    save_({describe_data(), last_stop_});
  }

  // A run whose loss is not finite leaves the files of earlier epochs as they are.
  [[noreturn]] void fail_diverged(const std::string& found) const {
    throw Failure(found + "; lower --lr, or give --warmup, in a new run" +
                  (folder_.trace().empty() ? "" : " ('" + text_of(folder_.path) + "' keeps what it saved before)"));
  }

  int stop() {
    save_inside_epoch();
    report_.stopped(formatted("stopped in epoch %lld after %lld of %lld steps; go on with: troika train --resume %s",
                              static_cast<long long>(position_.epoch + 1), static_cast<long long>(position_.batch),
                              static_cast<long long>(steps_per_epoch_), text_of(folder_.path).c_str()),
                    text_of(folder_.checkpoint()));
    return StopSignals::exit_status();
  }

  const TrainOptions& options_;
  RunFolder folder_;
  const Job& job_;
  const std::function<void(const RunRecord&)>& save_;
  StepTrace trace_;
  RunReport report_;
  Context context_;
  std::vector<troika_device> devices_, eval_devices_;  // eval_devices_ empty: all of devices_
  Samples train_, test_;
  Model model_;
  Loader train_loader_, test_loader_;
  Trainer trainer_;
  troika_loader_position position_ = TROIKA_LOADER_POSITION_INIT;  // of the next step
  int64_t steps_per_epoch_ = 0;
  EpochSums sums_, before_call_, last_stop_;
  double learning_rate_ = 0;
  std::vector<EpochMetrics> rows_;
  Clock::time_point call_began_ = Clock::now();
  bool has_diverged_ = false, is_first_ = false;  // is_first_: nothing has been saved yet
};

}  // namespace

int run_training(TrainOptions& options, const RunFolder& folder, const ProgressOptions& progress, const Job& job,
                 const RunRecord* begun, const std::function<void(const RunRecord& record)>& save) {
  Run run(options, folder, progress, job, save);
  if (begun) run.resume(*begun);
  return run.train();
}

}  // namespace troika::cli
