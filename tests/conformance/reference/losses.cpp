// cross_entropy, label_losses, the losses of values, and their gradients; linear_cross_entropy;
// own_loss.
#include <algorithm>
#include <cmath>

#include "conformance/reference/reference.h"
#include "ops/linear_cross_entropy.h"

namespace troika {
namespace {

// Computes the places of a label's logits, which are `apart` elements apart. Classes are on the
// last axis of [n, steps, classes], otherwise on axis 1.
struct Logits {
  int64_t classes, apart;
  explicit Logits(const Shape& x) : classes(x.rank() == 3 ? x[2] : x[1]), apart(x.rank() == 4 ? x[2] * x[3] : 1) {}
  int64_t at(int64_t label, int64_t c) const { return (label / apart * classes + c) * apart + label % apart; }
};

bool is_ignored(const Node& node, int64_t label) {
  return node.attributes.has("ignore_index") && node.attributes.integer("ignore_index") == label;
}

double smoothing_of(const Node& node) {
  return node.attributes.has("smoothing") ? node.attributes.real("smoothing") : 0;
}

// Returns the weight of a label, or of a sample.
double weight_of(const ReferenceInputs& in, int64_t at) { return in.size() > 4 && in[4] ? (*in[4])[at] : 1; }

// Adds a label's loss with add(label's place, loss, whether its class has the largest logit).
template <typename Add>
void each_label(const Node& node, const ReferenceInputs& in, Array& probabilities, Add add) {
  const Array &x = *in[0], &labels = *in[1];
  const Logits logits(x.shape);
  const int64_t classes = logits.classes;
  const double smoothing = smoothing_of(node);
  for (int64_t n = 0; n < labels.elements(); ++n) {
    std::vector<double> row;
    for (int64_t c = 0; c < classes; ++c) row.push_back(x[logits.at(n, c)]);
    const double most = *std::max_element(row.begin(), row.end());
    double sum = 0;
    for (double logit : row) sum += std::exp(logit - most);
    for (int64_t c = 0; c < classes; ++c)
      probabilities[logits.at(n, c)] = std::exp(row[static_cast<size_t>(c)] - most) / sum;
    const auto label = static_cast<int64_t>(labels[n]);
    if (is_ignored(node, label)) continue;
    double loss = 0;
    for (int64_t c = 0; c < classes; ++c) {
      const double target = (label == c ? 1 - smoothing : 0) + smoothing / static_cast<double>(classes);
      loss += target * (std::log(sum) + most - row[static_cast<size_t>(c)]);
    }
    // The first of equal logits counts as the maximum.
    add(n, loss, std::max_element(row.begin(), row.end()) - row.begin() == label);
  }
}

void cross_entropy(const Node& node, const ReferenceInputs& in, const ReferenceOutputs& out) {
  each_label(node, in, *out[2], [&](int64_t label, double loss, bool is_correct) {
    (*out[0])[0] += weight_of(in, label) * loss;
    (*out[1])[0] += is_correct;
  });
}

void label_losses(const Node& node, const ReferenceInputs& in, const ReferenceOutputs& out) {
  each_label(node, in, *out[1], [&](int64_t label, double loss, bool) { (*out[0])[label] = loss; });
}

// Returns the attribute `scale`, times the loss scale and the weight of a label, if the node has
// these inputs.
double scale_of(const Node& node, const ReferenceInputs& in) {
  double scale = node.attributes.real("scale");
  for (size_t i = 2; i < std::min<size_t>(in.size(), 4); ++i)
    if (in[i]) scale *= (*in[i])[0];
  return scale;
}

// factor_of(label's place) returns the number that multiplies a label's gradients.
template <typename FactorOf>
void label_gradients(const Node& node, const ReferenceInputs& in, const ReferenceOutputs& out, FactorOf factor_of) {
  const Array &probabilities = *in[0], &labels = *in[1];
  const Logits logits(probabilities.shape);
  const double smoothing = smoothing_of(node);
  for (int64_t n = 0; n < labels.elements(); ++n)
    for (int64_t c = 0; c < logits.classes; ++c) {
      const auto label = static_cast<int64_t>(labels[n]);
      const double target = (label == c ? 1 - smoothing : 0) + smoothing / static_cast<double>(logits.classes);
      const int64_t at = logits.at(n, c);
      (*out[0])[at] = is_ignored(node, label) ? 0 : factor_of(n) * (probabilities[at] - target);
    }
}

void cross_entropy_gradient(const Node& node, const ReferenceInputs& in, const ReferenceOutputs& out) {
  label_gradients(node, in, out, [&](int64_t label) { return weight_of(in, label) * scale_of(node, in); });
}

void label_losses_gradient(const Node& node, const ReferenceInputs& in, const ReferenceOutputs& out) {
  label_gradients(node, in, out, [&](int64_t label) { return (*in[2])[label]; });
}

void classifier_loss(const Node& node, const ReferenceInputs& in, const ReferenceOutputs& out) {
  namespace operand = linear_cross_entropy;
  const Array &x = *in[operand::x], &weight = *in[operand::weight];
  Array &dy = *out[operand::dy], &dx = *out[operand::dx];
  const int64_t classes = weight.shape[0], features = weight.shape[1], rows = dy.elements() / classes;
  Array logits(dy.shape), probabilities(dy.shape);
  for (int64_t n = 0; n < rows; ++n)
    for (int64_t c = 0; c < classes; ++c) {
      double& logit = logits[n * classes + c];
      logit = in[operand::bias] ? (*in[operand::bias])[c] : 0;
      for (int64_t i = 0; i < features; ++i) logit += x[n * features + i] * weight[c * features + i];
    }
  if (out.size() > operand::y) *out[operand::y] = logits;
  ReferenceInputs of_loss = {&logits};
  of_loss.insert(of_loss.end(), in.begin() + operand::target, in.end());
  cross_entropy(node, of_loss, {out[operand::sum], out[operand::correct], &probabilities});
  of_loss[loss::x] = &probabilities;
  cross_entropy_gradient(node, of_loss, {&dy});
  for (int64_t n = 0; n < rows; ++n)
    for (int64_t i = 0; i < features; ++i) {
      const int64_t at = n * features + i;
      if (node.attributes.flag("input_relu") && x[at] <= 0) continue;
      for (int64_t c = 0; c < classes; ++c) dx[at] += dy[n * classes + c] * weight[c * features + i];
    }
}

// Returns the weight of value i, which its sample's values share.
double share_of(const ReferenceInputs& in, int64_t i) {
  const int64_t values = in[0]->elements() / in[0]->shape[0];
  return weight_of(in, i / values) / static_cast<double>(values);
}

// The loss of one value, or its derivative by x.
using ValueLoss = double (*)(double x, double t, double delta);

template <ValueLoss loss_of>
void value_loss(const Node& node, const ReferenceInputs& in, const ReferenceOutputs& out) {
  const double delta = node.attributes.has("delta") ? node.attributes.real("delta") : 0;
  for (int64_t i = 0; i < in[0]->elements(); ++i)
    (*out[0])[0] += share_of(in, i) * loss_of((*in[0])[i], (*in[1])[i], delta);
}

template <ValueLoss slope_of>
void value_loss_gradient(const Node& node, const ReferenceInputs& in, const ReferenceOutputs& out) {
  const double delta = node.attributes.has("delta") ? node.attributes.real("delta") : 0;
  for (int64_t i = 0; i < in[0]->elements(); ++i)
    (*out[0])[i] = scale_of(node, in) * share_of(in, i) * slope_of((*in[0])[i], (*in[1])[i], delta);
}

double squared_error(double x, double t, double) { return (x - t) * (x - t); }
double squared_error_slope(double x, double t, double) { return 2 * (x - t); }

double absolute_error(double x, double t, double) { return std::abs(x - t); }
double absolute_error_slope(double x, double t, double) { return x > t ? 1 : x < t ? -1 : x - t; }

double huber(double x, double t, double delta) {
  const double d = std::abs(x - t);
  return d <= delta ? d * d / 2 : delta * (d - delta / 2);
}
double huber_slope(double x, double t, double delta) {
  return std::abs(x - t) <= delta ? x - t : delta * absolute_error_slope(x, t, 0);
}

double binary_cross_entropy(double x, double t, double) {
  return std::max(x, 0.0) - x * t + std::log1p(std::exp(-std::abs(x)));
}
double binary_cross_entropy_slope(double x, double t, double) { return 1 / (1 + std::exp(-x)) - t; }

void own_loss(const Node&, const ReferenceInputs& in, const ReferenceOutputs& out) { out[0]->data = in[0]->data; }

void batch_results(const Node& node, const ReferenceInputs& in, const ReferenceOutputs& out) {
  const int64_t first = node.attributes.integer("first"), places = node.attributes.integer("places");
  const auto losses = static_cast<size_t>(node.attributes.integer("losses"));
  for (size_t i = 0; i < in.size(); ++i)
    (*out[0])[i < losses ? first + static_cast<int64_t>(i) : places] += (*in[i])[0];
}

}  // namespace

void add_loss_references(ReferenceTable& table) {
  table["batch_results"] = batch_results;
  table["cross_entropy"] = cross_entropy;
  table["cross_entropy_gradient"] = cross_entropy_gradient;
  table["linear_cross_entropy"] = classifier_loss;
  table["label_losses"] = label_losses;
  table["label_losses_gradient"] = label_losses_gradient;
  table["mean_squared_error"] = value_loss<squared_error>;
  table["mean_absolute_error"] = value_loss<absolute_error>;
  table["huber"] = value_loss<huber>;
  table["binary_cross_entropy"] = value_loss<binary_cross_entropy>;
  table["own_loss"] = own_loss;
  table["mean_squared_error_gradient"] = value_loss_gradient<squared_error_slope>;
  table["mean_absolute_error_gradient"] = value_loss_gradient<absolute_error_slope>;
  table["huber_gradient"] = value_loss_gradient<huber_slope>;
  table["binary_cross_entropy_gradient"] = value_loss_gradient<binary_cross_entropy_slope>;
}

}  // namespace troika
