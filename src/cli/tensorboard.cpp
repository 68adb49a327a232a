// The tags of TensorBoard, and when they have a point.
#include "cli/tensorboard.h"

#include <filesystem>

#include "core/path.h"

namespace troika::cli {

void add_tensorboard_options(const Command& command, TensorBoardOptions& options) {
  command.option("--tensorboard", options.folder, "Also writes loss, accuracy, rates and speed for TensorBoard", "DIR");
  command.option("--tensorboard-every", options.every,
                 "Steps between two points of training; 0: a point at epoch ends only", "STEPS");
}

void complete_tensorboard(TensorBoardOptions& options) {
  if (options.every < 0) refuse_value("--tensorboard-every", options.every, "at least 1, or 0 for epoch ends only");
  if (!options.folder.empty()) options.folder = text_of(std::filesystem::absolute(path_of(options.folder)));
}

TensorBoard::TensorBoard(const TensorBoardOptions& options, int64_t step, const EpochSums& sums)
    : every_(options.every), file_(path_of(options.folder)), shown_(sums), sums_(sums), step_(step) {
  if (step > 0) file_.restart(step + 1);
  file_.check();
}

void TensorBoard::train(int64_t step, const EpochSums& sums, double learning_rate, bool is_last) {
  step_ = step;
  sums_ = sums;
  learning_rate_ = learning_rate;
  if (is_last || (every_ > 0 && step % every_ == 0)) write_train();
}

void TensorBoard::finish_epoch(const EpochMetrics& row) {
  file_.add(row.step, {{"epoch/loss", row.loss},
                       {"epoch/accuracy", row.train_accuracy},
                       {"epoch/images_per_second", row.images_per_second},
                       {"eval/loss", row.test_loss},
                       {"eval/accuracy", row.test_accuracy},
                       {"eval/images_per_second", row.test_images_per_second}});
  shown_ = sums_ = {};
  file_.check();
}

void TensorBoard::write_train() {
  EpochSums since = sums_;
  since.loss -= shown_.loss;
  since.seconds -= shown_.seconds;
  since.samples -= shown_.samples;
  since.labels -= shown_.labels;
  since.correct -= shown_.correct;
  if (since.labels <= 0) return;  // loss scaling has skipped every step
  file_.add(step_, {{"train/loss", since.mean_loss()},
                    {"train/accuracy", since.accuracy()},
                    {"train/learning_rate", learning_rate_},
                    {"train/images_per_second", since.rate()}});
  shown_ = sums_;
}

}  // namespace troika::cli
