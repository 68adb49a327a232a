// batch_norm2d in training and inference, and its gradient. Also both of them cut in two, for ranks
// that add up their sums in between.
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

double values_in_channel(const Shape& x) { return static_cast<double>(x[0] * x[2] * x[3]); }

struct Statistics {
  double count, mean = 0, squares = 0;
};

Statistics statistics_of(const Array& x, int64_t c) {
  Statistics s{values_in_channel(x.shape)};
  for_each_in_channel(x.shape, c, [&](int64_t i) { s.mean += x[i] / s.count; });
  for_each_in_channel(x.shape, c, [&](int64_t i) { s.squares += (x[i] - s.mean) * (x[i] - s.mean); });
  return s;
}

// Returns the statistics over several ranks. Each row {count, means, squares} has the statistics of
// one rank's `count` values.
Statistics statistics_of_rows(const Array& rows, int64_t c) {
  const int64_t size = rows.shape[1], channels = size / 2;
  Statistics s{0};
  for (int64_t r = 0; r < rows.shape[0]; ++r) s.count += rows[r * size];
  for (int64_t r = 0; r < rows.shape[0]; ++r) s.mean += rows[r * size] / s.count * rows[r * size + 1 + c];
  for (int64_t r = 0; r < rows.shape[0]; ++r) {
    const double difference = rows[r * size + 1 + c] - s.mean;
    s.squares += rows[r * size + 1 + channels + c] + rows[r * size] * difference * difference;
  }
  return s;
}

void batch_norm2d_moments(const Node& node, const ReferenceInputs& in, const ReferenceOutputs& out) {
  const int64_t channels = in[0]->shape[1], row = node.attributes.integer("rank") * (2 * channels + 1);
  for (int64_t c = 0; c < channels; ++c) {
    const Statistics s = statistics_of(*in[0], c);
    (*out[0])[row] = s.count;
    (*out[0])[row + 1 + c] = s.mean;
    (*out[0])[row + 1 + channels + c] = s.squares;
  }
}

void batch_norm2d(const Node& node, const ReferenceInputs& in, const ReferenceOutputs& out) {
  const Array& x = *in[0];
  const double eps = node.attributes.real("eps"), momentum = node.attributes.real("momentum");
  for (int64_t c = 0; c < x.shape[1]; ++c) {
    const auto [count, mean, squares] = in.size() > 7 && in[7] ? statistics_of_rows(*in[7], c) : statistics_of(x, c);
    const double inv_std = 1 / std::sqrt(squares / count + eps);
    (*out[1])[c] = mean;
    (*out[2])[c] = inv_std;
    if (in[3]) {
      const double lacking = in.size() > 8 ? (*in[8])[c] : 0;
      (*in[3])[c] = (1 - momentum) * (*in[3])[c] + momentum * (mean + lacking);
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

// Inputs: x, weight, mean, inv_std, y (optional), dy.
void batch_norm2d_gradient(const Node& node, const ReferenceInputs& in, const ReferenceOutputs& out) {
  const Array &x = *in[0], &weight = *in[1], &mean = *in[2], &inv_std = *in[3], &dy = *in[5];
  Array dz = dy;
  if (in.size() > 8)
    for (int64_t i = 0; i < dz.elements(); ++i) dz[i] += (*in[8])[i];
  if (in[4])
    for (int64_t i = 0; i < dz.elements(); ++i) dz[i] = (*in[4])[i] > 0 ? dz[i] : 0;
  double count = values_in_channel(x.shape);
  for (int64_t c = 0; c < x.shape[1]; ++c) {
    double sum = 0, product = 0;
    auto normalized = [&](int64_t i) { return (x[i] - mean[c]) * inv_std[c]; };
    for_each_in_channel(x.shape, c, [&](int64_t i) { sum += dz[i], product += dz[i] * normalized(i); });
    // Input 6: the sums of this rank, for the parameters' gradients. Input 7: of all ranks, for dx.
    if (in.size() > 6 && in[6]) {
      (*out[1])[c] = (*in[6])[1 + x.shape[1] + c] * inv_std[c];
      (*out[2])[c] = (*in[6])[1 + c];
      count = (*in[7])[0];
      sum = (*in[7])[1 + c];
      product = (*in[7])[1 + x.shape[1] + c] * inv_std[c];
    } else {
      (*out[1])[c] = product;
      (*out[2])[c] = sum;
    }
    for_each_in_channel(x.shape, c, [&](int64_t i) {
      (*out[0])[i] = weight[c] * inv_std[c] * (dz[i] - sum / count - normalized(i) * product / count);
    });
  }
  const bool residual = node.attributes.flag("residual");
  if (residual) *out[3] = dz;
  if (node.attributes.flag("has_dbias_too")) *out[residual ? 4 : 3] = *out[2];
}

// Inputs: x, mean, y (optional), dy.
void batch_norm2d_gradient_sums(const Node& node, const ReferenceInputs& in, const ReferenceOutputs& out) {
  const Array &x = *in[0], &mean = *in[1];
  Array dz = *in[3];
  if (in[2])
    for (int64_t i = 0; i < dz.elements(); ++i) dz[i] = (*in[2])[i] > 0 ? dz[i] : 0;
  Array& sums = *out[0];
  sums[0] = values_in_channel(x.shape);
  for (int64_t c = 0; c < x.shape[1]; ++c)
    for_each_in_channel(x.shape, c, [&](int64_t i) {
      sums[1 + c] += dz[i];
      sums[1 + x.shape[1] + c] += dz[i] * (x[i] - mean[c]);
    });
  if (node.attributes.flag("residual")) *out[1] = dz;
}

// The sum over a single rank is its input.
void data_sum(const Node&, const ReferenceInputs& in, const ReferenceOutputs& out) { *out[0] = *in[0]; }

}  // namespace

void add_batch_norm_references(ReferenceTable& table) {
  table["batch_norm2d"] = batch_norm2d;
  table["batch_norm2d_inference"] = batch_norm2d_inference;
  table["batch_norm2d_gradient"] = batch_norm2d_gradient;
  table["batch_norm2d_gradient_sums"] = batch_norm2d_gradient_sums;
  table["batch_norm2d_moments"] = batch_norm2d_moments;
  table["data_sum"] = data_sum;
}

}  // namespace troika
