// sgd_update, line by line as torch.optim.SGD describes it (dampening 0).
#include "conformance/reference/reference.h"

namespace troika {
namespace {

void sgd_update(const Node& node, const ReferenceInputs& in, const ReferenceOutputs&) {
  const double momentum = node.attributes.real("momentum"), decay = node.attributes.real("weight_decay");
  const double rate = (*in[0])[node.attributes.integer("group")];
  const size_t stride = momentum > 0 ? 3 : 2;
  for (size_t k = 1; k < in.size(); k += stride)
    for (int64_t i = 0; i < in[k]->elements(); ++i) {
      double& p = (*in[k])[i];
      double g = (*in[k + 1])[i] + decay * p;
      if (momentum > 0) {
        double& m = (*in[k + 2])[i];
        m = momentum * m + g;
        g = node.attributes.flag("nesterov") ? g + momentum * m : m;
      }
      p -= rate * g;
    }
}

}  // namespace

void add_optimizer_references(ReferenceTable& table) { table["sgd_update"] = sgd_update; }

}  // namespace troika
