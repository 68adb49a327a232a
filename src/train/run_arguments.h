// The arguments of one run of a plan, and its results.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/deadline.h"
#include "runtime/executor.h"
#include "train/sample_store.h"

namespace troika {

// Which run's results a run waits for and returns.
enum class Results {
  none,     // the run ends when its launches have been passed to the device
  own,      // this run's
  earlier,  // the previous run's (if it also asked for `earlier`), so that the device runs ahead of the host
};

// Pointers are borrowed for the run.
struct RunArguments {
  const void* x = nullptr;       // this replica's samples, row-major
  const void* target = nullptr;  // labels i32 or values f32, of the same samples
  const void* weights = nullptr;  // of the targets, f32, for plans that are fed some
  size_t x_bytes = 0, target_bytes = 0, weights_bytes = 0;
  std::optional<SamplePlace> samples;  // instead of x and target: samples of the dataset that the replica holds
  const std::vector<float>* settings = nullptr;
  float label_weight = 1;               // in the gradient, for plans that are fed one
  int64_t dropout_counter[2] = {0, 0};  // {seed, step}
  Deadline deadline;
  Results wants = Results::own;
  Piece piece = Piece::all;
  bool adds_gradients = false;      // to those that are there
  bool is_measured = false;         // the times of the step are wanted
  float* output = nullptr;          // receives the network's output for these samples, row-major
  float* input_gradient = nullptr;  // receives the gradient of these samples, as the plan reports it
};

// The numbers that a run of a plan reports, over the whole batch: the same on every rank.
struct RunResults {
  double loss = 0;  // the sum over labels
  int64_t correct = 0;
  bool is_finite = true;                  // with loss scaling: every gradient was
  float gradient_norm = 0;                // before clipping; 0 without
  std::array<float, 2> loss_scale{1, 0};  // after the step (ops/loss_scale.cpp)
};

}  // namespace troika
