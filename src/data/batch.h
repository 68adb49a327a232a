// A batch of samples in host memory, and the samples of the loader's dataset that it has.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/dtype.h"
#include "core/sampler.h"
#include "core/shape.h"

namespace troika {

struct BatchPosition {
  int64_t epoch = 0;
  int64_t batch = 0;    // within the epoch
  int64_t batches = 0;  // in an epoch; of a stream, in the last epoch that ended, and 0 before
  bool operator==(const BatchPosition&) const = default;
};

// Places [first, first + size) in a loader's order of the dataset's samples.
struct BatchOrigin {
  BatchPosition at;    // this batch
  BatchPosition next;  // the batch after this one; after an epoch's last, batch 0 of the next epoch
  SampleOrder order;
  int64_t first = 0, size = 0;
};

// A loader refills the batch in place. It allocates nothing after the largest batch.
struct Batch {
  Shape shape;                        // of the inputs, [n, ...]
  DType dtype = DType::f32;           // of the inputs; or i32: tokens
  std::vector<float> inputs;          // row-major, or empty if the inputs are tokens
  std::vector<int32_t> tokens;        // row-major, or empty
  std::vector<int32_t> labels;        // [n, label_size], or empty if targets are no labels
  int64_t label_size = 1;             // labels per sample; 0 if targets are no labels
  std::vector<float> values;          // [n, value_size], or empty if targets are no values
  std::vector<float> weights;         // of samples, [n], or empty: 1 each
  std::optional<int32_t> ignored;     // a label that the dataset says weighs nothing
  int64_t value_size = 0;             // values per sample; 0 if targets are no values
  std::optional<BatchOrigin> origin;  // a caller's own batch has none
  int64_t first_row = 0;              // of the samples here, in the batch of all processes

  int64_t size() const { return shape[0]; }
  const void* input_data() const {
    return dtype == DType::i32 ? static_cast<const void*>(tokens.data()) : inputs.data();
  }
};

}  // namespace troika
