// Tensors: memory, scattering and summing.
#include "device/tensor.h"

#include <algorithm>
#include <cstring>

#include "core/numbers.h"
#include "core/split.h"
#include "core/text.h"

namespace troika {

std::shared_ptr<Tensor> Tensor::create(std::shared_ptr<Device> device, TensorType type) {
  checked_elements(type.shape, "tensor");
  auto tensor = std::shared_ptr<Tensor>(new Tensor(std::move(device), std::move(type)));
  tensor->owned_ = tensor->device_->allocate(tensor->bytes(),
                                             text("a tensor of ", name_of(tensor->type().dtype), tensor->type().shape));
  tensor->data_ = tensor->owned_.get();
  return tensor;
}

std::shared_ptr<Tensor> Tensor::borrow(std::shared_ptr<Device> device, TensorType type, void* data,
                                       std::function<void()> release) {
  auto tensor = std::shared_ptr<Tensor>(new Tensor(std::move(device), std::move(type)));
  tensor->data_ = static_cast<std::byte*>(data);
  tensor->release_ = std::move(release);
  return tensor;
}

std::shared_ptr<Tensor> Tensor::adopt(std::shared_ptr<Device> device, TensorType type, Buffer memory) {
  auto tensor = std::shared_ptr<Tensor>(new Tensor(std::move(device), std::move(type)));
  tensor->owned_ = std::move(memory);
  tensor->data_ = tensor->owned_.get();
  return tensor;
}

Tensor::~Tensor() {
  if (release_) release_();
}

std::vector<std::byte> Tensor::to_host() const {
  std::vector<std::byte> host(bytes());
  read(host.data());
  return host;
}

std::vector<std::shared_ptr<Tensor>> scatter(const Tensor& source,
                                             const std::vector<std::shared_ptr<Device>>& devices) {
  const Shape& shape = source.type().shape;
  if (shape.rank() < 1) throw Error(Status::invalid_argument, "scatter: tensor is a scalar, needs a dimension to cut");
  const std::vector<std::byte> host = source.to_host();
  const size_t row_bytes = shape[0] ? host.size() / static_cast<size_t>(shape[0]) : 0;
  std::vector<std::shared_ptr<Tensor>> pieces;
  for (size_t i = 0; i < devices.size(); ++i) {
    const Range range = balanced_split(shape[0], static_cast<int64_t>(devices.size()), static_cast<int64_t>(i));
    pieces.push_back(Tensor::create(devices[i], {source.type().dtype, shape.with_batch(range.size())}));
    pieces.back()->write(host.data() + static_cast<size_t>(range.begin) * row_bytes);
  }
  return pieces;
}

namespace {

template <typename Number>
void add_bytes(std::vector<std::byte>& sum, const std::vector<std::byte>& addend) {
  for (size_t i = 0; i + sizeof(Number) <= sum.size(); i += sizeof(Number)) {
    Number a, b;
    std::memcpy(&a, &sum[i], sizeof a);
    std::memcpy(&b, &addend[i], sizeof b);
    if constexpr (std::is_integral_v<Number>) {  // wraps around, as integers on every device do
      using Unsigned = std::make_unsigned_t<Number>;
      a = static_cast<Number>(static_cast<Unsigned>(a) + static_cast<Unsigned>(b));
    } else {
      a += b;
    }
    std::memcpy(&sum[i], &a, sizeof a);
  }
}

// Sums 16-bit numbers in f32, and rounds once.
void all_reduce_in_f32(const std::vector<Tensor*>& tensors) {
  const TensorType& type = tensors[0]->type();
  const int64_t n = type.shape.elements();
  std::vector<float> sum(static_cast<size_t>(n)), addend(sum.size());
  for (const Tensor* tensor : tensors) {
    convert_numbers(type.dtype, tensor->to_host().data(), DType::f32, addend.data(), n);
    for (size_t i = 0; i < sum.size(); ++i) sum[i] += addend[i];
  }
  std::vector<std::byte> rounded(type.bytes());
  convert_numbers(DType::f32, sum.data(), type.dtype, rounded.data(), n);
  for (Tensor* tensor : tensors) tensor->write(rounded.data());
}

}  // namespace

void all_reduce(const std::vector<Tensor*>& tensors) {
  if (tensors.empty())
    throw Error(Status::invalid_argument, "all_reduce: the list of tensors is empty, need at least 1");
  const TensorType& type = tensors[0]->type();
  for (size_t i = 0; i < tensors.size(); ++i) {
    const TensorType& other = tensors[i]->type();
    if (!(other == type))
      throw Error(Status::invalid_argument, text("all_reduce: tensor ", i, " is ", name_of(other.dtype), other.shape,
                                                 ", tensor 0 is ", name_of(type.dtype), type.shape));
    for (size_t j = 0; j < i; ++j)
      if (tensors[i] == tensors[j])
        throw Error(Status::invalid_argument, text("all_reduce: tensors ", j, " and ", i, " are the same"));
  }
  constexpr DType kSummed[] = {DType::f32, DType::f64, DType::i32, DType::i64, DType::u8, DType::bf16, DType::f16};
  if (std::find(std::begin(kSummed), std::end(kSummed), type.dtype) == std::end(kSummed))
    throw Error(Status::unsupported, text("all_reduce: tensors are ", name_of(type.dtype),
                                          ", need f32, f64, bf16, f16, i32, i64 or u8"));
  if (type.dtype == DType::bf16 || type.dtype == DType::f16) return all_reduce_in_f32(tensors);
  std::vector<std::byte> sum = tensors[0]->to_host();
  for (size_t i = 1; i < tensors.size(); ++i) {
    const std::vector<std::byte> addend = tensors[i]->to_host();
    switch (type.dtype) {
      case DType::f32: add_bytes<float>(sum, addend); break;
      case DType::f64: add_bytes<double>(sum, addend); break;
      case DType::i32: add_bytes<int32_t>(sum, addend); break;
      case DType::i64: add_bytes<int64_t>(sum, addend); break;
      case DType::u8: add_bytes<uint8_t>(sum, addend); break;
      default: break;
    }
  }
  for (Tensor* tensor : tensors) tensor->write(sum.data());
}

}  // namespace troika
