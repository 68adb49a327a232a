// add, subtract, multiply, divide and compare of operands that are repeated; expand, sum_axes and
// transpose.
#include <functional>

#include "conformance/reference/reference.h"

namespace troika {
namespace {

// Returns the coordinates of element `i`.
std::vector<int64_t> coordinates(int64_t i, const Shape& shape) {
  std::vector<int64_t> at(static_cast<size_t>(shape.rank()));
  for (int axis = shape.rank(); axis-- > 0; i /= shape[axis]) at[static_cast<size_t>(axis)] = i % shape[axis];
  return at;
}

// Returns the operand's number for a place of the result. The operand's axes begin at the attribute
// `axis`, or end with the result's; an axis of size 1 is repeated.
double operand_at(const Node& node, const Array& operand, const std::vector<int64_t>& at) {
  const int rank = operand.shape.rank(), result_rank = static_cast<int>(at.size());
  const int first = node.attributes.has("axis") && rank < result_rank
                        ? static_cast<int>(node.attributes.integer("axis"))
                        : result_rank - rank;
  int64_t index = 0;
  for (int axis = 0; axis < rank; ++axis)
    index = index * operand.shape[axis] + (operand.shape[axis] == 1 ? 0 : at[static_cast<size_t>(first + axis)]);
  return operand[index];
}

template <typename F>
void pair(const Node& node, const ReferenceInputs& in, const ReferenceOutputs& out, F f) {
  for (int64_t i = 0; i < out[0]->elements(); ++i) {
    const auto at = coordinates(i, out[0]->shape);
    (*out[0])[i] = f(operand_at(node, *in[0], at), operand_at(node, *in[1], at));
  }
}

void add(const Node& node, const ReferenceInputs& in, const ReferenceOutputs& out) {
  pair(node, in, out, [&](double a, double b) { return node.attributes.flag("relu") && a + b < 0 ? 0 : a + b; });
}
void subtract(const Node& node, const ReferenceInputs& in, const ReferenceOutputs& out) {
  pair(node, in, out, std::minus<double>());
}
void multiply(const Node& node, const ReferenceInputs& in, const ReferenceOutputs& out) {
  pair(node, in, out, std::multiplies<double>());
}
void divide(const Node& node, const ReferenceInputs& in, const ReferenceOutputs& out) {
  pair(node, in, out, std::divides<double>());
}

void compare(const Node& node, const ReferenceInputs& in, const ReferenceOutputs& out) {
  const std::string& relation = node.attributes.word("relation");
  pair(node, in, out, [&](double a, double b) -> double {
    if (relation == "equal") return a == b;
    if (relation == "not_equal") return a != b;
    if (relation == "less") return a < b;
    if (relation == "less_or_equal") return a <= b;
    return relation == "greater" ? a > b : a >= b;
  });
}

void expand(const Node& node, const ReferenceInputs& in, const ReferenceOutputs& out) {
  for (int64_t i = 0; i < out[0]->elements(); ++i)
    (*out[0])[i] = operand_at(node, *in[0], coordinates(i, out[0]->shape));
}

void sum_axes(const Node& node, const ReferenceInputs& in, const ReferenceOutputs& out) {
  const Shape& x = in[0]->shape;
  const auto begin = static_cast<int>(node.attributes.integer("begin")),
             end = static_cast<int>(node.attributes.integer("end"));
  const int64_t inner = x.elements(end, x.rank()), length = x.elements(begin, end);
  for (int64_t i = 0; i < in[0]->elements(); ++i) (*out[0])[i / inner / length * inner + i % inner] += (*in[0])[i];
  const double factor = node.attributes.real("factor");
  for (double& sum : out[0]->data) sum *= node.attributes.flag("mean") ? factor / static_cast<double>(length) : factor;
}

void transpose(const Node& node, const ReferenceInputs& in, const ReferenceOutputs& out) {
  const std::vector<int64_t>& order = node.attributes.list("order");
  for (int64_t i = 0; i < out[0]->elements(); ++i) {
    const auto at = coordinates(i, out[0]->shape);
    std::vector<int64_t> from(at.size());
    for (size_t axis = 0; axis < at.size(); ++axis) from[static_cast<size_t>(order[axis])] = at[axis];
    int64_t index = 0;
    for (int axis = 0; axis < in[0]->shape.rank(); ++axis)
      index = index * in[0]->shape[axis] + from[static_cast<size_t>(axis)];
    (*out[0])[i] = (*in[0])[index];
  }
}

}  // namespace

void add_arithmetic_references(ReferenceTable& table) {
  table["add"] = add;
  table["subtract"] = subtract;
  table["multiply"] = multiply;
  table["divide"] = divide;
  table["compare"] = compare;
  table["expand"] = expand;
  table["sum_axes"] = sum_axes;
  table["transpose"] = transpose;
}

}  // namespace troika
