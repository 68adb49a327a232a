// A dataset that the host reads, by a function.
#pragma once

#include <functional>

#include "data/dataset.h"

namespace troika {

// Samples that the host is asked to write, with their targets. Arrays that the dataset does not
// have are null.
struct ReadRequest {
  int64_t n;
  const int64_t* indices;  // null: a stream
  StreamPlace place;       // of a stream
  void* inputs;
  int32_t* labels;
  float* values;
};

// Returns the number of samples that were written. Throws what the host reports: CALLBACK, or
// Stopped.
using ReadFunction = std::function<int64_t(const ReadRequest&)>;

// Checks what the host writes. It reads inputs and targets together.
class CallbackDataset final : public Dataset {
 public:
  // `size` is kStream or a number of samples.
  CallbackDataset(SampleForm form, int64_t size, ReadFunction read)
      : Dataset(std::move(form), size), read_(std::move(read)) {}

  void read(const int64_t* indices, int64_t n, void* inputs, int32_t* labels, float* values) const override;
  int64_t read_stream(const StreamPlace& place, int64_t n, void* inputs, int32_t* labels, float* values) const override;
  // The host may write another sample each time, such as one that is augmented at random.
  bool is_fixed() const override { return false; }

 private:
  int64_t ask(ReadRequest request, int64_t least) const;
  void check(const ReadRequest& request, int64_t n) const;

  const ReadFunction read_;
};

}  // namespace troika
