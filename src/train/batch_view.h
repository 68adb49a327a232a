// A batch in memory that callers lend for one step.
#pragma once

#include <cstdint>

#include "data/batch.h"

namespace troika {

struct BatchView {
  int64_t n = 0;                    // samples of the whole batch
  int64_t rows = 0, first = 0;      // of them, that this process has: [first, first + rows)
  const void* inputs = nullptr;     // of the type of the model's input
  const int32_t* labels = nullptr;  // [rows, label_size]
  int64_t label_size = 1;
  const float* values = nullptr;  // [rows, value_size]
  int64_t value_size = 0;
  const float* weights = nullptr;  // of the labels [rows, label_size], or of samples with values [rows]; null: 1 each
  int64_t counted = 0;             // labels that are not ignored; the samples if there are no labels
  double weight = 0;               // of them together
  float* output = nullptr;                // of predict, for rows from `first_output` on
  int64_t first_output = 0;
  const BatchOrigin* gathered = nullptr;  // samples of the dataset that the replicas hold; inputs and targets are null
};

inline const BatchOrigin* origin_of(const Batch& batch) { return batch.origin ? &*batch.origin : nullptr; }

inline BatchView view_of(const Batch& batch) {
  BatchView view;
  view.n = view.rows = batch.size();
  view.inputs = batch.input_data();
  view.labels = batch.labels.empty() ? nullptr : batch.labels.data();
  view.label_size = batch.label_size;
  view.values = batch.values.empty() ? nullptr : batch.values.data();
  view.value_size = batch.value_size;
  return view;
}

}  // namespace troika
