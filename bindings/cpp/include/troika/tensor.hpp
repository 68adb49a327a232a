/** @file tensor.hpp Tensors. */
#ifndef TROIKA_TENSOR_HPP
#define TROIKA_TENSOR_HPP

#include <troika/context.hpp>

namespace troika {
inline namespace v1 {

class TensorList;

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

  // Operations: operations.h of C has the rules. Each returns a new tensor on the device of its
  // operands. The operators are shorter: `a + b`, `2 * a`, `a -= b`.

  /** Creates a tensor whose numbers are all `value`. */
  static Tensor full(const Context& context, Device device, Dtype dtype, Span<const std::int64_t> dims, double value) {
    return fresh(troika_tensor_full, context, device, dtype, dims.data(), detail::length(dims), value);
  }
  /** Creates a tensor [count] with the numbers start, start + step, ... */
  static Tensor arange(const Context& context, Device device, Dtype dtype, double start, double step,
                       std::int64_t count) {
    return fresh(troika_tensor_arange, context, device, dtype, start, step, count);
  }
  /** Creates uniform numbers in [low, high). A seed makes the same numbers on every device. */
  static Tensor uniform(const Context& context, Device device, Dtype dtype, Span<const std::int64_t> dims, double low,
                        double high, std::uint64_t seed = 0) {
    return fresh(troika_tensor_uniform, context, device, dtype, dims.data(), detail::length(dims), low, high, seed);
  }
  /** Creates normally distributed numbers. A seed makes the same numbers on every device. */
  static Tensor normal(const Context& context, Device device, Dtype dtype, Span<const std::int64_t> dims, double mean,
                       double deviation, std::uint64_t seed = 0) {
    return fresh(troika_tensor_normal, context, device, dtype, dims.data(), detail::length(dims), mean, deviation,
                 seed);
  }

  /** Returns this + other. Shapes of two tensors may differ as in NumPy. */
  Tensor add(const Tensor& other) const { return compute(troika_tensor_add, detail::handle_of(other)); }
  /** Returns this - other. */
  Tensor subtract(const Tensor& other) const { return compute(troika_tensor_subtract, detail::handle_of(other)); }
  /** Returns the product, number by number. */
  Tensor multiply(const Tensor& other) const { return compute(troika_tensor_multiply, detail::handle_of(other)); }
  /** Returns this / other. */
  Tensor divide(const Tensor& other) const { return compute(troika_tensor_divide, detail::handle_of(other)); }
  /** Returns 1 if the relation holds, else 0, as u8. */
  Tensor compare(const Tensor& other, Relation relation) const {
    return compute(troika_tensor_compare, detail::handle_of(other), static_cast<std::int32_t>(relation));
  }

  /** Returns factor * this + offset. */
  Tensor scale(double factor, double offset = 0.0) const { return compute(troika_tensor_scale, factor, offset); }
  /** Returns max(this, 0). */
  Tensor relu() const { return compute(troika_tensor_relu); }
  /** Returns 1 / (1 + e^-this). */
  Tensor sigmoid() const { return compute(troika_tensor_sigmoid); }
  /** Returns the hyperbolic tangent. */
  Tensor tanh() const { return compute(troika_tensor_tanh); }
  /** Returns GELU without approximation. */
  Tensor gelu() const { return compute(troika_tensor_gelu); }
  /** Returns this times its sigmoid. */
  Tensor silu() const { return compute(troika_tensor_silu); }
  /** Returns the number if it is above 0, else `slope` times it. */
  Tensor leaky_relu(double slope = 0.01) const { return compute(troika_tensor_leaky_relu, slope); }
  /** Returns |this|. */
  Tensor abs() const { return compute(troika_tensor_abs); }
  /** Returns e^this. */
  Tensor exp() const { return compute(troika_tensor_exp); }
  /** Returns the natural logarithm. */
  Tensor log() const { return compute(troika_tensor_log); }
  /** Returns the square root. */
  Tensor sqrt() const { return compute(troika_tensor_sqrt); }
  /** Returns the same numbers as f32, bf16, f16, i32, i64 or u8. */
  Tensor cast(Dtype dtype) const { return compute(troika_tensor_cast, static_cast<std::int32_t>(dtype)); }

  /** Adds factor * other, in place. Throws Error for a tensor that is watched or recorded. */
  void add_in_place(const Tensor& other, double factor = 1.0) {
    detail::call(troika_tensor_add_in_place, detail::handle_of(*this), detail::handle_of(other), factor);
  }
  /** Replaces the numbers by factor * this + offset, as `add_in_place`. */
  void scale_in_place(double factor, double offset = 0.0) {
    detail::call(troika_tensor_scale_in_place, detail::handle_of(*this), factor, offset);
  }
  /** The operators with `=` write in place. */
  Tensor& operator+=(const Tensor& other) { return add_in_place(other), *this; }
  Tensor& operator-=(const Tensor& other) { return add_in_place(other, -1.0), *this; }
  Tensor& operator+=(double number) { return scale_in_place(1.0, number), *this; }
  Tensor& operator-=(double number) { return scale_in_place(1.0, -number), *this; }
  Tensor& operator*=(double number) { return scale_in_place(number), *this; }
  Tensor& operator/=(double number) { return scale_in_place(1.0 / number), *this; }

  /** Multiplies matrices [..., m, k] and [..., k, n]. The flags: this, or other, is transposed. */
  Tensor matmul(const Tensor& other, bool transpose_a = false, bool transpose_b = false) const {
    return compute(troika_tensor_matmul, detail::handle_of(other), transpose_a ? 1 : 0, transpose_b ? 1 : 0);
  }
  /** Convolves [batch, C, H, W] with a weight. Channels and kernel of the options are not read. */
  Tensor conv2d(const Tensor& weight, const Conv2dOptions& options = {}) const {
    return compute(troika_tensor_conv2d, detail::handle_of(weight), troika_tensor(),
                   detail::Raw<Conv2dOptions>(options).get());
  }
  /** Convolves, and adds a bias of f32. */
  Tensor conv2d(const Tensor& weight, const Tensor& bias, const Conv2dOptions& options = {}) const {
    return compute(troika_tensor_conv2d, detail::handle_of(weight), detail::handle_of(bias),
                   detail::Raw<Conv2dOptions>(options).get());
  }
  /** Returns the largest number of each window. `options.kernel` must be set. */
  Tensor max_pool2d(const Pool2dOptions& options) const {
    return compute(troika_tensor_max_pool2d, detail::Raw<Pool2dOptions>(options).get());
  }
  /** Returns the mean of each window. `options.kernel` must be set. */
  Tensor avg_pool2d(const Pool2dOptions& options) const {
    return compute(troika_tensor_avg_pool2d, detail::Raw<Pool2dOptions>(options).get());
  }

  /** Shows the same memory under another shape. One size may be -1. */
  Tensor reshape(Span<const std::int64_t> dims) const {
    return compute(troika_tensor_reshape, dims.data(), detail::length(dims));
  }
  /** Returns the axes in reverse. */
  Tensor transpose() const { return compute(troika_tensor_transpose, static_cast<const std::int32_t*>(nullptr)); }
  /** Axis i of the result is axis `order[i]`. Throws std::invalid_argument for a wrong length. */
  Tensor transpose(Span<const std::int32_t> order) const {
    const std::size_t rank = describe().dims.size();
    if (order.size() != rank)
      detail::refuse("Tensor::transpose: the order has " + std::to_string(order.size()) + " axes, the tensor " +
                     std::to_string(rank));
    return compute(troika_tensor_transpose, order.data());
  }
  /** Returns a copy of the part [begin, end) along an axis. */
  Tensor slice(std::int32_t axis, std::int64_t begin, std::int64_t end) const {
    return compute(troika_tensor_slice, axis, begin, end);
  }
  /** Joins tensors along an axis, in the order of the list. */
  static Tensor concat(const TensorList& tensors, std::int32_t axis = 0);
  /** Repeats axes of size 1, and missing ones at the front. */
  Tensor expand(Span<const std::int64_t> dims) const {
    return compute(troika_tensor_expand, dims.data(), detail::length(dims));
  }

  /** Returns the sum of all numbers. */
  Tensor sum() const { return compute(troika_tensor_sum, kAllAxes, 0, 0); }
  /** Returns the sums over some axes, which may stay with the size 1. */
  Tensor sum(Span<const std::int32_t> axes, bool keep_axes = false) const {
    return compute(troika_tensor_sum, listed(axes), detail::length(axes), keep_axes ? 1 : 0);
  }
  /** Returns the mean of all numbers. */
  Tensor mean() const { return compute(troika_tensor_mean, kAllAxes, 0, 0); }
  /** Returns the means over some axes, which may stay with the size 1. */
  Tensor mean(Span<const std::int32_t> axes, bool keep_axes = false) const {
    return compute(troika_tensor_mean, listed(axes), detail::length(axes), keep_axes ? 1 : 0);
  }
  /** Returns the root of the sum of all squares. */
  Tensor norm() const { return compute(troika_tensor_norm); }
  /** Returns e^this over its sum along an axis. */
  Tensor softmax(std::int32_t axis = -1) const { return compute(troika_tensor_softmax, axis); }
  /** Returns the places of the largest numbers along an axis, as i64 without that axis. */
  Tensor argmax(std::int32_t axis = -1) const { return compute(troika_tensor_argmax, axis); }
  /** Returns the cross-entropy of each label, f32, of logits [batch, classes]. */
  Tensor cross_entropy(const Tensor& labels) const {
    return compute(troika_tensor_cross_entropy, detail::handle_of(labels));
  }

  /** Returns type, shape and device, then the numbers; of large tensors the first and last ones. */
  std::string to_text() const { return detail::read_text(troika_tensor_to_text, detail::handle_of(*this)); }

 private:
  static constexpr const std::int32_t* kAllAxes = nullptr;

  /** An empty list of axes is not NULL, which would be all axes. */
  static const std::int32_t* listed(Span<const std::int32_t> axes) noexcept {
    static constexpr std::int32_t kNone = 0;
    return axes.empty() ? &kNone : axes.data();
  }

  template <typename Function, typename... Arguments>
  static Tensor fresh(Function function, const Context& context, Device device, Dtype dtype, Arguments... arguments) {
    return Tensor(detail::make<troika_tensor>(function, detail::handle_of(context), device.get(),
                                              static_cast<std::int32_t>(dtype), arguments...));
  }

  template <typename Function, typename... Arguments>
  Tensor compute(Function function, Arguments... arguments) const {
    return Tensor(detail::make<troika_tensor>(function, detail::handle_of(*this), arguments...));
  }

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

/** Tensors that a call reads: a list in braces, or a vector, an array or a span of them. */
class TensorList {
  struct Item {
    Item(const Tensor& tensor) : handle(detail::handle_of(tensor)) {}
    troika_tensor handle;
  };

 public:
  TensorList(std::initializer_list<Item> tensors) {
    for (const Item& item : tensors) handles_.push_back(item.handle);
  }
  template <typename Container,
            typename = std::enable_if_t<!std::is_same_v<std::decay_t<Container>, TensorList> &&
                                        detail::IsSeenAs<std::remove_reference_t<Container>, const Tensor>::value>>
  TensorList(const Container& tensors) {
    for (const Tensor& tensor : tensors) handles_.push_back(detail::handle_of(tensor));
  }

  const troika_tensor* data() const noexcept { return handles_.data(); }
  std::size_t size() const noexcept { return handles_.size(); }

 private:
  std::vector<troika_tensor> handles_;
};

inline Tensor Tensor::concat(const TensorList& tensors, std::int32_t axis) {
  return Tensor(detail::make<troika_tensor>(troika_tensor_concat, tensors.data(), detail::length(tensors), axis));
}

// Operators, number by number.

inline Tensor operator+(const Tensor& a, const Tensor& b) { return a.add(b); }
inline Tensor operator-(const Tensor& a, const Tensor& b) { return a.subtract(b); }
inline Tensor operator*(const Tensor& a, const Tensor& b) { return a.multiply(b); }
inline Tensor operator/(const Tensor& a, const Tensor& b) { return a.divide(b); }
inline Tensor operator+(const Tensor& a, double b) { return a.scale(1.0, b); }
inline Tensor operator-(const Tensor& a, double b) { return a.scale(1.0, -b); }
inline Tensor operator*(const Tensor& a, double b) { return a.scale(b); }
inline Tensor operator/(const Tensor& a, double b) { return a.scale(1.0 / b); }
inline Tensor operator+(double a, const Tensor& b) { return b.scale(1.0, a); }
inline Tensor operator-(double a, const Tensor& b) { return b.scale(-1.0, a); }
inline Tensor operator*(double a, const Tensor& b) { return b.scale(a); }
inline Tensor operator-(const Tensor& a) { return a.scale(-1.0); }

}  // namespace v1
}  // namespace troika

#endif
