// The device of tests that can run on any device, for programs that link the library's internals.
#pragma once

#include <vector>

#include "device/backend.h"
#include "support/test_device_name.h"

namespace troika {

inline DeviceId test_device() { return parse_device(test_device_name()); }

inline bool is_on_cpu() { return test_device().kind == DeviceKind::cpu; }

// Returns the devices of n replicas: cpu:0 to cpu:n-1; or the test GPU n times; or, with
// TROIKA_TEST_GPUS=each, n GPUs beginning with the test GPU; or, with TROIKA_TEST_GPUS=mixed, the
// first half of them and then CPUs.
inline std::vector<DeviceId> test_devices(int n) {
  const char* const given = std::getenv("TROIKA_TEST_GPUS");
  const std::string gpus = given ? given : "";
  std::vector<DeviceId> devices(static_cast<size_t>(n), test_device());
  if (is_on_cpu() || gpus == "each" || gpus == "mixed")
    for (int i = 0; i < n; ++i) devices[static_cast<size_t>(i)].index += i;
  const int on_gpus = (n + 1) / 2;
  if (gpus == "mixed")
    for (int i = on_gpus; i < n; ++i) devices[static_cast<size_t>(i)] = {DeviceKind::cpu, i - on_gpus};
  return devices;
}

constexpr int kMostTestDevices = 8;  // the most devices of any test

}  // namespace troika
