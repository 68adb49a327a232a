/** @file interface/layers.hpp Options and results of layers.h in C++.
 *
 * Written by bindings/generate.py from the C headers; do not edit.
 *
 * Comments are those of C. 1 is true and 0 is false for a flag, and NULL is no value.
 */
#ifndef TROIKA_INTERFACE_LAYERS_HPP
#define TROIKA_INTERFACE_LAYERS_HPP

#include <troika/interface/defaults.hpp>

namespace troika {
inline namespace v1 {

/** Options of a 1-d convolution. */
struct Conv1dOptions {
  /** 1: without a bias; 0 (default): with. */
  bool no_bias = detail::initial<bool, &troika_conv1d_options::no_bias>();
  /** Must be set. */
  std::int64_t out_channels = detail::initial<std::int64_t, &troika_conv1d_options::out_channels>();
  /** Must be set. */
  std::int64_t kernel = detail::initial<std::int64_t, &troika_conv1d_options::kernel>();
  /** Default 1. */
  std::int64_t stride = detail::initial<std::int64_t, &troika_conv1d_options::stride>();
  /** Zeros added on each side; default 0. */
  std::int64_t padding = detail::initial<std::int64_t, &troika_conv1d_options::padding>();
  /** Default 1. */
  std::int64_t dilation = detail::initial<std::int64_t, &troika_conv1d_options::dilation>();
  /** Default 1; divides both channel counts. */
  std::int64_t groups = detail::initial<std::int64_t, &troika_conv1d_options::groups>();
};

namespace detail {

template <>
struct Raw<Conv1dOptions> {
  explicit Raw(const Conv1dOptions& from) {
    value.no_bias = from.no_bias ? 1 : 0;
    value.out_channels = from.out_channels;
    value.kernel = from.kernel;
    value.stride = from.stride;
    value.padding = from.padding;
    value.dilation = from.dilation;
    value.groups = from.groups;
  }
  Raw(const Raw&) = delete;
  Raw& operator=(const Raw&) = delete;
  const troika_conv1d_options* get() const noexcept { return &value; }

  troika_conv1d_options value = defaults<troika_conv1d_options>();
};

}  // namespace detail

/** Options of a 2-d convolution, and of a transposed one. Arrays are {height, width}. */
struct Conv2dOptions {
  /** 1: without a bias; 0 (default): with. */
  bool no_bias = detail::initial<bool, &troika_conv2d_options::no_bias>();
  /** Must be set. */
  std::int64_t out_channels = detail::initial<std::int64_t, &troika_conv2d_options::out_channels>();
  /** Must be set. */
  std::array<std::int64_t, 2> kernel = detail::initial<std::array<std::int64_t, 2>, &troika_conv2d_options::kernel>();
  /** Default 1. */
  std::array<std::int64_t, 2> stride = detail::initial<std::array<std::int64_t, 2>, &troika_conv2d_options::stride>();
  /** Zeros added on each side; default 0. */
  std::array<std::int64_t, 2> padding = detail::initial<std::array<std::int64_t, 2>, &troika_conv2d_options::padding>();
  /** Default 1. */
  std::array<std::int64_t, 2> dilation =
      detail::initial<std::array<std::int64_t, 2>, &troika_conv2d_options::dilation>();
  /** Default 1; divides both channel counts. */
  std::int64_t groups = detail::initial<std::int64_t, &troika_conv2d_options::groups>();
  /** Rows and columns that the output of a transposed convolution has in addition, at its end;
   *  fewer than the stride. Default 0; 0 for a convolution. */
  std::array<std::int64_t, 2> output_padding =
      detail::initial<std::array<std::int64_t, 2>, &troika_conv2d_options::output_padding>();
};

namespace detail {

template <>
struct Raw<Conv2dOptions> {
  explicit Raw(const Conv2dOptions& from) {
    value.no_bias = from.no_bias ? 1 : 0;
    value.out_channels = from.out_channels;
    std::copy(from.kernel.begin(), from.kernel.end(), value.kernel);
    std::copy(from.stride.begin(), from.stride.end(), value.stride);
    std::copy(from.padding.begin(), from.padding.end(), value.padding);
    std::copy(from.dilation.begin(), from.dilation.end(), value.dilation);
    value.groups = from.groups;
    std::copy(from.output_padding.begin(), from.output_padding.end(), value.output_padding);
  }
  Raw(const Raw&) = delete;
  Raw& operator=(const Raw&) = delete;
  const troika_conv2d_options* get() const noexcept { return &value; }

  troika_conv2d_options value = defaults<troika_conv2d_options>();
};

}  // namespace detail

/** Options of max and average pooling. Arrays are {height, width}. */
struct Pool2dOptions {
  /** Average pooling: 1 leaves the padding out of the mean. 0 (default, as in PyTorch): it
   *  counts. */
  bool exclude_padding = detail::initial<bool, &troika_pool2d_options::exclude_padding>();
  /** Must be set. */
  std::array<std::int64_t, 2> kernel = detail::initial<std::array<std::int64_t, 2>, &troika_pool2d_options::kernel>();
  /** Unset: the kernel. */
  std::array<std::int64_t, 2> stride = detail::initial<std::array<std::int64_t, 2>, &troika_pool2d_options::stride>();
  /** At most half the kernel; default 0. */
  std::array<std::int64_t, 2> padding = detail::initial<std::array<std::int64_t, 2>, &troika_pool2d_options::padding>();
};

namespace detail {

template <>
struct Raw<Pool2dOptions> {
  explicit Raw(const Pool2dOptions& from) {
    value.exclude_padding = from.exclude_padding ? 1 : 0;
    std::copy(from.kernel.begin(), from.kernel.end(), value.kernel);
    std::copy(from.stride.begin(), from.stride.end(), value.stride);
    std::copy(from.padding.begin(), from.padding.end(), value.padding);
  }
  Raw(const Raw&) = delete;
  Raw& operator=(const Raw&) = delete;
  const troika_pool2d_options* get() const noexcept { return &value; }

  troika_pool2d_options value = defaults<troika_pool2d_options>();
};

}  // namespace detail

}  // namespace v1
}  // namespace troika

#endif
