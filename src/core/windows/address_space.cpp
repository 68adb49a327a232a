// Windows has no limit of address space. A job's limit of memory makes single allocations fail.
#include "core/address_space.h"

namespace troika {

void require_address_space(size_t) {}

}  // namespace troika
