// The optimizers' updates, line by line as torch.optim and the papers describe them
// (include/troika/trainer_options.h). Also dynamic loss scaling, and clipping as in
// torch.nn.utils.clip_grad_norm_.
#include <algorithm>
#include <cmath>

#include "conformance/reference/reference.h"
#include "ops/update.h"

namespace troika {
namespace {

// The operands of an update.
struct Update {
  Update(const Node& node, const ReferenceInputs& inputs) : in(inputs), operands(node), attributes(node.attributes) {
    const int64_t row = node.attributes.integer("row"), columns = in[update::settings]->shape[1];
    const Array& settings = *in[update::settings];
    rate = settings[row * columns];
    decay = node.attributes.flag("skips_decay") ? 0 : settings[row * columns + 1];
    for (int64_t i = 2; i < columns; ++i) own.push_back(settings[row * columns + i]);
    if (in[update::factor]) factor = (*in[update::factor])[0];
    if (in[update::is_finite]) is_finite = (*in[update::is_finite])[0] != 0;
    if (in[update::count]) count = (*in[update::count])[row];
  }

  // Calls visit(k, p, g, slots) for every number of every parameter. `g` is the gradient times the
  // factor, that is, without the loss scale.
  template <typename Visit>
  void each(Visit visit) const {
    for (size_t k = 0; is_finite && k < operands.parameters(); ++k)
      for (int64_t i = 0; i < in[operands.parameter(k)]->elements(); ++i) {
        std::vector<double*> slots;
        for (size_t s = 0; s < operands.slots(); ++s) slots.push_back(&(*in[operands.slot(k, s)])[i]);
        visit(k, (*in[operands.parameter(k)])[i], factor * (*in[operands.gradient(k)])[i], slots);
      }
  }

  // Returns squared norm `which` of parameter `k`; 0 if the update has no norms.
  double norm(size_t k, int which) const {
    return in[update::norms] ? (*in[update::norms])[2 * attributes.list("places")[k] + which] : 0;
  }

