/** @file context.hpp The context, and what is known about devices and the library. */
#ifndef TROIKA_CONTEXT_HPP
#define TROIKA_CONTEXT_HPP

#include <troika/object.hpp>

namespace troika {
inline namespace v1 {

/** Returns the version of the library that is loaded: 10203 is 1.2.3. Any thread. */
inline std::int32_t version() noexcept { return troika_version(); }

/** Returns one line that says how the library was built. Any thread. */
inline const char* build_info() noexcept { return troika_build_info(); }

namespace detail {

inline void TROIKA_CALL call_log(std::int32_t level, const char* topic, const char* line, void* user) {
  try {
    (*static_cast<LogFunction*>(user))(static_cast<LogLevel>(level), topic, line);
  } catch (...) {  // no call waits for a line
  }
}

inline std::string print_version(std::int32_t version) {
  return std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100);
}

/** The structs of C are those of the headers, so an older library cannot be used. */
inline void check_version() {
  if (version() / 10000 == TROIKA_VERSION_MAJOR && version() / 100 >= TROIKA_VERSION / 100) return;
  throw Error(Status::unsupported, "libtroika: its version is " + print_version(version()) + ", need " +
                                       print_version(TROIKA_VERSION) + " or a later version of the same major number");
}

}  // namespace detail

/** The root object: backends, log, CPU threads and default seed. It never changes: any thread. */
class Context : public Object<troika_context> {
 public:
  /**
   * Throws Error with invalid_argument, which names the field, or with unsupported if the library
   * is older than the headers.
   */
  explicit Context(const ContextOptions& options = {}) : Object(create(options)) {}
  explicit Context(troika_context owned) noexcept : Object(owned) {}

  /** Returns backends and transports, one line each: versions, or why one cannot be used. */
  std::string describe_backends() const {
    return detail::read_text(troika_context_describe_backends, detail::handle_of(*this));
  }

 private:
  static troika_context create(const ContextOptions& options) {
    detail::check_version();
    detail::Raw<ContextOptions> raw(options);
    std::unique_ptr<LogFunction> log;
    if (options.log) {
      log = std::make_unique<LogFunction>(options.log);
      raw.value.log = detail::call_log;
      raw.value.log_user = log.get();
      raw.value.log_user_destroy = detail::delete_user<LogFunction>;
    }
    const auto context = detail::make<troika_context>(troika_context_create, &raw.value);
    (void)log.release();  // the library's from now on
    return context;
  }
};

inline DeviceInfo Device::describe(const Context& context) const {
  return detail::fill<DeviceInfo>(troika_device_describe, detail::handle_of(context), get());
}

inline void Device::synchronize(const Context& context) const {
  detail::call(troika_device_synchronize, detail::handle_of(context), get());
}

inline std::int32_t Device::count(const Context& context, DeviceKind kind) {
  std::int32_t count = 0;
  detail::call(troika_device_count, detail::handle_of(context), static_cast<std::int32_t>(kind), &count);
  return count;
}

inline Device Device::try_gpu(const Context& context, std::int32_t index) {
  troika_device device = {};
  detail::call(troika_device_try, detail::handle_of(context), index, &device);
  return Device(device);
}

namespace detail {

/** Reads devices from a function whose last parameters are devices, capacity, number and error. */
template <typename Function, typename Handle>
std::vector<Device> read_devices(Function function, Handle handle) {
  std::vector<troika_device> devices;
  std::int32_t count = 0;
  do {
    devices.resize(static_cast<std::size_t>(count));
    call(function, handle, devices.data(), length(devices), &count);
  } while (count > length(devices));
  return {devices.begin(), devices.begin() + count};
}

inline std::vector<troika_device> raw_devices(Span<const Device> devices) {
  std::vector<troika_device> raw;
  raw.reserve(devices.size());
  for (const Device& device : devices) raw.push_back(device.get());
  return raw;
}

}  // namespace detail

inline std::vector<Device> Device::all(const Context& context) {
  return detail::read_devices(troika_devices_all, detail::handle_of(context));
}

}  // namespace v1
}  // namespace troika

#endif
