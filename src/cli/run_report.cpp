// Hands the news of a run on to each of its readers.
#include "cli/run_report.h"

namespace troika::cli {

RunReport::RunReport(const ProgressOptions& progress, const TensorBoardOptions& tensorboard, const Job& job,
                     const std::filesystem::path& folder, int64_t epochs)
    : progress_(job.leads() ? progress : ProgressOptions{ProgressMode::off}, epochs),
      tensorboard_options_(tensorboard),
      job_(job),
      folder_(folder),
      epochs_(epochs),
      line_steps_(progress.line_steps) {}

void RunReport::start(const RunSummary& summary, int64_t step, const EpochSums& sums) {
  status_.emplace(folder_, job_, step, summary.steps_per_epoch, epochs_);
  if (job_.leads() && !tensorboard_options_.folder.empty()) tensorboard_.emplace(tensorboard_options_, step, sums);
  progress_.start(summary);
  logged_ = sums;
  steps_per_epoch_ = summary.steps_per_epoch;
  first_step_ = step_ = step;
  began_ = std::chrono::steady_clock::now();
}

void RunReport::train(int64_t epoch, const EpochSums& sums, const troika_progress& batch) {
  step_ = (epoch - 1) * steps_per_epoch_ + batch.batch;
  progress_.batch("train", epoch, batch.batch, steps_per_epoch_, sums.mean_loss(), sums.rate(), eta_seconds());
  log_step(epoch, sums, batch);
  if (tensorboard_) tensorboard_->train(step_, sums, batch.learning_rate, batch.batch == steps_per_epoch_);
  status_->train(epoch, step_, batch);
}

void RunReport::log_step(int64_t epoch, const EpochSums& sums, const troika_progress& batch) {
  if (line_steps_ > 0 && step_ % line_steps_ == 0 && sums.labels > logged_.labels) {
    const auto labels = static_cast<double>(sums.labels - logged_.labels);
    progress_.step(
        epoch, batch.batch, steps_per_epoch_,
        {(sums.loss - logged_.loss) / labels,
         static_cast<double>(sums.samples - logged_.samples) / (sums.seconds - logged_.seconds), batch.learning_rate});
    logged_ = sums;
  }
  if (batch.batch == steps_per_epoch_) logged_ = {};
}

void RunReport::test(int64_t epoch, const troika_progress& batch) {
  progress_.batch("test", epoch, batch.batch, batch.batches, batch.loss,
                  static_cast<double>(batch.samples) / batch.seconds, eta_seconds());
  status_->test(epoch);
}

void RunReport::finish_epoch(const EpochMetrics& row) {
  progress_.epoch(row, eta_seconds());
  if (tensorboard_) tensorboard_->finish_epoch(row);
}

void RunReport::done(const std::string& text, const std::string& weights) {
  if (status_) status_->finish("done");
  progress_.done(text, weights, seconds());
}

void RunReport::stopped(const std::string& text, const std::string& checkpoint) {
  if (tensorboard_) tensorboard_->stop();
  if (status_) status_->finish("stopped");
  progress_.stopped(text, checkpoint, seconds());
}

void RunReport::failed(const std::string& reason) {
  if (status_) status_->finish("failed", reason);
}

double RunReport::seconds() const {
  return began_ ? std::chrono::duration<double>(std::chrono::steady_clock::now() - *began_).count() : 0;
}

double RunReport::eta_seconds() const {
  const int64_t left = epochs_ * steps_per_epoch_ - step_;
  return seconds() * static_cast<double>(left) / static_cast<double>(step_ - first_step_);
}

}  // namespace troika::cli
