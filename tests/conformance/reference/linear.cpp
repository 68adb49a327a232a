// linear and its gradients: y[n, o] = sum_i x[n, i] weight[o, i] + bias[o], n a sample, or per
// position a sample and step. matmul.
#include "conformance/reference/reference.h"

namespace troika {
namespace {

void linear(const Node& node, const ReferenceInputs& in, const ReferenceOutputs& out) {
  const Array &x = *in[0], &weight = *in[1];
  Array& y = *out[0];
  const int64_t outputs = weight.shape[0], features = weight.shape[1];
  for (int64_t n = 0; n < y.elements() / outputs; ++n)
    for (int64_t o = 0; o < outputs; ++o) {
      double sum = in[2] ? (*in[2])[o] : 0;
      for (int64_t i = 0; i < features; ++i) sum += x[n * features + i] * weight[o * features + i];
      y[n * outputs + o] = node.attributes.flag("relu") && sum < 0 ? 0 : sum;
    }
}

void linear_input_gradient(const Node&, const ReferenceInputs& in, const ReferenceOutputs& out) {
  const Array &weight = *in[0], &dy = *in[1];
  const int64_t outputs = weight.shape[0], features = weight.shape[1];
  for (int64_t n = 0; n < dy.elements() / outputs; ++n)
    for (int64_t o = 0; o < outputs; ++o)
      for (int64_t i = 0; i < features; ++i)
        (*out[0])[n * features + i] += dy[n * outputs + o] * weight[o * features + i];
}

void linear_weight_gradient(const Node&, const ReferenceInputs& in, const ReferenceOutputs& out) {
  const Array &x = *in[0], &dy = *in[1];
  const int64_t outputs = out[0]->shape[0], features = out[0]->shape[1];
  for (int64_t n = 0; n < dy.elements() / outputs; ++n)
    for (int64_t o = 0; o < outputs; ++o) {
      for (int64_t i = 0; i < features; ++i) (*out[0])[o * features + i] += dy[n * outputs + o] * x[n * features + i];
      if (out.size() > 1) (*out[1])[o] += dy[n * outputs + o];
    }
}

void matmul(const Node& node, const ReferenceInputs& in, const ReferenceOutputs& out) {
  const Array &a = *in[0], &b = *in[1];
  const Shape& y = out[0]->shape;
  const bool of_a = node.attributes.flag("transpose_a"), of_b = node.attributes.flag("transpose_b");
  const int64_t m = y[y.rank() - 2], n = y[y.rank() - 1], k = a.shape[a.shape.rank() - (of_a ? 2 : 1)];
  for (int64_t matrix = 0; matrix < y.elements() / (m * n); ++matrix)
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < n; ++j)
        for (int64_t l = 0; l < k; ++l)
          (*out[0])[(matrix * m + i) * n + j] += a[matrix * m * k + (of_a ? l * m + i : i * k + l)] *
                                                 b[(b.shape.rank() > 2 ? matrix : 0) * k * n + (of_b ? j * k + l : l * n + j)];
}

}  // namespace

void add_linear_references(ReferenceTable& table) {
  table["linear"] = linear;
  table["linear_input_gradient"] = linear_input_gradient;
  table["linear_weight_gradient"] = linear_weight_gradient;
  table["matmul"] = matmul;
}

}  // namespace troika
