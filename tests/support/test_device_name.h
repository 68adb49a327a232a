// The device of tests that can run on any device.
#pragma once

#include <cstdlib>
#include <string>

namespace troika {

// Returns TROIKA_TEST_DEVICE, such as cuda:0; the CPU if the variable is not set.
inline std::string test_device_name() {
  const char* given = std::getenv("TROIKA_TEST_DEVICE");
  return given && *given ? given : "cpu:0";
}

}  // namespace troika
