// lstm, gru and their gradients, step by step and number by number; split_steps and join_steps.
#include <cmath>

#include "conformance/reference/reference.h"

namespace troika {
namespace {

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

// Indexes an array [n, t, k] by sample, step and index.
struct Sequence {
  const Array& array;
  double operator()(int64_t n, int64_t t, int64_t k) const {
    return array[(n * array.shape[1] + t) * array.shape[2] + k];
  }
};

// Returns number k of the state before step t: of the previous step's output, else of the initial
// state, else 0.
double state_before(const Array& every, const Array* initial, int64_t n, int64_t t, int64_t k) {
  if (t > 0) return Sequence{every}(n, t - 1, k);
  return initial ? (*initial)[n * initial->shape[1] + k] : 0;
}

// Returns row `row` of W v + b; a null b counts as 0.
template <typename Vector>
double affine(const Array& weight, const Array* bias, int64_t row, const Vector& v) {
  double sum = bias ? (*bias)[row] : 0;
  for (int64_t k = 0; k < weight.shape[1]; ++k) sum += weight[row * weight.shape[1] + k] * v(k);
  return sum;
}

void lstm(const Node&, const ReferenceInputs& in, const ReferenceOutputs& out) {
  const Array &x = *in[0], &weight_ih = *in[1], &weight_hh = *in[2];
  Array &y = *out[0], &gates = *out[3], &cells = *out[4];
  const int64_t batch = x.shape[0], steps = x.shape[1], hidden = weight_hh.shape[1];
  for (int64_t n = 0; n < batch; ++n)
    for (int64_t t = 0; t < steps; ++t) {
      const int64_t row = n * steps + t;
      for (int64_t k = 0; k < 4 * hidden; ++k) {
        const double sum = affine(weight_ih, in[3], k, [&](int64_t j) { return Sequence{x}(n, t, j); }) +
                           affine(weight_hh, in[4], k, [&](int64_t j) { return state_before(y, in[5], n, t, j); });
        gates[row * 4 * hidden + k] = k / hidden == 2 ? std::tanh(sum) : sigmoid(sum);
      }
      for (int64_t k = 0; k < hidden; ++k) {
        const auto gate = [&](int64_t g) { return gates[row * 4 * hidden + g * hidden + k]; };
        const double c = gate(1) * state_before(cells, in[6], n, t, k) + gate(0) * gate(2);
        (*out[2])[n * hidden + k] = cells[row * hidden + k] = c;
        (*out[1])[n * hidden + k] = y[row * hidden + k] = gate(3) * std::tanh(c);
      }
    }
}

// The common part of the backward nodes of lstm and gru: the places of their outputs, and the sums
// over the gates.
class Gradients {
 public:
  Gradients(const Node& node, const ReferenceOutputs& out) {
    size_t next = 0;
    for (auto [flag, count] : {std::pair{"weights", 2}, {"bias", 2}, {"input", 1}, {"state", 2}})
      for (int i = 0; i < count && node.attributes.flag(flag) && next < out.size(); ++i)
        (*flag == 'w' ? weights_[i] : *flag == 'b' ? biases_[i] : *flag == 'i' ? x_ : states_[i]) = out[next++];
  }

  // Adds the gradient d of row `row` of weight * v + b, for side 0 (input) or side 1 (state).
  template <typename Vector>
  void add(int side, int64_t row, double d, const Vector& v) {
    if (biases_[side]) (*biases_[side])[row] += d;
    if (!weights_[side]) return;
    Array& weight = *weights_[side];
    for (int64_t k = 0; k < weight.shape[1]; ++k) weight[row * weight.shape[1] + k] += d * v(k);
  }
  Array* x() const { return x_; }
  Array* state(int i) const { return states_[i]; }

