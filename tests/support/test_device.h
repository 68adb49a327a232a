// The device that tests run on where any will do, for programs that have the library's insides.
#pragma once

#include <vector>

#include "device/backend.h"
#include "support/test_device_name.h"

namespace troika {

inline DeviceId test_device() { return parse_device(test_device_name()); }

inline bool is_on_cpu() { return test_device().kind == DeviceKind::cpu; }

// n replicas: cpu:0 to cpu:n-1, or the one GPU n times.
inline std::vector<DeviceId> test_devices(int n) {
  std::vector<DeviceId> devices(static_cast<size_t>(n), test_device());
  if (is_on_cpu())
    for (int i = 0; i < n; ++i) devices[static_cast<size_t>(i)].index = i;
  return devices;
}

// As many replicas as a test may ask for: a GPU holds them all.
inline int most_test_devices() { return is_on_cpu() ? 8 : 4; }

}  // namespace troika
