// The device of tests that can run on any device, for programs that link the library's internals.
#pragma once

#include <vector>

#include "device/backend.h"
#include "support/test_device_name.h"

namespace troika {

inline DeviceId test_device() { return parse_device(test_device_name()); }

inline bool is_on_cpu() { return test_device().kind == DeviceKind::cpu; }

// Returns the devices of n replicas: cpu:0 to cpu:n-1; or the test GPU n times; or, with
// TROIKA_TEST_GPUS=each, n GPUs beginning with the test GPU.
inline std::vector<DeviceId> test_devices(int n) {
  const char* const gpus = std::getenv("TROIKA_TEST_GPUS");
  const bool are_many = is_on_cpu() || (gpus && std::string(gpus) == "each");
  std::vector<DeviceId> devices(static_cast<size_t>(n), test_device());
  if (are_many)
    for (int i = 0; i < n; ++i) devices[static_cast<size_t>(i)].index += i;
  return devices;
}

constexpr int kMostTestDevices = 8;  // the most devices of any test

}  // namespace troika