 private:
  Array *weights_[2] = {}, *biases_[2] = {}, *x_ = nullptr, *states_[2] = {};
};

// Returns the sum over rows of d[row] weight[row][k].
double back(const Array& weight, const std::vector<double>& d, int64_t k) {
  double sum = 0;
  for (size_t row = 0; row < d.size(); ++row) sum += d[row] * weight[static_cast<int64_t>(row) * weight.shape[1] + k];
  return sum;
}

void lstm_gradient(const Node& node, const ReferenceInputs& in, const ReferenceOutputs& out) {
  const Array &x = *in[0], &weight_ih = *in[1], &weight_hh = *in[2], &y = *in[5], &gates = *in[6], &cells = *in[7];
  const int64_t batch = x.shape[0], steps = x.shape[1], features = x.shape[2], hidden = weight_hh.shape[1];
  Gradients made(node, out);
  for (int64_t n = 0; n < batch; ++n) {
    std::vector<double> dh(static_cast<size_t>(hidden)), dc(dh.size()), dsums(4 * dh.size());
    for (int64_t k = 0; k < hidden; ++k) {
      dh[static_cast<size_t>(k)] = in[9] ? (*in[9])[n * hidden + k] : 0;
      dc[static_cast<size_t>(k)] = in[10] ? (*in[10])[n * hidden + k] : 0;
    }
    for (int64_t t = steps; t-- > 0;) {
      for (int64_t k = 0; k < hidden; ++k) {
        const auto gate = [&](int64_t g) { return Sequence{gates}(n, t, g * hidden + k); };
        const auto sum = [&](int64_t g) -> double& { return dsums[static_cast<size_t>(g * hidden + k)]; };
        double &cell = dc[static_cast<size_t>(k)], tanh_c = std::tanh(Sequence{cells}(n, t, k));
        const double d = dh[static_cast<size_t>(k)] + (in[8] ? Sequence{*in[8]}(n, t, k) : 0);
        cell += d * gate(3) * (1 - tanh_c * tanh_c);
        sum(0) = cell * gate(2) * gate(0) * (1 - gate(0));
        sum(1) = cell * state_before(cells, in[4], n, t, k) * gate(1) * (1 - gate(1));
        sum(2) = cell * gate(0) * (1 - gate(2) * gate(2));
        sum(3) = d * tanh_c * gate(3) * (1 - gate(3));
        cell *= gate(1);
      }
      for (int64_t row = 0; row < 4 * hidden; ++row) {
        const double d = dsums[static_cast<size_t>(row)];
        made.add(0, row, d, [&](int64_t j) { return Sequence{x}(n, t, j); });
        made.add(1, row, d, [&](int64_t j) { return state_before(y, in[3], n, t, j); });
      }
      for (int64_t k = 0; k < hidden; ++k) dh[static_cast<size_t>(k)] = back(weight_hh, dsums, k);
      for (int64_t j = 0; made.x() && j < features; ++j)
        (*made.x())[(n * steps + t) * features + j] = back(weight_ih, dsums, j);
    }
    for (int64_t k = 0; made.state(0) && k < hidden; ++k) {
      (*made.state(0))[n * hidden + k] = dh[static_cast<size_t>(k)];
      (*made.state(1))[n * hidden + k] = dc[static_cast<size_t>(k)];
    }
  }
}

void gru(const Node&, const ReferenceInputs& in, const ReferenceOutputs& out) {
  const Array &x = *in[0], &weight_ih = *in[1], &weight_hh = *in[2];
  Array &y = *out[0], &gates = *out[2];
  const int64_t batch = x.shape[0], steps = x.shape[1], hidden = weight_hh.shape[1];
  for (int64_t n = 0; n < batch; ++n)
    for (int64_t t = 0; t < steps; ++t)
      for (int64_t k = 0; k < hidden; ++k) {
        const int64_t row = n * steps + t;
        const auto of_input = [&](int64_t g) {
          return affine(weight_ih, in[3], g * hidden + k, [&](int64_t j) { return Sequence{x}(n, t, j); });
        };
        const auto of_state = [&](int64_t g) {
          return affine(weight_hh, in[4], g * hidden + k, [&](int64_t j) { return state_before(y, in[5], n, t, j); });
        };
        const auto gate = [&](int64_t g) -> double& { return gates[row * 4 * hidden + g * hidden + k]; };
        gate(0) = sigmoid(of_input(0) + of_state(0));
        gate(1) = sigmoid(of_input(1) + of_state(1));
        gate(3) = of_state(2);
        gate(2) = std::tanh(of_input(2) + gate(0) * gate(3));
        (*out[1])[n * hidden + k] = y[row * hidden + k] =
            (1 - gate(1)) * gate(2) + gate(1) * state_before(y, in[5], n, t, k);
      }
}

void gru_gradient(const Node& node, const ReferenceInputs& in, const ReferenceOutputs& out) {
  const Array &x = *in[0], &weight_ih = *in[1], &weight_hh = *in[2], &y = *in[4], &gates = *in[5];
  const int64_t batch = x.shape[0], steps = x.shape[1], features = x.shape[2], hidden = weight_hh.shape[1];
  Gradients made(node, out);
  for (int64_t n = 0; n < batch; ++n) {
    std::vector<double> dh(static_cast<size_t>(hidden)), past(dh.size()), dinput(3 * dh.size()), dstate(3 * dh.size());
    for (int64_t k = 0; k < hidden; ++k) dh[static_cast<size_t>(k)] = in[7] ? (*in[7])[n * hidden + k] : 0;
    for (int64_t t = steps; t-- > 0;) {
      for (int64_t k = 0; k < hidden; ++k) {
        const auto gate = [&](int64_t g) { return Sequence{gates}(n, t, g * hidden + k); };
        const auto at = [&](int64_t g) { return static_cast<size_t>(g * hidden + k); };
        const double d = dh[at(0)] + (in[6] ? Sequence{*in[6]}(n, t, k) : 0);
        dinput[at(2)] = d * (1 - gate(1)) * (1 - gate(2) * gate(2));
        dinput[at(0)] = dinput[at(2)] * gate(3) * gate(0) * (1 - gate(0));
        dinput[at(1)] = d * (state_before(y, in[3], n, t, k) - gate(2)) * gate(1) * (1 - gate(1));
        dstate[at(0)] = dinput[at(0)];
        dstate[at(1)] = dinput[at(1)];
        dstate[at(2)] = dinput[at(2)] * gate(0);
        past[at(0)] = d * gate(1);
      }
      for (int64_t row = 0; row < 3 * hidden; ++row) {
        const auto r = static_cast<size_t>(row);
        made.add(0, row, dinput[r], [&](int64_t j) { return Sequence{x}(n, t, j); });
        made.add(1, row, dstate[r], [&](int64_t j) { return state_before(y, in[3], n, t, j); });
      }
      for (int64_t k = 0; k < hidden; ++k)
        dh[static_cast<size_t>(k)] = past[static_cast<size_t>(k)] + back(weight_hh, dstate, k);
      for (int64_t j = 0; made.x() && j < features; ++j)
        (*made.x())[(n * steps + t) * features + j] = back(weight_ih, dinput, j);
    }
    for (int64_t k = 0; made.state(0) && k < hidden; ++k) (*made.state(0))[n * hidden + k] = dh[static_cast<size_t>(k)];
  }
}

void split_steps(const Node& node, const ReferenceInputs& in, const ReferenceOutputs& out) {
  int64_t from = 0;
  const int64_t samples = in[0]->shape.elements(0, axis_of_case(node));
  for (int64_t n = 0; n < samples; ++n)
    for (Array* part : out) {
      const int64_t sample = part->elements() / samples;
      for (int64_t k = 0; k < sample; ++k) (*part)[n * sample + k] = (*in[0])[from++];
    }
}

void join_steps(const Node& node, const ReferenceInputs& in, const ReferenceOutputs& out) {
  int64_t to = 0;
  const int64_t samples = out[0]->shape.elements(0, axis_of_case(node));
  for (int64_t n = 0; n < samples; ++n)
    for (const Array* part : in) {
      const int64_t sample = part->elements() / samples;
      for (int64_t k = 0; k < sample; ++k) (*out[0])[to++] = (*part)[n * sample + k];
    }
}

}  // namespace

void add_recurrent_references(ReferenceTable& table) {
  table["lstm"] = lstm;
  table["lstm_gradient"] = lstm_gradient;
  table["gru"] = gru;
  table["gru_gradient"] = gru_gradient;
  table["split_steps"] = split_steps;
  table["join_steps"] = join_steps;
}

}  // namespace troika
