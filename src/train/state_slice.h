// Copies a rank's part out of a whole tensor, and back.
#pragma once

#include <cstddef>

#include "parallel/channel_split.h"

namespace troika {

// Both tensors are row-major, with elements of `element` bytes.
void copy_part_out(const Shape& shape, const StateSlice& slice, size_t element, const std::byte* whole,
                   std::byte* part);
void copy_part_in(const Shape& shape, const StateSlice& slice, size_t element, const std::byte* part, std::byte* whole);

}  // namespace troika
