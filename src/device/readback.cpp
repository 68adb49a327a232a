// Reads results that are there already.
#include "device/readback.h"

#include <cstring>

namespace troika {

void HostReadback::post(const void* source, size_t bytes) {
  if (bytes > 0) std::memcpy(data_.data(), source, bytes);
}

}  // namespace troika
