// metrics.csv: one row per epoch, which a resumed run reads and charts show.
#pragma once

#include <cmath>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace troika::cli {

// One epoch. Training figures are means over the epoch's batches at the time of their step. If a
// run was resumed in the middle of the epoch, they are NaN unless the sums of its first part are
// known. Test figures are NaN if the evaluation was stopped.
struct EpochMetrics {
  int64_t epoch = 0;  // from 1
  int64_t step = 0;   // steps done at its end
  double loss = NAN, train_accuracy = NAN, test_loss = NAN, test_accuracy = NAN;
  double images_per_second = NAN, seconds = NAN;  // of training, without the evaluation
  double learning_rate = NAN;                     // of the epoch's last step
  double test_images_per_second = NAN;            // not in metrics.csv

  bool is_evaluated() const { return !std::isnan(test_loss); }
};

// Reads the rows of the first `epochs` epochs; later rows belong to work that a crash has lost. A
// missing file has no rows.
std::vector<EpochMetrics> read_metrics(const std::filesystem::path& path, int64_t epochs);

// With `has_perplexity` the file also has the perplexities that follow from the losses.
void write_metrics(const std::filesystem::path& path, const std::vector<EpochMetrics>& rows, bool has_perplexity);

// Writes what DAWNBench compares: hours of training until the end of each epoch, and the test
// accuracy there in percent. The file ends before an epoch of unknown time.
void write_dawnbench(const std::filesystem::path& path, const std::vector<EpochMetrics>& rows);

// Writes accuracy.svg and loss.svg in `folder`, with the first of the titles that fits.
void write_charts(const std::filesystem::path& folder, const std::vector<std::string>& titles,
                  const std::vector<EpochMetrics>& rows);

}  // namespace troika::cli
