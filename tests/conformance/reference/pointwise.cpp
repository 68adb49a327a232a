// sigmoid, tanh, silu, leaky_relu, abs, exp, log, sqrt, scale, and their gradients.
#include <cmath>

#include "conformance/reference/reference.h"

namespace troika {
namespace {

double sigmoid_of(double x) { return 1 / (1 + std::exp(-x)); }

// y[i] = F(node, x[i])
template <double (*F)(const Node&, double)>
void map(const Node& node, const ReferenceInputs& in, const ReferenceOutputs& out) {
  for (int64_t i = 0; i < in[0]->elements(); ++i) (*out[0])[i] = F(node, (*in[0])[i]);
}

// dx[i] = slope(node, x[i]) dy[i]
template <double (*Slope)(const Node&, double)>
void map_gradient(const Node& node, const ReferenceInputs& in, const ReferenceOutputs& out) {
  for (int64_t i = 0; i < in[0]->elements(); ++i) (*out[0])[i] = Slope(node, (*in[0])[i]) * (*in[1])[i];
}

double sigmoid(const Node&, double x) { return sigmoid_of(x); }
double sigmoid_slope(const Node&, double y) { return y * (1 - y); }
double tanh_of(const Node&, double x) { return std::tanh(x); }
double tanh_slope(const Node&, double y) { return 1 - y * y; }
double silu(const Node&, double x) { return x * sigmoid_of(x); }
double silu_slope(const Node&, double x) { return sigmoid_of(x) * (1 + x * (1 - sigmoid_of(x))); }
double leaky_relu(const Node& node, double x) { return x > 0 ? x : node.attributes.real("slope") * x; }
double leaky_relu_slope(const Node& node, double x) { return x > 0 ? 1 : node.attributes.real("slope"); }
double abs_of(const Node&, double x) { return std::abs(x); }
double abs_slope(const Node&, double x) { return x > 0 ? 1 : x < 0 ? -1 : 0; }
double exp_of(const Node&, double x) { return std::exp(x); }
double log_of(const Node&, double x) { return std::log(x); }
double sqrt_of(const Node&, double x) { return std::sqrt(x); }
double scale(const Node& node, double x) { return node.attributes.real("factor") * x + node.attributes.real("offset"); }

}  // namespace

void add_pointwise_references(ReferenceTable& table) {
  table["sigmoid"] = map<sigmoid>;
  table["sigmoid_gradient"] = map_gradient<sigmoid_slope>;
  table["tanh"] = map<tanh_of>;
  table["tanh_gradient"] = map_gradient<tanh_slope>;
  table["silu"] = map<silu>;
  table["silu_gradient"] = map_gradient<silu_slope>;
  table["leaky_relu"] = map<leaky_relu>;
  table["leaky_relu_gradient"] = map_gradient<leaky_relu_slope>;
  table["abs"] = map<abs_of>;
  table["abs_gradient"] = map_gradient<abs_slope>;
  table["exp"] = map<exp_of>;
  table["log"] = map<log_of>;
  table["sqrt"] = map<sqrt_of>;
  table["scale"] = map<scale>;
}

}  // namespace troika
