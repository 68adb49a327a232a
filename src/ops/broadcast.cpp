// Shapes, loops and gradients of operands that are repeated.
#include "ops/broadcast.h"

#include <algorithm>

#include "core/text.h"

namespace troika {

namespace {

// Returns the axis of a result of `rank` with which the operand begins.
int first_axis(const Node& node, const Shape& operand, int rank) {
  if (!node.attributes.has("axis") || operand.rank() == rank) return rank - operand.rank();
  return static_cast<int>(node.attributes.integer("axis"));
}

}  // namespace

Shape aligned_shape(const Node& node, const Shape& operand, int rank) {
  const int first = first_axis(node, operand, rank);
  std::vector<int64_t> dims(static_cast<size_t>(rank), 1);
  for (int axis = 0; axis < operand.rank(); ++axis) dims[static_cast<size_t>(first + axis)] = operand[axis];
  return Shape(std::move(dims));
}

std::vector<TensorType> infer_pair(const OpInputs& in) {
  in.need_inputs(2, 2);
  const Shape &a = in.shape(0), &b = in.shape(1);
  if (in.types[0].dtype != in.types[1].dtype)
    in.fail(text("inputs are ", name_of(in.types[0].dtype), " and ", name_of(in.types[1].dtype), ", need the same"));
  if (!in.node.attributes.flag("broadcast") && a != b)
    in.fail(text("inputs have shapes ", a, " and ", b, ", need the same"));
  const int rank = std::max(a.rank(), b.rank());
  if (in.node.attributes.has("axis") && a.rank() != b.rank())
    if (const int64_t axis = in.node.attributes.integer("axis"); axis < 0 || axis + std::min(a.rank(), b.rank()) > rank)
      in.fail(text("axis is ", axis, ", inputs have shapes ", a, " and ", b));
  const Shape x = aligned_shape(in.node, a, rank), y = aligned_shape(in.node, b, rank);
  Shape result = x;
  for (int axis = 0; axis < rank; ++axis) {
    if (x[axis] != y[axis] && x[axis] != 1 && y[axis] != 1)
      in.fail(text("inputs have shapes ", a, " and ", b, ", need sizes that are equal or 1"));
    result[axis] = x[axis] == 1 ? y[axis] : x[axis];
  }
  return {{in.types[0].dtype, result}};
}

BroadcastLoops broadcast_loops(const Shape& a, const Shape& b, const Shape& result) {
  BroadcastLoops loops;
  int64_t steps_a = 1, steps_b = 1;
  // From the innermost axis outwards; reversed at the end.
  for (int axis = result.rank() - 1; axis >= 0; --axis) {
    const int64_t size = result[axis], step_a = a[axis] == 1 ? 0 : steps_a, step_b = b[axis] == 1 ? 0 : steps_b;
    steps_a *= a[axis];
    steps_b *= b[axis];
    if (size == 1) continue;
    const int inner = loops.count - 1;
    if (inner >= 0 && step_a == loops.a[inner] * loops.size[inner] && step_b == loops.b[inner] * loops.size[inner]) {
      loops.size[inner] *= size;
      continue;
    }
    loops.size[loops.count] = size;
    loops.a[loops.count] = step_a;
    loops.b[loops.count] = step_b;
    ++loops.count;
  }
  if (loops.count == 0) {
    loops.size[0] = 1;
    loops.count = 1;
  }
  std::reverse(loops.size, loops.size + loops.count);
  std::reverse(loops.a, loops.a + loops.count);
  std::reverse(loops.b, loops.b + loops.count);
  return loops;
}

namespace {

enum class Axis { same, repeated, missing };

// Returns how an operand of `shape` has each axis of `whole`.
std::vector<Axis> axes_of(const Node& node, const Shape& shape, const Shape& whole) {
  const Shape aligned = aligned_shape(node, shape, whole.rank());
  const int first = first_axis(node, shape, whole.rank());
  std::vector<Axis> axes;
  for (int axis = 0; axis < whole.rank(); ++axis)
    axes.push_back(axis < first || axis >= first + shape.rank() ? Axis::missing
                   : aligned[axis] == whole[axis]               ? Axis::same
                                                                : Axis::repeated);
  return axes;
}

}  // namespace

ValueId sum_to(GradientBuilder& b, const Node& node, ValueId dy, const Shape& shape) {
  const std::vector<Axis> axes = axes_of(node, shape, b.type(dy).shape);
  // Run by run from the end on: the axes before a run keep their numbers.
  for (size_t end = axes.size(); end > 0;) {
    size_t begin = end - 1;
    while (begin > 0 && axes[begin - 1] == axes[end - 1]) --begin;
    if (axes[begin] != Axis::same)
      dy = b.append(sum_axes_op, node, {dy},
                    {{"begin", static_cast<int64_t>(begin)},
                     {"end", static_cast<int64_t>(end)},
                     {"keep", int64_t{axes[begin] == Axis::repeated}},
                     {"factor", 1.0}});
    end = begin;
  }
  return dy;
}

Attributes broadcast_attributes(const Node& node) {
  Attributes attributes;
  for (const char* name : {"broadcast", "axis"})
    if (node.attributes.has(name)) attributes.set(name, node.attributes.integer(name));
  return attributes;
}

}  // namespace troika
