// The output of a training run: a bar on the terminal, lines, JSON, or nothing. Results go to
// stdout, the bar to stderr.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "cli/metrics_file.h"

namespace troika::cli {

enum class ProgressMode { bar, plain, json, off };

// Reads --progress; "auto" is a bar if stderr is a terminal, else plain lines.
ProgressMode parse_progress(const std::string& text);

struct ProgressOptions {
  ProgressMode mode = ProgressMode::plain;
  double line_seconds = 60;  // between two lines while an epoch runs, without a bar
  int64_t line_steps = 0;    // above 0: a line with loss and rates every so many steps
};

// The description of a run, shown once at its start.
struct RunSummary {
  std::string model, devices;
  std::string mesh, shares;  // empty: none was chosen; shares: as text, such as " with shares 3,1"
  std::string shape;         // of a sample, such as 1x28x28
  int64_t parameters = 0, train_samples = 0, test_samples = 0;
  int64_t batch = 0, steps_per_epoch = 0, first_epoch = 0, epochs = 0;
  int64_t first_step = 0;  // of its epoch: so many steps are done
  bool is_text = false;    // samples are sequences; losses are shown as perplexities too
  std::vector<std::string> warnings;
};

// The mean of the steps since the line before.
struct StepFigures {
  double loss = 0, rate = 0, learning_rate = 0;  // rate: images per second; learning_rate: of the last step
};

class Progress {
 public:
  Progress(const ProgressOptions& options, int64_t epochs)
      : mode_(options.mode), line_seconds_(options.line_seconds), epochs_(epochs) {}
  ~Progress() { clear_bar(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void start(const RunSummary& summary);

  // The answer to a signal that asks for a stop; empty if nothing is shown.
  std::string answer_to_stop() const;

  // While an epoch runs. `phase` is "train" or "test", `rate` is images per second, `eta_seconds`
  // is the time that the run still needs. Draws at most ten times per second. Without a bar,
  // prints a line from time to time.
  void batch(const char* phase, int64_t epoch, int64_t done, int64_t total, double loss, double rate,
             double eta_seconds);

  // A line after step `step` of an epoch.
  void step(int64_t epoch, int64_t step, int64_t steps, const StepFigures& figures);

  // One line for a finished epoch; `eta_seconds` is the time that the run still needs.
  void epoch(const EpochMetrics& metrics, double eta_seconds);

  // The last line. `text` is for people; `weights` is the path of the file to use.
  void done(const std::string& text, const std::string& weights, double seconds);
  void stopped(const std::string& text, const std::string& checkpoint, double seconds);

 private:
  void finish(const char* event, const std::string& text, const char* file, const std::string& path, double seconds);
  // `pieces` come after the bar; each is left out if there is no room for it, the last first.
  void draw_bar(const std::string& head, const std::vector<std::string>& pieces, int64_t done, int64_t total);
  void draw(const std::string& line);
  void clear_bar();
  const char* sample_name() const { return is_text_ ? "seq" : "img"; }

  const ProgressMode mode_;
  const double line_seconds_;
  const int64_t epochs_;
  bool is_text_ = false;
  bool is_bar_shown_ = false;
  std::chrono::steady_clock::time_point last_shown_ = std::chrono::steady_clock::now();  // anything
};

}  // namespace troika::cli
