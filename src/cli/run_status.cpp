// Measures the last steps of this process.
#include "cli/run_status.h"

#include <cstdlib>
#include <vector>

#include "cli/unix_time.h"

namespace troika::cli {
namespace {

constexpr std::chrono::seconds kPause{1};  // between two writes

std::vector<std::filesystem::path> places_of(const std::filesystem::path& run, int rank) {
  std::vector<std::filesystem::path> places = {rank_status_file(run, rank)};
  const char* const logs = std::getenv("TROIKA_LOG_DIR");
  if (logs && *logs) places.push_back(rank_status_file(logs, rank));
  return places;
}

}  // namespace

RunStatus::RunStatus(const std::filesystem::path& run, const Job& job, int64_t step, int64_t steps_per_epoch,
                     int64_t epochs)
    : file_(places_of(run, job.rank())) {
  status_.rank = job.rank();
  status_.processes = job.size();
  status_.process = ProcessName::of_this_process();
  status_.epoch = step / steps_per_epoch + 1;
  status_.epochs = epochs;
  status_.step = step;
  status_.steps = steps_per_epoch * epochs;
  write("starting", Clock::now());
}

void RunStatus::train(int64_t epoch, int64_t step, const troika_progress& batch) {
  const Clock::time_point now = Clock::now();
  status_.epoch = epoch;
  status_.step = step;
  if (!window_) {  // the first step also compiles
    window_ = Window{now, 0, 0, 0};
    return write("training", now);
  }
  ++window_->steps;
  window_->samples += batch.batch_samples;
  window_->waited += batch.wait_seconds;
  if (now - window_->began < kPause) return;
  measure(now);
  write("training", now);
}

void RunStatus::test(int64_t epoch) {
  const Clock::time_point now = Clock::now();
  if (!window_ && now - written_ < kPause) return;
  status_.epoch = epoch;
  if (window_) measure(now);
  window_.reset();
  write("evaluating", now);
}

void RunStatus::finish(const char* state, const std::string& message) {
  const Clock::time_point now = Clock::now();
  if (window_) measure(now);
  status_.message = message;
  write(state, now);
}

void RunStatus::measure(Clock::time_point now) {
  if (window_->steps == 0) return;
  const auto steps = static_cast<double>(window_->steps);
  const double seconds = std::chrono::duration<double>(now - window_->began).count();
  status_.images_per_second = static_cast<double>(window_->samples) / seconds;
  status_.step_seconds = seconds / steps;
  status_.wait_seconds = window_->waited / steps;
  window_ = Window{now, 0, 0, 0};
}

void RunStatus::write(const char* state, Clock::time_point now) {
  written_ = now;
  status_.state = state;
  status_.time = unix_seconds();
  file_.set(print_status(status_));
}

}  // namespace troika::cli
