/** @file interface/device.hpp Options and results of device.h in C++.
 *
 * Written by bindings/generate.py from the C headers; do not edit.
 *
 * Comments are those of C. 1 is true and 0 is false for a flag, and NULL is no value.
 */
#ifndef TROIKA_INTERFACE_DEVICE_HPP
#define TROIKA_INTERFACE_DEVICE_HPP

#include <troika/interface/defaults.hpp>

namespace troika {
inline namespace v1 {

/** Description of a device. Filled by Device::describe. */
struct DeviceInfo {
  /** CPU: cores that the process may use; GPU: multiprocessors. */
  std::int32_t cores = {};
  /** Total memory. */
  std::int64_t memory_bytes = {};
  /** Memory that is free now. */
  std::int64_t free_bytes = {};
  /** Name of the processor, UTF-8. */
  std::string name = {};
};

namespace detail {

template <>
struct Converter<DeviceInfo> {
  using Struct = troika_device_info;
  static DeviceInfo from(const troika_device_info& from) {
    DeviceInfo to;
    to.cores = convert<std::int32_t>(from.cores);
    to.memory_bytes = convert<std::int64_t>(from.memory_bytes);
    to.free_bytes = convert<std::int64_t>(from.free_bytes);
    to.name = convert<std::string>(from.name);
    return to;
  }
};

}  // namespace detail

}  // namespace v1
}  // namespace troika

#endif
