// A dataset in a device's memory, from which batches are gathered there.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "data/dataset.h"
#include "device/backend.h"
#include "graph/graph.h"

namespace troika {

// A batch's first place in an order of the dataset's samples.
struct SamplePlace {
  std::optional<uint64_t> key;  // a Sampler's; none: the dataset's order
  int64_t first = 0;
};

// Used from the device's worker thread.
class SampleStore {
 public:
  // Which parts of the samples the replica is fed.
  struct Parts {
    bool inputs = true, targets = true;
    bool operator==(const Parts&) const = default;
  };

  // Bytes that a dataset takes.
  static size_t bytes_of(const Dataset& dataset, Parts parts);

  // Copies the samples to the device, bytes as bytes. OUT_OF_MEMORY.
  SampleStore(Device& device, const std::shared_ptr<const Dataset>& dataset, Parts parts);

  bool is_of(const Dataset& dataset) const { return dataset_.lock().get() == &dataset; }
  bool is_abandoned() const { return dataset_.expired(); }
  Parts parts() const { return parts_; }
  size_t bytes() const { return bytes_; }
  // Bytes of a sample, as gathered.
  size_t input_bytes() const { return static_cast<size_t>(samples_shape_.elements() / size_) * size_of(dtype_); }
  size_t target_bytes() const { return targets_type_.bytes() / static_cast<size_t>(size_); }

  // Returns the launch that gathers `batch` samples into `inputs` [batch, sample], of the dataset's
  // type, and `targets`. The samples begin `offset` after the place that is set. `inputs` or
  // `targets` is null if the store does not have that part.
  std::unique_ptr<Kernel> create_gather(bool is_shuffled, int64_t offset, int64_t batch, void* inputs, void* targets);

  // For the gathers launched from now on.
  void set_place(const SamplePlace& place);

 private:
  Buffer upload(const void* data, size_t bytes, const char* what);
  Buffer upload_read(const Dataset& dataset, bool reads_inputs, size_t row_bytes, const char* what);
  std::unique_ptr<Kernel> select(const Graph& graph, const std::vector<void*>& inputs,
                                 const std::vector<void*>& outputs);

  Device& device_;
  std::weak_ptr<const Dataset> dataset_;  // not kept alive: its owner may drop it
  const Parts parts_;
  const size_t bytes_;
  const int64_t size_;
  const DType dtype_;   // of the dataset's samples
  DType samples_type_;  // as stored here: the same type, or u8
  TensorType targets_type_;
  Shape samples_shape_;  // [size, sample...]
  Buffer samples_, values_, targets_, order_, key_, first_;
  std::unique_ptr<Kernel> make_order_;
  std::optional<uint64_t> order_key_;  // key of the order that is stored
};

}  // namespace troika
