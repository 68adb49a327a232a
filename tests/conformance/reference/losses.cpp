// cross_entropy and mean_squared_error, and their gradients.
#include <algorithm>
#include <cmath>

#include "conformance/reference/reference.h"

namespace troika {
namespace {

void cross_entropy(const Node&, const ReferenceInputs& in, const ReferenceOutputs& out) {
  const Array &x = *in[0], &labels = *in[1];
  const int64_t classes = x.shape[1];
  for (int64_t n = 0; n < x.shape[0]; ++n) {
    const double* row = &x.data[static_cast<size_t>(n * classes)];
    const double most = *std::max_element(row, row + classes);
    double sum = 0;
    for (int64_t c = 0; c < classes; ++c) sum += std::exp(row[c] - most);
    const auto label = static_cast<int64_t>(labels[n]);
    (*out[0])[0] += std::log(sum) + most - row[label];
    (*out[1])[0] += std::max_element(row, row + classes) - row == label;  // the first of equal ones
    for (int64_t c = 0; c < classes; ++c) (*out[2])[n * classes + c] = std::exp(row[c] - most) / sum;
  }
}

// What a sample weighs, times the loss scale where there is one.
double scale_of(const Node& node, const ReferenceInputs& in) {
  return node.attributes.real("scale") * (in.size() > 2 ? (*in[2])[0] : 1);
}

void cross_entropy_gradient(const Node& node, const ReferenceInputs& in, const ReferenceOutputs& out) {
  const Array &probabilities = *in[0], &labels = *in[1];
  const int64_t classes = probabilities.shape[1];
  for (int64_t i = 0; i < probabilities.elements(); ++i)
    (*out[0])[i] = scale_of(node, in) *
                   (probabilities[i] - (static_cast<int64_t>(labels[i / classes]) == i % classes ? 1 : 0));
}

void mean_squared_error(const Node&, const ReferenceInputs& in, const ReferenceOutputs& out) {
  for (int64_t i = 0; i < in[0]->elements(); ++i) {
    const double d = (*in[0])[i] - (*in[1])[i];
    (*out[0])[0] += d * d / static_cast<double>(in[0]->shape[1]);
  }
}

void mean_squared_error_gradient(const Node& node, const ReferenceInputs& in, const ReferenceOutputs& out) {
  for (int64_t i = 0; i < in[0]->elements(); ++i)
    (*out[0])[i] =
        scale_of(node, in) * 2 * ((*in[0])[i] - (*in[1])[i]) / static_cast<double>(in[0]->shape[1]);
}

}  // namespace

void add_loss_references(ReferenceTable& table) {
  table["cross_entropy"] = cross_entropy;
  table["cross_entropy_gradient"] = cross_entropy_gradient;
  table["mean_squared_error"] = mean_squared_error;
  table["mean_squared_error_gradient"] = mean_squared_error_gradient;
}

}  // namespace troika
