// Reading what is there already.
#include "device/readback.h"

#include <cstring>

namespace troika {

void HostReadback::copy(size_t offset, const void* source, size_t bytes) {
  std::memcpy(data_.data() + offset, source, bytes);
}

}  // namespace troika
