// Draws the bar and prints the lines of a training run.
#include "cli/progress.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iostream>
#include <nlohmann/json.hpp>
#include <numeric>

#include "cli/client.h"
#include "cli/line_width.h"
#include "cli/terminal.h"
#include "cli/text.h"

namespace troika::cli {
namespace {

using Json = nlohmann::ordered_json;

void print_json(const Json& line) {
  std::cout << line.dump(-1, ' ', false, Json::error_handler_t::replace) << std::endl;
}

// A line for people, which a terminal shows whole.
void print_text(const std::string& text) { std::cout << wrapped(text, output_columns()) << std::endl; }

// An unknown figure is a dash.
std::string figure(double value, int decimals = 4) {
  return std::isnan(value) ? "-" : formatted("%.*f", decimals, value);
}

std::string rate(double images_per_second) {
  return std::isnan(images_per_second) ? "-" : with_commas(std::llround(images_per_second));
}

}  // namespace

ProgressMode parse_progress(const std::string& text) {
  if (text == "auto") return is_on_terminal() ? ProgressMode::bar : ProgressMode::plain;
  if (text == "bar") return ProgressMode::bar;
  if (text == "plain") return ProgressMode::plain;
  if (text == "json") return ProgressMode::json;
  if (text == "off") return ProgressMode::off;
  throw Failure("--progress is '" + text + "'; give auto, bar, plain, json or off");
}

void Progress::start(const RunSummary& summary) {
  is_text_ = summary.is_text;
  if (mode_ == ProgressMode::off) return;
  if (mode_ == ProgressMode::json) {
    print_json({{"event", "start"},
                {"model", summary.model},
                {"devices", summary.devices},
                {"mesh", summary.mesh},
                {"parameters", summary.parameters},
                {"train_samples", summary.train_samples},
                {"test_samples", summary.test_samples},
                {"batch", summary.batch},
                {"steps_per_epoch", summary.steps_per_epoch},
                {"first_epoch", summary.first_epoch + 1},
                {"first_step", summary.first_step + 1},
                {"epochs", summary.epochs},
                {"warnings", summary.warnings}});
    return;
  }
  print_text(summary.model + " on " + summary.devices + (summary.mesh.empty() ? "" : " as ") + summary.mesh +
             summary.shares + ": " + with_commas(summary.parameters) + " parameters; " +
             with_commas(summary.train_samples) + " training and " + with_commas(summary.test_samples) +
             " test samples of " + summary.shape + "; " +
             formatted("%lld %s of %lld an epoch", static_cast<long long>(summary.steps_per_epoch),
                       summary.steps_per_epoch == 1 ? "step" : "steps",
                       static_cast<long long>(std::min(summary.batch, summary.train_samples))));
  for (const std::string& warning : summary.warnings) print_text("warning: " + warning);
  if (summary.first_epoch >= summary.epochs)
    print_text(formatted("going on with the evaluation of epoch %lld", static_cast<long long>(summary.epochs)));
  else if (summary.first_epoch > 0 || summary.first_step > 0)
    print_text(formatted("going on in epoch %lld of %lld at step %lld of %lld",
                         static_cast<long long>(summary.first_epoch + 1), static_cast<long long>(summary.epochs),
                         static_cast<long long>(summary.first_step + 1),
                         static_cast<long long>(summary.steps_per_epoch)));
  if (mode_ != ProgressMode::bar) return;
  draw("compiling ...");
  last_shown_ = {};  // the first batch replaces it
}

std::string Progress::answer_to_stop() const {
  if (mode_ == ProgressMode::off) return {};
  const std::string answer = "stopping after this step; again: stop now without saving";
  if (!is_on_terminal()) return answer + "\n";
  return "\r\033[K" + wrapped(answer, terminal_columns()) + "\n";
}

void Progress::batch(const char* phase, int64_t epoch, int64_t done, int64_t total, double loss, double rate,
                     double eta_seconds) {
  if (mode_ == ProgressMode::off) return;
  const auto now = std::chrono::steady_clock::now();
  const double pause = mode_ == ProgressMode::bar ? 0.1 : line_seconds_;
  const bool is_due = now - last_shown_ >= std::chrono::duration<double>(pause);
  if (mode_ == ProgressMode::bar ? is_bar_shown_ && done < total && !is_due : !is_due) return;
  last_shown_ = now;
  if (mode_ == ProgressMode::json)
    return print_json({{"event", "progress"},
                       {"phase", phase},
                       {"epoch", epoch},
                       {"epochs", epochs_},
                       {"done", done},
                       {"total", total},
                       {"loss", loss},
                       {"images_per_second", rate},
                       {"eta_seconds", eta_seconds}});
  const std::string head =
      formatted("epoch %lld/%lld %-5s ", static_cast<long long>(epoch), static_cast<long long>(epochs_), phase);
  const std::vector<std::string> pieces = {
      formatted(" %lld/%lld", static_cast<long long>(done), static_cast<long long>(total)),
      formatted("  loss %.4f", loss), formatted("  %s %s/s", with_commas(std::llround(rate)).c_str(), sample_name()),
      "  ETA " + as_clock(eta_seconds)};
  if (mode_ == ProgressMode::bar)
    draw_bar(head, pieces, done, total);
  else
    print_text(std::accumulate(pieces.begin(), pieces.end(), head));
}

void Progress::draw_bar(const std::string& head, const std::vector<std::string>& pieces, int64_t done, int64_t total) {
  const int columns = std::max(1, terminal_columns() - 1);  // a full line would begin the next one
  std::vector<std::string> line = {head, ""};
  line.insert(line.end(), pieces.begin(), pieces.end());
  std::vector<size_t> order(line.size());
  std::iota(order.begin(), order.end(), size_t{0});
  const int room = columns - width_of(fitted(line, order, columns)) - 2;
  if (room >= 5) {
    const int width = std::min(room, 40);
    const int filled = total > 0 ? static_cast<int>(done * width / total) : width;
    line[1] = "[" + std::string(static_cast<size_t>(filled), '=') +
              std::string(static_cast<size_t>(width - filled), ' ') + "]";
  }
  draw(fitted(line, order, columns));
}

void Progress::draw(const std::string& line) {
  std::fprintf(stderr, "\r\033[K%s", line.c_str());
  std::fflush(stderr);
  is_bar_shown_ = true;
}

void Progress::step(int64_t epoch, int64_t step, int64_t steps, const StepFigures& figures) {
  if (mode_ == ProgressMode::off) return;
  clear_bar();
  if (mode_ == ProgressMode::json)
    return print_json({{"event", "step"},
                       {"epoch", epoch},
                       {"step", step},
                       {"steps", steps},
                       {"loss", figures.loss},
                       {"learning_rate", figures.learning_rate},
                       {"images_per_second", figures.rate}});
  print_text(formatted("epoch %lld/%lld  step %lld/%lld  loss %.4f  lr %.3g  %s %s/s", static_cast<long long>(epoch),
                       static_cast<long long>(epochs_), static_cast<long long>(step), static_cast<long long>(steps),
                       figures.loss, figures.learning_rate, with_commas(std::llround(figures.rate)).c_str(),
                       sample_name()));
}

void Progress::epoch(const EpochMetrics& metrics, double eta_seconds) {
  if (mode_ == ProgressMode::off) return;
  clear_bar();
  last_shown_ = std::chrono::steady_clock::now();
  if (mode_ == ProgressMode::json) {
    Json line = {{"event", "epoch"},
                 {"epoch", metrics.epoch},
                 {"epochs", epochs_},
                 {"step", metrics.step},
                 {"loss", metrics.loss},
                 {"train_accuracy", metrics.train_accuracy},
                 {"test_loss", metrics.test_loss},
                 {"test_accuracy", metrics.test_accuracy},
                 {"images_per_second", metrics.images_per_second},
                 {"seconds", metrics.seconds},
                 {"learning_rate", metrics.learning_rate},
                 {"eta_seconds", eta_seconds}};
    if (is_text_) {
      line["train_perplexity"] = std::exp(metrics.loss);
      line["test_perplexity"] = std::exp(metrics.test_loss);
    }
    print_json(line);
    return;
  }
  std::string perplexity;
  if (is_text_)
    perplexity =
        "  perplexity " + figure(std::exp(metrics.loss), 2) + " test " + figure(std::exp(metrics.test_loss), 2);
  const std::vector<std::string> pieces = {
      formatted("epoch %lld/%lld", static_cast<long long>(metrics.epoch), static_cast<long long>(epochs_)) + "  loss " +
          figure(metrics.loss) + "  train " + figure(metrics.train_accuracy) + "  test " +
          figure(metrics.test_accuracy) + perplexity,
      "  " + rate(metrics.images_per_second) + " " + sample_name() + "/s", "  " + figure(metrics.seconds, 1) + " s",
      "  ETA " + as_clock(eta_seconds)};
  const int columns = output_columns();
  if (columns == kAnyWidth || width_of(pieces.front()) <= columns)
    std::cout << fitted(pieces, {0, 1, 2, 3}, columns) << std::endl;
  else
    print_text(pieces.front());
}

void Progress::done(const std::string& text, const std::string& weights, double seconds) {
  finish("done", text, "weights", weights, seconds);
}

void Progress::stopped(const std::string& text, const std::string& checkpoint, double seconds) {
  finish("stopped", text, "checkpoint", checkpoint, seconds);
}

void Progress::finish(const char* event, const std::string& text, const char* file, const std::string& path,
                      double seconds) {
  clear_bar();
  if (mode_ == ProgressMode::off) return;
  if (mode_ == ProgressMode::json) {
    print_json({{"event", event}, {"message", text}, {file, path}, {"seconds", seconds}});
  } else {
    print_text(text);
  }
}

void Progress::clear_bar() {
  if (!is_bar_shown_) return;
  std::fputs("\r\033[K", stderr);
  std::fflush(stderr);
  is_bar_shown_ = false;
}

}  // namespace troika::cli
