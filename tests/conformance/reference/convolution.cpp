// conv2d, its gradients and conv_transpose2d: one loop nest that visits every product,
// y[n, k, i, j] += x[n, c, h, w] * weight[k, c', p, q].
#include "conformance/reference/reference.h"
#include "ops/window.h"

namespace troika {
namespace {

// Calls visit(x element, weight element, y element) for every product of the convolution.
template <typename Visit>
void for_each_product(const Node& node, const Shape& x, const Shape& weight, const Shape& y, Visit&& visit) {
  const Window window = Window::of(node);
  const int64_t groups = node.attributes.integer("groups"), group_in = x[1] / groups, group_out = y[1] / groups;
  for (int64_t n = 0; n < y[0]; ++n)
    for (int64_t k = 0; k < y[1]; ++k)
      for (int64_t i = 0; i < y[2]; ++i)
        for (int64_t j = 0; j < y[3]; ++j)
          for (int64_t c = 0; c < group_in; ++c)
            for (int64_t p = 0; p < weight[2]; ++p)
              for (int64_t q = 0; q < weight[3]; ++q) {
                const int64_t h = i * window.stride[0] - window.padding[0] + p * window.dilation[0];
                const int64_t w = j * window.stride[1] - window.padding[1] + q * window.dilation[1];
                if (h < 0 || h >= x[2] || w < 0 || w >= x[3]) continue;
                visit(((n * x[1] + k / group_out * group_in + c) * x[2] + h) * x[3] + w,
                      ((k * group_in + c) * weight[2] + p) * weight[3] + q, ((n * y[1] + k) * y[2] + i) * y[3] + j);
              }
}

void conv2d(const Node& node, const ReferenceInputs& in, const ReferenceOutputs& out) {
  const Array &x = *in[0], &weight = *in[1];
  Array& y = *out[0];
  for_each_product(node, x.shape, weight.shape, y.shape,
                   [&](int64_t a, int64_t b, int64_t c) { y[c] += x[a] * weight[b]; });
  const int64_t spatial = y.shape[2] * y.shape[3];
  for (int64_t i = 0; i < y.elements(); ++i) {
    if (in[2]) y[i] += (*in[2])[i / spatial % y.shape[1]];
    if (node.attributes.flag("relu") && y[i] < 0) y[i] = 0;
  }
}

void conv2d_input_gradient(const Node& node, const ReferenceInputs& in, const ReferenceOutputs& out) {
  const Array &weight = *in[0], &dy = *in[1];
  Array& dx = *out[0];
  for_each_product(node, dx.shape, weight.shape, dy.shape,
                   [&](int64_t a, int64_t b, int64_t c) { dx[a] += weight[b] * dy[c]; });
}

void conv2d_weight_gradient(const Node& node, const ReferenceInputs& in, const ReferenceOutputs& out) {
  const Array &x = *in[0], &dy = *in[1];
  Array& dweight = *out[0];
  for_each_product(node, x.shape, dweight.shape, dy.shape,
                   [&](int64_t a, int64_t b, int64_t c) { dweight[b] += x[a] * dy[c]; });
  const int64_t spatial = dy.shape[2] * dy.shape[3];
  if (out.size() > 1)
    for (int64_t i = 0; i < dy.elements(); ++i) (*out[1])[i / spatial % dy.shape[1]] += dy[i];
}

}  // namespace

void add_convolution_references(ReferenceTable& table) {
  table["conv2d"] = conv2d;
  table["conv2d_input_gradient"] = conv2d_input_gradient;
  table["conv2d_weight_gradient"] = conv2d_weight_gradient;
  table["conv_transpose2d"] = conv2d_input_gradient;  // by definition
}

}  // namespace troika
