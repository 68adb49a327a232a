// The device that tests run on where any will do.
#pragma once

#include <cstdlib>
#include <string>

namespace troika {

// TROIKA_TEST_DEVICE, such as cuda:0; the CPU where it is not set.
inline std::string test_device_name() {
  const char* given = std::getenv("TROIKA_TEST_DEVICE");
  return given && *given ? given : "cpu:0";
}

}  // namespace troika
