// matmul: products of matrices, a [..., m, k] by b [..., k, n], or all of them by one b [k, n].
#include "ops/matmul.h"

#include "core/text.h"
#include "ops/op_def.h"

namespace troika {
namespace {

// Attributes: transpose_a, a is stored as [..., k, m]; transpose_b, b is stored as [..., n, k].
std::vector<TensorType> infer(const OpInputs& in) {
  in.need_inputs(2, 2);
  const Shape &a = in.shape(0), &b = in.shape(1);
  if (in.types[0].dtype != in.types[1].dtype)
    in.fail(text("inputs are ", name_of(in.types[0].dtype), " and ", name_of(in.types[1].dtype), ", need the same"));
  if (a.rank() < 2 || b.rank() < 2) in.fail(text("inputs have shapes ", a, " and ", b, ", need matrices"));
  bool fits = b.rank() == 2 || b.rank() == a.rank();
  for (int axis = 0; fits && b.rank() > 2 && axis < a.rank() - 2; ++axis) fits = a[axis] == b[axis];
  if (!fits || (b.rank() < a.rank() && in.node.attributes.flag("transpose_a")))
    in.fail(text("inputs have shapes ", a, " and ", b, ", need as many matrices"));
  const MatrixProducts products(in.node, a, b);
  if (const int64_t k = b[b.rank() - (products.transpose_b ? 1 : 2)]; k != products.k)
    in.fail(text("inputs have shapes ", a, " and ", b, ": ", products.k, " columns by ", k, " rows"));
  Shape y = a;
  y[y.rank() - 2] = a[a.rank() - (products.transpose_a ? 1 : 2)];
  y[y.rank() - 1] = products.n;
  return {{in.types[0].dtype, y}};
}

Cost cost(const OpInputs& in) {
  const MatrixProducts p(in.node, in.shape(0), in.shape(1));
  return {2.0 * static_cast<double>(p.count * p.m) * static_cast<double>(p.n * p.k)};
}

ValueId multiply_matrices(GradientBuilder& b, const Node& node, ValueId x, ValueId y, bool transpose_x,
                          bool transpose_y) {
  return b.append(matmul_op, node, {x, y},
                  {{"transpose_a", int64_t{transpose_x}}, {"transpose_b", int64_t{transpose_y}}});
}

// Returns a value as one matrix of all its rows.
ValueId rows_of(GradientBuilder& b, const Node& node, ValueId value) {
  const Shape shape = b.type(value).shape;
  if (shape.rank() == 2) return value;
  const int64_t columns = shape[shape.rank() - 1];
  return b.append(
      reshape_op, node, {value},
      {{"shape", std::vector<int64_t>{shape.elements(0, shape.rank() - 1), columns}}, {"whole", int64_t{1}}});
}

std::vector<ValueId> gradient(GradientBuilder& b, const Node& node, const std::vector<ValueId>& dy) {
  const ValueId x = node.inputs[0], y = node.inputs[1];
  const bool of_x = node.attributes.flag("transpose_a"), of_y = node.attributes.flag("transpose_b");
  std::vector<ValueId> gradients(2, kNoValue);
  if (b.needs(x))
    gradients[0] =
        of_x ? multiply_matrices(b, node, y, dy[0], of_y, true) : multiply_matrices(b, node, dy[0], y, false, !of_y);
  if (b.needs(y)) {
    // One b for all: the products of all rows add up.
    const bool shares = b.type(y).shape.rank() < b.type(x).shape.rank();
    const ValueId from = shares ? rows_of(b, node, x) : x, d = shares ? rows_of(b, node, dy[0]) : dy[0];
    gradients[1] =
        of_y ? multiply_matrices(b, node, d, from, true, of_x) : multiply_matrices(b, node, from, d, !of_x, false);
  }
  return gradients;
}

}  // namespace

const OpDef matmul_op{.name = "matmul",
                      .infer = infer,
                      .gradient = gradient,
                      .cost = cost,
                      .traits = LayerOp{.channels = always<ChannelRule::whole>,
                                        .reach = Reach::whole,
                                        .fuses_relu = false,
                                        .inference = InferenceForm{},
                                        .low = LowPrecision{true},
                                        .has_product = true}};

}  // namespace troika
