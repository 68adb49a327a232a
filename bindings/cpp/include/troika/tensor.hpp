/** @file tensor.hpp Tensors. */
#ifndef TROIKA_TENSOR_HPP
#define TROIKA_TENSOR_HPP

#include <troika/context.hpp>

namespace troika {
inline namespace v1 {

/**
 * An array on one device, dense and row-major.
 *
 * Threads: constant calls run together; a call that writes the tensor runs alone. Nothing checks
 * it.
 */
class Tensor : public Object<troika_tensor> {
 public:
  Tensor() noexcept = default;
  explicit Tensor(troika_tensor owned) noexcept : Object(owned) {}

  /**
   * Creates a tensor with a copy of `data`, of the same dtype. Throws std::invalid_argument if the
   * number of elements does not fit `dims`.
   */
  Tensor(const Context& context, Device device, Span<const std::int64_t> dims, Elements data)
      : Tensor(create(context, device, data.dtype(), dims, checked(data, dims))) {}

  /** Creates a tensor of zeros. `dims` may be empty: a scalar. */
  static Tensor zeros(const Context& context, Device device, Dtype dtype, Span<const std::int64_t> dims) {
    return Tensor(create(context, device, dtype, dims, nullptr));
  }

  /** Returns dtype, shape, device and size. */
  TensorInfo describe() const { return detail::fill<TensorInfo>(troika_tensor_describe, detail::handle_of(*this)); }

  /** Copies all elements to host memory. Throws std::invalid_argument if the dtype differs. */
  void to_host(MutableElements data) const {
    detail::check_dtype("Tensor::to_host", data.dtype(), describe().dtype);
    detail::call(troika_tensor_to_host, detail::handle_of(*this), data.data(), data.size_bytes());
  }

  /** Returns a copy of all elements. Throws std::invalid_argument if they are no elements of T. */
  template <typename T>
  std::vector<T> to_host() const {
    const std::int64_t size_bytes = describe().size_bytes;
    std::vector<T> data(static_cast<std::size_t>(size_bytes) / sizeof(T));
    to_host(data);
    return data;
  }

  /** Copies host memory into the tensor. Throws std::invalid_argument if the dtype differs. */
  void from_host(Elements data) {
    detail::check_dtype("Tensor::from_host", data.dtype(), describe().dtype);
    detail::call(troika_tensor_from_host, detail::handle_of(*this), data.data(), data.size_bytes());
  }

  /** Copies this tensor into another one of the same shape and dtype, from device to device. */
  void copy(Tensor& destination) const {
    detail::call(troika_tensor_copy, detail::handle_of(*this), detail::handle_of(destination));
  }

  /** Returns a copy on a device. */
  Tensor to(Device device) const {
    return Tensor(detail::make<troika_tensor>(troika_tensor_to, detail::handle_of(*this), device.get()));
  }

  /** Cuts the tensor along dimension 0: piece i is on `devices[i]`. Larger pieces come first. */
  std::vector<Tensor> scatter(Span<const Device> devices) const {
    const std::vector<troika_device> raw = detail::raw_devices(devices);
    std::vector<troika_tensor> handles(raw.size());
    std::vector<Tensor> pieces(raw.size());
    detail::call(troika_tensor_scatter, detail::handle_of(*this), raw.data(), detail::length(raw), handles.data());
    for (std::size_t i = 0; i < pieces.size(); ++i) pieces[i] = Tensor(handles[i]);
    return pieces;
  }

  /** Replaces each of the tensors by their sum, which has the same bits on every device. */
  static void all_reduce(Span<Tensor> tensors) {
    std::vector<troika_tensor> handles;
    handles.reserve(tensors.size());
    for (const Tensor& tensor : tensors) handles.push_back(detail::handle_of(tensor));
    detail::call(troika_tensor_all_reduce, handles.data(), detail::length(handles));
  }

  /** Exports the tensor without a copy. Whoever takes the struct calls its deleter once. */
  [[nodiscard]] DLManagedTensor* to_dlpack() const {
    return detail::make<DLManagedTensor*>(troika_tensor_to_dlpack, detail::handle_of(*this));
  }

  /** Exports as `to_dlpack` does, in the layout of DLPack 1.0. */
  [[nodiscard]] DLManagedTensorVersioned* to_dlpack_versioned() const {
    return detail::make<DLManagedTensorVersioned*>(troika_tensor_to_dlpack_versioned, detail::handle_of(*this));
  }

  /** Takes another library's array without a copy. If this throws, the caller still owns it. */
  static Tensor from_dlpack(const Context& context, DLManagedTensor* managed) {
    return Tensor(detail::make<troika_tensor>(troika_tensor_from_dlpack, detail::handle_of(context), managed));
  }

  /** Takes an array as `from_dlpack` does, from a struct of DLPack 1.x. */
  static Tensor from_dlpack_versioned(const Context& context, DLManagedTensorVersioned* managed) {
    return Tensor(
        detail::make<troika_tensor>(troika_tensor_from_dlpack_versioned, detail::handle_of(context), managed));
  }

 private:
  static const void* checked(Elements data, Span<const std::int64_t> dims) {
    detail::check_elements("Tensor", data.size(), 1, dims);
    return data.data();
  }

  static troika_tensor create(const Context& context, Device device, Dtype dtype, Span<const std::int64_t> dims,
                              const void* data) {
    return detail::make<troika_tensor>(troika_tensor_create, detail::handle_of(context), device.get(),
                                       static_cast<std::int32_t>(dtype), dims.data(), detail::length(dims), data);
  }
};

}  // namespace v1
}  // namespace troika

#endif
