// sgd_update, line by line as torch.optim.SGD describes it (dampening 0), dynamic loss scaling, and clipping as
// torch.nn.utils.clip_grad_norm_ describes it.
#include <algorithm>
#include <cmath>

#include "conformance/reference/reference.h"

namespace troika {
namespace {

void sgd_update(const Node& node, const ReferenceInputs& in, const ReferenceOutputs&) {
  const double momentum = node.attributes.real("momentum"), decay = node.attributes.real("weight_decay");
  const double rate = (*in[0])[node.attributes.integer("group")];
  const size_t stride = momentum > 0 ? 3 : 2;
  const bool is_scaled = node.attributes.flag("scaled"), is_clipped = node.attributes.flag("clipped");
  const size_t end = in.size() - (is_scaled ? 2 : 0) - (is_clipped ? 1 : 0);
  if (is_scaled && (*in[end + 1])[0] == 0) return;
  const double scale = is_scaled ? (*in[end])[0] : 1, factor = is_clipped ? (*in.back())[0] : 1;
  for (size_t k = 1; k < end; k += stride)
    for (int64_t i = 0; i < in[k]->elements(); ++i) {
      double& p = (*in[k])[i];
      double g = (*in[k + 1])[i] / scale * factor + decay * p;
      if (momentum > 0) {
        double& m = (*in[k + 2])[i];
        m = momentum * m + g;
        g = node.attributes.flag("nesterov") ? g + momentum * m : m;
      }
      p -= rate * g;
    }
}

void check_finite(const Node&, const ReferenceInputs& in, const ReferenceOutputs& out) {
  (*out[0])[0] = 1;
  for (const Array* gradient : in)
    for (double v : gradient->data)
      if (!std::isfinite(v)) (*out[0])[0] = 0;
}

void clip_factor(const Node& node, const ReferenceInputs& in, const ReferenceOutputs& out) {
  const bool is_scaled = node.attributes.flag("scaled");
  const double scale = is_scaled ? (*in.back())[0] : 1;
  double squares = 0;
  for (size_t k = 0; k < in.size() - (is_scaled ? 1 : 0); ++k)
    for (double v : in[k]->data) squares += v / scale * (v / scale);
  const double norm = std::sqrt(squares),
               factor = node.attributes.real("max_norm") / (norm + node.attributes.real("eps"));
  (*out[0])[0] = std::isnan(factor) ? factor : std::min(factor, 1.0);
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

void update_loss_scale(const Node& node, const ReferenceInputs& in, const ReferenceOutputs&) {
  double &scale = (*in[0])[0], &good = (*in[0])[1];
  if ((*in[1])[0] == 0) {
    scale = std::fmax(scale * node.attributes.real("backoff"), 1);
    good = 0;
    return;
  }
  good += 1;
  if (good < static_cast<double>(node.attributes.integer("interval"))) return;
  scale *= node.attributes.real("growth");
  good = 0;
}

}  // namespace

void add_optimizer_references(ReferenceTable& table) {
  table["sgd_update"] = sgd_update;
  table["check_finite"] = check_finite;
  table["clip_factor"] = clip_factor;
  table["gradient_norm"] = gradient_norm;
  table["round_bf16"] = round_bf16;
  table["update_loss_scale"] = update_loss_scale;
}

}  // namespace troika
