/** @file device.hpp Devices. */
#ifndef TROIKA_DEVICE_HPP
#define TROIKA_DEVICE_HPP

#include <troika/device.h>
#include <troika/error.hpp>

#include <vector>

namespace troika {
inline namespace v1 {

class Context;
struct DeviceInfo;

/** A device: a value that names a CPU slice or a GPU, which need not exist. Any thread. */
struct Device {
  DeviceKind kind = DeviceKind::cpu;
  std::int32_t index = 0;  // from 0

  constexpr Device() noexcept = default;
  constexpr Device(DeviceKind k, std::int32_t i = 0) noexcept : kind(k), index(i) {}
  /** As `parse`, so that "cpu:1" is a device wherever one is wanted. */
  Device(const std::string& text) : Device(parse(text)) {}
  Device(const char* text) : Device(parse(text)) {}
  explicit constexpr Device(troika_device device) noexcept
      : kind(static_cast<DeviceKind>(device.kind)), index(device.index) {}

  /** Returns the device of C. */
  constexpr troika_device get() const noexcept { return {static_cast<std::int32_t>(kind), index}; }

  /** Reads "cpu", "cpu:1" or "cuda:0". Throws Error with invalid_argument for any other text. */
  static Device parse(const std::string& text) {
    troika_device device = {};
    detail::call(troika_device_parse, detail::c_text(text, "Device"), &device);
    return Device(device);
  }

  /** Returns the text form, such as "cuda:0". Throws Error with invalid_argument. */
  std::string format() const { return detail::read_text(troika_device_format, get()); }

  /** Returns name and memory. Throws Error with device_unavailable, which says why. */
  DeviceInfo describe(const Context& context) const;

  /** Waits until all operations on the device that were called before have ended. */
  void synchronize(const Context& context) const;

  /** Returns the number of usable devices of a kind. */
  static std::int32_t count(const Context& context, DeviceKind kind);

  /** Returns the GPU of that index if it is usable, else "cpu:0" (`troika_device_try`). */
  static Device try_gpu(const Context& context, std::int32_t index = 0);

  /** Returns every usable GPU, or "cpu:0" alone if there is none (`troika_devices_all`). */
  static std::vector<Device> all(const Context& context);

  friend constexpr bool operator==(const Device& a, const Device& b) noexcept {
    return a.kind == b.kind && a.index == b.index;
  }
  friend constexpr bool operator!=(const Device& a, const Device& b) noexcept { return !(a == b); }
};

}  // namespace v1
}  // namespace troika

#endif
