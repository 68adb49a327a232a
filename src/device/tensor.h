// An n-dimensional array on one device, dense and row-major.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "device/backend.h"

namespace troika {

class Tensor {
 public:
  // Creates a tensor with zeroed memory of its own.
  static std::shared_ptr<Tensor> create(std::shared_ptr<Device> device, TensorType type);
  // Wraps the memory of someone else. `release` is called once, when the tensor is destroyed.
  static std::shared_ptr<Tensor> borrow(std::shared_ptr<Device> device, TensorType type, void* data,
                                        std::function<void()> release);
  // Takes memory over, of any content.
  static std::shared_ptr<Tensor> adopt(std::shared_ptr<Device> device, TensorType type, Buffer memory);
  ~Tensor();
  Tensor(const Tensor&) = delete;
  Tensor& operator=(const Tensor&) = delete;

  const TensorType& type() const { return type_; }
  const std::shared_ptr<Device>& device() const { return device_; }
  std::byte* data() const { return data_; }
  size_t bytes() const { return type_.bytes(); }

  void read(void* host) const {
    if (bytes()) device_->copy_to_host(host, data_, bytes());
  }
  // Returns when the bytes have arrived: others may read them through DLPack, on their own streams.
  void write(const void* host) {
    if (!bytes()) return;
    device_->copy_from_host(data_, host, bytes());
    device_->finish();
  }
  std::vector<std::byte> to_host() const;

 private:
  Tensor(std::shared_ptr<Device> device, TensorType type) : device_(std::move(device)), type_(std::move(type)) {}

  std::shared_ptr<Device> device_;
  TensorType type_;
  Buffer owned_ = no_buffer();
  std::byte* data_ = nullptr;
  std::function<void()> release_;
};

// Returns pieces of `source` along dimension 0, in order, with sizes that differ by at most one.
// Each is a copy on its device.
std::vector<std::shared_ptr<Tensor>> scatter(const Tensor& source, const std::vector<std::shared_ptr<Device>>& devices);

// Replaces each tensor by the sum of all, added in their order. One shape and dtype: f32, f64, i32,
// i64, u8, or bf16 and f16, whose sums are rounded once.
void all_reduce(const std::vector<Tensor*>& tensors);

}  // namespace troika