  const ReferenceInputs& in;
  const UpdateOperands operands;
  const Attributes& attributes;
  double rate, decay, factor = 1, count = 0;
  std::vector<double> own;
  bool is_finite = true;
};

void sgd_update(const Node& node, const ReferenceInputs& in, const ReferenceOutputs&) {
  const Update u(node, in);
  u.each([&](size_t, double& p, double g, const std::vector<double*>& slots) {
    g += u.decay * p;
    if (!slots.empty()) {
      double& m = *slots[0];
      m = u.own[0] * m + g;
      g = u.own[1] != 0 ? g + u.own[0] * m : m;
    }
    p -= u.rate * g;
  });
}

// Both moments, and the correction for their initial value of 0.
struct Moments {
  explicit Moments(const Update& u)
      : beta1(u.own[0]), beta2(u.own[1]), first(1 - std::pow(beta1, u.count)), second(1 - std::pow(beta2, u.count)) {}
  void add(double g, const std::vector<double*>& slots) const {
    *slots[0] = beta1 * *slots[0] + (1 - beta1) * g;
    *slots[1] = beta2 * *slots[1] + (1 - beta2) * g * g;
  }
  double beta1, beta2, first, second;
};

void adam_update(const Node& node, const ReferenceInputs& in, const ReferenceOutputs&) {
  const Update u(node, in);
  const Moments moments(u);
  u.each([&](size_t, double& p, double g, const std::vector<double*>& slots) {
    moments.add(g + u.decay * p, slots);
    p -= u.rate / moments.first * *slots[0] / (std::sqrt(*slots[1]) / std::sqrt(moments.second) + u.own[2]);
  });
}

void adamw_update(const Node& node, const ReferenceInputs& in, const ReferenceOutputs&) {
  const Update u(node, in);
  const Moments moments(u);
  u.each([&](size_t, double& p, double g, const std::vector<double*>& slots) {
    p -= u.rate * u.decay * p;
    moments.add(g, slots);
    p -= u.rate / moments.first * *slots[0] / (std::sqrt(*slots[1]) / std::sqrt(moments.second) + u.own[2]);
  });
}

void rmsprop_update(const Node& node, const ReferenceInputs& in, const ReferenceOutputs&) {
  const Update u(node, in);
  const double alpha = u.own[0], eps = u.own[1], momentum = u.own[2];
  u.each([&](size_t, double& p, double g, const std::vector<double*>& slots) {
    g += u.decay * p;
    *slots[0] = alpha * *slots[0] + (1 - alpha) * g * g;
    double step = g / (std::sqrt(*slots[0]) + eps);
    if (slots.size() == 2) step = *slots[1] = momentum * *slots[1] + step;
    p -= u.rate * step;
  });
}

void adagrad_update(const Node& node, const ReferenceInputs& in, const ReferenceOutputs&) {
  const Update u(node, in);
  u.each([&](size_t, double& p, double g, const std::vector<double*>& slots) {
    g += u.decay * p;
    *slots[0] += g * g;
    p -= u.rate * g / (std::sqrt(*slots[0]) + u.own[0]);
  });
}

// Sets the norms to those of earlier nodes, or 0. The norms that this node will sum up start at 0.
void start_norms(const Update& u, Array& norms) {
  for (int64_t i = 0; i < norms.elements(); ++i) norms[i] = u.in[update::norms] ? (*u.in[update::norms])[i] : 0;
  for (int64_t place : u.attributes.list("places")) norms[2 * place] = norms[2 * place + 1] = 0;
}

void lars_norms(const Node& node, const ReferenceInputs& in, const ReferenceOutputs& out) {
  const Update u(node, in);
  start_norms(u, *out[0]);
  u.each([&](size_t k, double& p, double g, const std::vector<double*>&) {
    const int64_t place = u.attributes.list("places")[k];
    (*out[0])[2 * place] += p * p;
    (*out[0])[2 * place + 1] += g * g;
  });
}

void lars_update(const Node& node, const ReferenceInputs& in, const ReferenceOutputs&) {
  const Update u(node, in);
  const double momentum = u.own[0], trust = u.own[1], eps = u.own[2];
  u.each([&](size_t k, double& p, double g, const std::vector<double*>& slots) {
    const double of_p = std::sqrt(u.norm(k, 0)), of_g = std::sqrt(u.norm(k, 1)),
                 ratio = of_p > 0 && of_g > 0 ? trust * of_p / (of_g + u.decay * of_p + eps) : 1;
    *slots[0] = momentum * *slots[0] + u.rate * ratio * (g + u.decay * p);
    p -= *slots[0];
  });
}

double lamb_direction(const Update& u, const Moments& moments, double p, const std::vector<double*>& slots) {
  return *slots[0] / moments.first / (std::sqrt(*slots[1] / moments.second) + u.own[2]) + u.decay * p;
}

void lamb_moments(const Node& node, const ReferenceInputs& in, const ReferenceOutputs& out) {
  const Update u(node, in);
  const Moments moments(u);
  start_norms(u, *out[0]);
  u.each([&](size_t k, double& p, double g, const std::vector<double*>& slots) {
    const int64_t place = u.attributes.list("places")[k];
    moments.add(g, slots);
    const double r = lamb_direction(u, moments, p, slots);
    (*out[0])[2 * place] += p * p;
    (*out[0])[2 * place + 1] += r * r;
  });
}

void lamb_update(const Node& node, const ReferenceInputs& in, const ReferenceOutputs&) {
  const Update u(node, in);
  const Moments moments(u);
  u.each([&](size_t k, double& p, double g, const std::vector<double*>& slots) {
    if (!in[update::norms]) moments.add(g, slots);
    const bool has_ratio = u.norm(k, 0) > 0 && u.norm(k, 1) > 0;
    p -= u.rate * (has_ratio ? std::sqrt(u.norm(k, 0) / u.norm(k, 1)) : 1) * lamb_direction(u, moments, p, slots);
  });
}

void count_updates(const Node&, const ReferenceInputs& in, const ReferenceOutputs&) {
  if (!in[1] || (*in[1])[0] != 0)
    for (double& count : in[0]->data) count += 1;
}

void average_update(const Node& node, const ReferenceInputs& in, const ReferenceOutputs&) {
  const double decay = node.attributes.real("decay");
  if (in[0] && (*in[0])[0] == 0) return;
  for (size_t k = 1; k < in.size(); k += 2)
    for (int64_t i = 0; i < in[k]->elements(); ++i) (*in[k])[i] = decay * (*in[k])[i] + (1 - decay) * (*in[k + 1])[i];
}

void check_finite(const Node&, const ReferenceInputs& in, const ReferenceOutputs& out) {
  (*out[0])[0] = 1;
  for (const Array* gradient : in)
    for (double v : gradient->data)
      if (!std::isfinite(v)) (*out[0])[0] = 0;
}

void gradient_factor(const Node& node, const ReferenceInputs& in, const ReferenceOutputs& out) {
  const double scale = in[0] ? (*in[0])[0] : 1, max_norm = node.attributes.real("max_norm");
  (*out[0])[0] = 1 / scale;
  if (max_norm == 0) return;
  double squares = 0;
  for (size_t k = 1; k < in.size(); ++k)
    for (double v : in[k]->data) squares += v / scale * (v / scale);
  const double norm = std::sqrt(squares), factor = max_norm / (norm + node.attributes.real("eps"));
  (*out[0])[0] = std::isnan(factor) ? factor : std::min(factor, 1.0) / scale;
  (*out[1])[0] = norm;
}

void gradient_norm(const Node& node, const ReferenceInputs& in, const ReferenceOutputs& out) {
  double squares = 0;
  for (const auto* gradient : in)
    for (double v : gradient->data) squares += v * v;
  (*out[0])[node.attributes.integer("rank")] = std::sqrt(squares);
}

void round_bf16(const Node&, const ReferenceInputs& in, const ReferenceOutputs&) {
  for (auto* gradient : in)
    for (double& v : gradient->data) v = as_held(v, DType::bf16);
}

void update_loss_scale(const Node& node, const ReferenceInputs& in, const ReferenceOutputs& out) {
  double &scale = (*in[0])[0], &good = (*in[0])[1];
  if ((*in[1])[0] == 0) {
    scale = std::fmax(scale * node.attributes.real("backoff"), 1);
    good = 0;
  } else if (++good >= static_cast<double>(node.attributes.integer("interval"))) {
    scale *= node.attributes.real("growth");
    good = 0;
  }
  out[0]->data = in[0]->data;
}

}  // namespace

void add_optimizer_references(ReferenceTable& table) {
  table["sgd_update"] = sgd_update;
  table["adam_update"] = adam_update;
  table["adamw_update"] = adamw_update;
  table["rmsprop_update"] = rmsprop_update;
  table["lars_norms"] = lars_norms;
  table["lars_update"] = lars_update;
  table["lamb_moments"] = lamb_moments;
  table["lamb_update"] = lamb_update;
  table["adagrad_update"] = adagrad_update;
  table["count_updates"] = count_updates;
  table["average_update"] = average_update;
  table["check_finite"] = check_finite;
  table["gradient_factor"] = gradient_factor;
  table["gradient_norm"] = gradient_norm;
  table["round_bf16"] = round_bf16;
  table["update_loss_scale"] = update_loss_scale;
}

}  // namespace troika
