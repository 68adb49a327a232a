// A batch in memory that callers lend for one step.
#pragma once

#include <cstdint>

#include "data/batch.h"

namespace troika {

struct BatchView {
  int64_t n = 0;  // samples
  const float* inputs = nullptr;
  const int32_t* labels = nullptr;
  const float* values = nullptr;
  int64_t value_size = 0;
  float* output = nullptr;                // of predict
  const BatchOrigin* gathered = nullptr;  // samples of the dataset that the replicas hold; inputs and targets are null
};

inline BatchView view_of(const Batch& batch) {
  BatchView view;
  view.n = batch.size();
  view.inputs = batch.inputs.data();
  view.labels = batch.labels.empty() ? nullptr : batch.labels.data();
  view.values = batch.values.empty() ? nullptr : batch.values.data();
  view.value_size = batch.value_size;
  return view;
}

}  // namespace troika
