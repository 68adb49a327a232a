/** @file interface/tensor.hpp Options and results of tensor.h in C++.
 *
 * Written by bindings/generate.py from the C headers; do not edit.
 *
 * Comments are those of C. 1 is true and 0 is false for a flag, and NULL is no value.
 */
#ifndef TROIKA_INTERFACE_TENSOR_HPP
#define TROIKA_INTERFACE_TENSOR_HPP

#include <troika/interface/defaults.hpp>

namespace troika {
inline namespace v1 {

/** Description of a tensor. Filled by Tensor::describe. */
struct TensorInfo {
  /** Dtype::f32 and so on. */
  Dtype dtype = {};
  /** The device that stores it. */
  Device device = {};
  /** Sizes; 0 beyond rank. */
  Dims dims = {};
  /** Bytes of all elements. */
  std::int64_t size_bytes = {};
};

namespace detail {

template <>
struct Converter<TensorInfo> {
  using Struct = troika_tensor_info;
  static TensorInfo from(const troika_tensor_info& from) {
    TensorInfo to;
    to.dtype = convert<Dtype>(from.dtype);
    to.device = convert<Device>(from.device);
    to.dims = convert_part<Dims>(from.dims, from.rank);
    to.size_bytes = convert<std::int64_t>(from.size_bytes);
    return to;
  }
};

}  // namespace detail

}  // namespace v1
}  // namespace troika

#endif
