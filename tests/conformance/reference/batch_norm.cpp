// batch_norm2d in training and inference, and its gradient.
#include <cmath>

#include "conformance/reference/reference.h"

namespace troika {
namespace {

// Calls visit(element) for every element of channel `c`.
template <typename Visit>
void for_each_in_channel(const Shape& x, int64_t c, Visit&& visit) {
  const int64_t spatial = x[2] * x[3];
  for (int64_t n = 0; n < x[0]; ++n)
    for (int64_t i = 0; i < spatial; ++i) visit((n * x[1] + c) * spatial + i);
}

void normalize(const Node& node, const ReferenceInputs& in, Array& y, int64_t c, double mean, double inv_std) {
  for_each_in_channel(y.shape, c, [&](int64_t i) {
    y[i] = ((*in[0])[i] - mean) * inv_std * (*in[1])[c] + (*in[2])[c] + (in[6] ? (*in[6])[i] : 0);
    if (node.attributes.flag("relu") && y[i] < 0) y[i] = 0;
  });
}

void batch_norm2d(const Node& node, const ReferenceInputs& in, const ReferenceOutputs& out) {
  const Array& x = *in[0];
  const double eps = node.attributes.real("eps"), momentum = node.attributes.real("momentum");
  const double count = static_cast<double>(x.shape[0] * x.shape[2] * x.shape[3]);
  for (int64_t c = 0; c < x.shape[1]; ++c) {
    double mean = 0, squares = 0;
    for_each_in_channel(x.shape, c, [&](int64_t i) { mean += x[i] / count; });
    for_each_in_channel(x.shape, c, [&](int64_t i) { squares += (x[i] - mean) * (x[i] - mean); });
    const double inv_std = 1 / std::sqrt(squares / count + eps);
    (*out[1])[c] = mean;
    (*out[2])[c] = inv_std;
    if (in[3]) {
      (*in[3])[c] = (1 - momentum) * (*in[3])[c] + momentum * mean;
      (*in[4])[c] = (1 - momentum) * (*in[4])[c] + momentum * squares / (count - 1);
    }
    normalize(node, in, *out[0], c, mean, inv_std);
  }
  if (in[5]) (*in[5])[0] += 1;
}

void batch_norm2d_inference(const Node& node, const ReferenceInputs& in, const ReferenceOutputs& out) {
  for (int64_t c = 0; c < in[0]->shape[1]; ++c)
    normalize(node, in, *out[0], c, (*in[3])[c], 1 / std::sqrt((*in[4])[c] + node.attributes.real("eps")));
}

// Inputs: x, weight, mean, inv_std, y or none, dy.
void batch_norm2d_gradient(const Node& node, const ReferenceInputs& in, const ReferenceOutputs& out) {
  const Array &x = *in[0], &weight = *in[1], &mean = *in[2], &inv_std = *in[3], &dy = *in[5];
  Array dz = dy;
  if (in[4])
    for (int64_t i = 0; i < dz.elements(); ++i) dz[i] = (*in[4])[i] > 0 ? dy[i] : 0;
  const double count = static_cast<double>(x.shape[0] * x.shape[2] * x.shape[3]);
  for (int64_t c = 0; c < x.shape[1]; ++c) {
    double sum = 0, product = 0;
    auto normalized = [&](int64_t i) { return (x[i] - mean[c]) * inv_std[c]; };
    for_each_in_channel(x.shape, c, [&](int64_t i) { sum += dz[i], product += dz[i] * normalized(i); });
    (*out[1])[c] = product;
    (*out[2])[c] = sum;
    for_each_in_channel(x.shape, c, [&](int64_t i) {
      (*out[0])[i] = weight[c] * inv_std[c] * (dz[i] - sum / count - normalized(i) * product / count);
    });
  }
  if (node.attributes.flag("residual")) *out[3] = dz;
}

}  // namespace

void add_batch_norm_references(ReferenceTable& table) {
  table["batch_norm2d"] = batch_norm2d;
  table["batch_norm2d_inference"] = batch_norm2d_inference;
  table["batch_norm2d_gradient"] = batch_norm2d_gradient;
}

}  // namespace troika
