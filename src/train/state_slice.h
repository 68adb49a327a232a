// Copying what a rank holds of a tensor out of the whole, and back.
#pragma once

#include <cstddef>

#include "parallel/channel_split.h"

namespace troika {

// Between a whole tensor, row-major with elements of `element` bytes, and its part.
void copy_part_out(const Shape& shape, const StateSlice& slice, size_t element, const std::byte* whole,
                   std::byte* part);
void copy_part_in(const Shape& shape, const StateSlice& slice, size_t element, const std::byte* part, std::byte* whole);

}  // namespace troika
