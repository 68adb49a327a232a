// The result of a step as the interface returns it.
#pragma once

#include <troika/trainer.h>

#include "train/results.h"

namespace troika::api {

inline troika_step_result to_public(const StepResult& found) {
  troika_step_result result{};
  result.loss = found.loss;
  result.samples = found.samples;
  result.labels = found.labels;
  result.correct = found.correct;
  result.step = found.step;
  result.learning_rate = found.learning_rate;
  result.seconds = found.seconds;
  result.loss_scale = found.loss_scale;
  result.gradient_norm = found.gradient_norm;
  return result;
}

}  // namespace troika::api
