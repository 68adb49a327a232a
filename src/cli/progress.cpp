// Draws the bar and prints the lines of a training run.
#include "cli/progress.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iostream>
#include <nlohmann/json.hpp>

#include "cli/client.h"
#include "cli/terminal.h"
#include "cli/text.h"

namespace troika::cli {
namespace {

using Json = nlohmann::ordered_json;

void print_json(const Json& line) {
  std::cout << line.dump(-1, ' ', false, Json::error_handler_t::replace) << std::endl;
}

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
                {"epochs", summary.epochs}});
    return;
  }
  std::cout << summary.model << " on " << summary.devices << (summary.mesh.empty() ? "" : " as ") << summary.mesh
            << ": " << with_commas(summary.parameters) << " parameters; " << with_commas(summary.train_samples)
            << " training and " << with_commas(summary.test_samples) << " test samples of " << summary.shape << "; "
            << summary.steps_per_epoch << " steps of " << summary.batch << " an epoch" << std::endl;
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
  const std::string tail =
      formatted(" %lld/%lld  loss %.4f  %s %s/s  ETA %s", static_cast<long long>(done), static_cast<long long>(total),
                loss, with_commas(std::llround(rate)).c_str(), sample_name(), as_clock(eta_seconds).c_str());
  if (mode_ == ProgressMode::bar)
    draw_bar(head, tail, done, total);
  else
    std::cout << head << tail << std::endl;
}

void Progress::draw_bar(const std::string& head, const std::string& tail, int64_t done, int64_t total) {
  const int room = terminal_columns() - static_cast<int>(head.size() + tail.size()) - 3;
  std::string bar;
  if (room >= 5) {
    const int width = std::min(room, 40);
    const int filled = total > 0 ? static_cast<int>(done * width / total) : width;
    bar = "[" + std::string(static_cast<size_t>(filled), '=') + std::string(static_cast<size_t>(width - filled), ' ') +
          "]";
  }
  std::fprintf(stderr, "\r\033[K%s%s%s", head.c_str(), bar.c_str(), tail.c_str());
  std::fflush(stderr);
  is_bar_shown_ = true;
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
  std::cout << formatted("epoch %lld/%lld  loss %s  train %s  test %s%s  %s %s/s  %s s  ETA %s",
                         static_cast<long long>(metrics.epoch), static_cast<long long>(epochs_),
                         figure(metrics.loss).c_str(), figure(metrics.train_accuracy).c_str(),
                         figure(metrics.test_accuracy).c_str(), perplexity.c_str(),
                         rate(metrics.images_per_second).c_str(), sample_name(), figure(metrics.seconds, 1).c_str(),
                         as_clock(eta_seconds).c_str())
            << std::endl;
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
    std::cout << text << std::endl;
  }
}

void Progress::clear_bar() {
  if (!is_bar_shown_) return;
  std::fputs("\r\033[K", stderr);
  std::fflush(stderr);
  is_bar_shown_ = false;
}

}  // namespace troika::cli
