// The interface of datasets: samples of one type with their targets. A fixed number of samples is
// read by index; a stream is read from its first sample to its last.
#pragma once

#include <cstdint>
#include <exception>
#include <optional>
#include <utility>

#include "core/dtype.h"
#include "core/error.h"
#include "core/shape.h"

namespace troika {

// Samples as bytes, [n, sample_shape...]. Byte b has the value values[b].
struct ByteSamples {
  const uint8_t* bytes;
  const void* values;  // [256], of the samples' type
};

// Samples of a stream: those of `epoch` from sample `first` on.
struct StreamPlace {
  int64_t epoch, first;
};

constexpr int64_t kStream = -1;  // the size of a stream

// The form of a dataset's samples and targets.
struct SampleForm {
  Shape shape;
  DType dtype = DType::f32;             // or i32: tokens, at least 0
  int64_t words = 0;                    // largest token + 1; 0 without tokens
  int64_t classes = 0;                  // largest label + 1; 0 if targets are no labels
  int64_t label_size = 1;               // labels per sample; 0 if targets are no labels
  int64_t value_size = 0;               // values per sample; 0 if targets are no values
  std::optional<int32_t> ignored = {};  // a label that weighs nothing, and does not count for `classes`
  bool is_weighted = false;             // samples have weights in losses
  bool operator==(const SampleForm&) const = default;
};

// Never changes after construction, so any number of threads may read concurrently.
class Dataset {
 public:
  virtual ~Dataset() = default;
  Dataset(const Dataset&) = delete;
  Dataset& operator=(const Dataset&) = delete;

  const SampleForm& form() const { return form_; }
  const Shape& sample_shape() const { return form_.shape; }
  int64_t sample_elements() const { return sample_elements_; }
  size_t sample_bytes() const { return static_cast<size_t>(sample_elements_) * size_of(form_.dtype); }
  int64_t size() const { return size_; }  // samples, or kStream
  bool is_stream() const { return size_ == kStream; }
  int64_t classes() const { return form_.classes; }
  int64_t label_size() const { return form_.label_size; }
  int64_t value_size() const { return form_.value_size; }
  bool has_labels() const { return form_.label_size > 0; }
  bool has_targets() const { return form_.label_size > 0 || form_.value_size > 0; }

  // Reads the `n` samples at `indices` into `inputs` [n, sample_shape...], of the samples' type.
  // Reads their targets into `labels` [n, label_size] or `values` [n, value_size], whichever this
  // dataset has. Other arrays are not touched, and null arrays are skipped. Allocates nothing.
  virtual void read(const int64_t* indices, int64_t n, void* inputs, int32_t* labels, float* values) const = 0;

  // The weight of a sample in losses.
  virtual float weight_of(int64_t /*index*/) const { return 1; }

  // Reads at most `n` samples of a stream as `read` does, and returns their number: below `n` only
  // at the end of the epoch.
  virtual int64_t read_stream(const StreamPlace&, int64_t /*n*/, void* /*inputs*/, int32_t* /*labels*/,
                              float* /*values*/) const {
    throw Error(Status::internal, "dataset: is no stream");
  }

  // Whether a sample is the same each time that it is read, so that devices may keep it.
  virtual bool is_fixed() const { return true; }
  // The samples, if they are stored in memory as bytes.
  virtual std::optional<ByteSamples> byte_samples() const { return std::nullopt; }

 protected:
  Dataset(SampleForm form, int64_t size)
      : form_(std::move(form)), sample_elements_(checked_elements(form_.shape, "dataset: a sample")), size_(size) {}
  // Samples f32 with one class each, or with `value_size` values.
  Dataset(Shape sample_shape, int64_t size, int64_t classes, int64_t value_size)
      : Dataset(SampleForm{.shape = std::move(sample_shape),
                           .classes = classes,
                           .label_size = value_size > 0 ? 0 : 1,
                           .value_size = value_size},
                size) {}

 private:
  SampleForm form_;
  int64_t sample_elements_;
  int64_t size_;
};

}  // namespace troika
