// Copying a dataset to a device, and the launches over it.
#include "train/sample_store.h"

#include <algorithm>
#include <numeric>

#include "core/text.h"
#include "ops/op_def.h"

namespace troika {
namespace {

constexpr int64_t kKeptChunkBytes = 16 << 20;  // read at once
constexpr int64_t kByteValues = 256;

TensorType targets_type(const Dataset& dataset) {
  if (dataset.value_size() == 0) return {DType::i32, {dataset.size(), dataset.label_size()}};
  return {DType::f32, {dataset.size(), dataset.value_size()}};
}

}  // namespace

size_t SampleStore::bytes_of(const Dataset& dataset, Parts parts) {
  const auto n = static_cast<size_t>(dataset.size());
  size_t bytes = n * sizeof(int64_t);  // the order
  if (parts.inputs)
    bytes += n * (dataset.byte_samples() ? static_cast<size_t>(dataset.sample_elements()) : dataset.sample_bytes());
  return bytes + (parts.targets ? targets_type(dataset).bytes() : 0);
}

SampleStore::SampleStore(Device& device, const std::shared_ptr<const Dataset>& dataset, Parts parts)
    : device_(device),
      dataset_(dataset),
      parts_(parts),
      bytes_(bytes_of(*dataset, parts)),
      size_(dataset->size()),
      dtype_(dataset->form().dtype),
      samples_type_(dtype_),
      targets_type_(targets_type(*dataset)),
      samples_shape_(dataset->sample_shape().times(size_)),
      samples_(no_buffer()),
      values_(no_buffer()),
      targets_(no_buffer()),
      order_(device.allocate(static_cast<size_t>(size_) * sizeof(int64_t), "the order of samples")),
      key_(device.allocate(sizeof(int64_t), "the key of an order")),
      first_(device.allocate(sizeof(int64_t), "a batch's place")) {
  if (const auto bytes = dataset->byte_samples(); bytes && parts.inputs) {
    samples_type_ = DType::u8;
    samples_ = upload(bytes->bytes, static_cast<size_t>(samples_shape_.elements()), "a dataset's samples");
    values_ = upload(bytes->values, kByteValues * size_of(dtype_), "the values of bytes");
  } else if (parts.inputs) {
    samples_ = upload_read(*dataset, true, dataset->sample_bytes(), "a dataset's samples");
  }
  if (parts.targets)
    targets_ = upload_read(*dataset, false, targets_type_.bytes() / static_cast<size_t>(size_), "a dataset's targets");

  Graph graph;
  const ValueId key = graph.add_value("key", {DType::i64, {1}}, Role::input);
  append_node(graph, sample_order_op, "order", {key}, {{"samples", size_}});
  make_order_ = select(graph, {key_.get()}, {order_.get()});
}

Buffer SampleStore::upload(const void* data, size_t bytes, const char* what) {
  Buffer buffer = device_.allocate(bytes, what);
  device_.copy_from_host(buffer.get(), data, bytes);
  return buffer;
}

// Copies inputs or targets, one chunk after another.
Buffer SampleStore::upload_read(const Dataset& dataset, bool reads_inputs, size_t row_bytes, const char* what) {
  Buffer buffer = device_.allocate(static_cast<size_t>(size_) * row_bytes, what);
  const int64_t chunk = std::clamp<int64_t>(kKeptChunkBytes / static_cast<int64_t>(row_bytes), 1, size_);
  std::vector<int64_t> indices(static_cast<size_t>(chunk));
  std::vector<std::byte> rows(static_cast<size_t>(chunk) * row_bytes);  // of inputs, labels or values
  auto* const values = reinterpret_cast<float*>(rows.data());
  auto* const labels = reinterpret_cast<int32_t*>(rows.data());
  for (int64_t begin = 0; begin < size_; begin += chunk) {
    const int64_t n = std::min(chunk, size_ - begin);
    std::iota(indices.begin(), indices.end(), begin);
    if (reads_inputs)
      dataset.read(indices.data(), n, rows.data(), nullptr, nullptr);
    else
      dataset.read(indices.data(), n, nullptr, labels, values);
    device_.copy_from_host(buffer.get() + static_cast<size_t>(begin) * row_bytes, rows.data(),
                           static_cast<size_t>(n) * row_bytes);
  }
  return buffer;
}

// Returns the kernel of the graph's only node.
std::unique_ptr<Kernel> SampleStore::select(const Graph& graph, const std::vector<void*>& inputs,
                                            const std::vector<void*>& outputs) {
  const Node& node = graph.nodes()[0];
  KernelChoice choice = device_.select({graph, node, std::vector<LayoutPtr>(node.inputs.size())});
  const bool is_plain =
      std::none_of(choice.input_layouts.begin(), choice.input_layouts.end(), [](const auto& l) { return l; });
  if (choice.scratch_bytes > 0 || !is_plain)
    throw Error(Status::internal, text(choice.name, ": needs plain inputs and no scratch memory here"));
  choice.kernel->bind(inputs, outputs, nullptr);
  return std::move(choice.kernel);
}

std::unique_ptr<Kernel> SampleStore::create_gather(bool is_shuffled, int64_t offset, int64_t batch, void* inputs,
                                                   void* targets) {
  Graph graph;
  std::vector<void*> in, out;
  std::vector<ValueId> ids;
  auto add = [&](bool is_there, const char* name, const TensorType& type, const Buffer& buffer) {
    ids.push_back(is_there ? graph.add_value(name, type, Role::input) : kNoValue);
    in.push_back(is_there ? buffer.get() : nullptr);
  };
  add(true, "first", {DType::i64, {1}}, first_);
  add(is_shuffled, "order", {DType::i64, {size_}}, order_);
  add(inputs != nullptr, "samples", {samples_type_, samples_shape_}, samples_);
  add(inputs != nullptr && samples_type_ == DType::u8, "values", {dtype_, {kByteValues}}, values_);
  add(targets != nullptr, "targets", targets_type_, targets_);
  if (inputs) out.push_back(inputs);
  if (targets) out.push_back(targets);
  append_node(graph, gather_samples_op, "batch", ids, {{"batch", batch}, {"offset", offset}});
  return select(graph, in, out);
}

void SampleStore::set_place(const SamplePlace& place) {
  device_.copy_from_host(first_.get(), &place.first, sizeof place.first);
  if (!place.key || order_key_ == place.key) return;
  order_key_.reset();  // reset until the order is made
  device_.copy_from_host(key_.get(), &*place.key, sizeof *place.key);
  make_order_->run();
  order_key_ = place.key;
}

}  // namespace troika
