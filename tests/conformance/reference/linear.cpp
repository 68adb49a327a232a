// linear and its gradients: y[n, o] = sum_i x[n, i] weight[o, i] + bias[o], n a sample, or per
// position a sample and step.
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

}  // namespace

void add_linear_references(ReferenceTable& table) {
  table["linear"] = linear;
  table["linear_input_gradient"] = linear_input_gradient;
  table["linear_weight_gradient"] = linear_weight_gradient;
}

}  // namespace troika
