// Runs of bytes along the cut axis.
#include "train/state_slice.h"

#include <cstring>

namespace troika {
namespace {

// Calls copy(offset in the whole, offset in the part, bytes) for each run of bytes.
template <typename Copy>
void for_runs(const Shape& shape, const StateSlice& slice, size_t element, Copy&& copy) {
  if (slice.axis < 0) return copy(size_t{0}, size_t{0}, static_cast<size_t>(shape.elements()) * element);
  int64_t outer = 1, inner = static_cast<int64_t>(element);
  for (int i = 0; i < shape.rank(); ++i)
    if (i != slice.axis) (i < slice.axis ? outer : inner) *= shape[i];
  const int64_t whole_run = shape[slice.axis] * inner, part_run = slice.range.size() * inner;
  for (int64_t i = 0; i < outer; ++i)
    copy(static_cast<size_t>(i * whole_run + slice.range.begin * inner), static_cast<size_t>(i * part_run),
         static_cast<size_t>(part_run));
}

}  // namespace

void copy_part_out(const Shape& shape, const StateSlice& slice, size_t element, const std::byte* whole,
                   std::byte* part) {
  for_runs(shape, slice, element,
           [&](size_t from, size_t to, size_t bytes) { std::memcpy(part + to, whole + from, bytes); });
}

void copy_part_in(const Shape& shape, const StateSlice& slice, size_t element, const std::byte* part,
                  std::byte* whole) {
  for_runs(shape, slice, element,
           [&](size_t to, size_t from, size_t bytes) { std::memcpy(whole + to, part + from, bytes); });
}

}  // namespace troika
