// What every dataset is: a fixed number of samples of one shape with their targets, read by index.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "core/shape.h"

namespace troika {

// Samples as bytes, [n, sample_shape...]; one with byte b has the element values[b].
struct ByteSamples {
  const uint8_t* bytes;
  const float* values;  // [256]
};

// Never changes after construction, so any number of threads may read at once.
class Dataset {
 public:
  virtual ~Dataset() = default;
  Dataset(const Dataset&) = delete;
  Dataset& operator=(const Dataset&) = delete;

  const Shape& sample_shape() const { return sample_shape_; }
  int64_t sample_elements() const { return sample_elements_; }
  int64_t size() const { return size_; }              // samples
  int64_t classes() const { return classes_; }        // largest label + 1; 0 where targets are values
  int64_t value_size() const { return value_size_; }  // values a sample; 0 where targets are labels
  bool has_labels() const { return value_size_ == 0; }

  // Reads the `n` samples at `indices` into `inputs` [n, sample_shape...] and their targets into `labels` [n] or
  // `values` [n, value_size], whichever this dataset has; the other is not touched, nor is what is null. Allocates nothing.
  virtual void read(const int64_t* indices, int64_t n, float* inputs, int32_t* labels, float* values) const = 0;

  // The samples where they lie as bytes in memory; none elsewhere.
  virtual std::optional<ByteSamples> byte_samples() const { return std::nullopt; }

 protected:
  Dataset(Shape sample_shape, int64_t size, int64_t classes, int64_t value_size)
      : sample_shape_(std::move(sample_shape)),
        sample_elements_(checked_elements(sample_shape_, "dataset: a sample")),
        size_(size),
        classes_(classes),
        value_size_(value_size) {}

 private:
  Shape sample_shape_;
  int64_t sample_elements_;
  int64_t size_;
  int64_t classes_;
  int64_t value_size_;
};

}  // namespace troika
