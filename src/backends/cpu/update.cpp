// Operands of updates in memory.
#include "backends/cpu/update.h"

#include <algorithm>

#include "backends/cpu/low_precision.h"

namespace troika::cpu {

UpdateRun::UpdateRun(const KernelRequest& request)
    : operands_(request.node),
      row_(static_cast<size_t>(request.node.attributes.integer("row"))),
      skips_decay_(request.node.attributes.flag("skips_decay")),
      starts_{0},
      layouts_(request.node.inputs.size()),
      columns_(static_cast<size_t>(request.graph.type(request.node.inputs[update::settings]).shape[1])) {
  for (size_t k = 0; k < operands_.parameters(); ++k) {
    const size_t first = operands_.parameter(k);
    for (size_t i = first; i < operands_.parameter(k + 1); ++i) layouts_[i] = request.input_layouts[first];
    const int64_t floats = floats_of_input(request, first);
    starts_.push_back(starts_.back() + floats);
    gradients_.push_back(request.graph.type(request.node.inputs[operands_.gradient(k)]).dtype);
    for (int64_t begin = 0; begin < floats; begin += kGrain)
      chunks_.push_back({k, begin, std::min(begin + kGrain, floats)});
  }
  if (request.node.attributes.has("places")) places_ = request.node.attributes.list("places");
  if (!request.node.outputs.empty())
    norms_ = static_cast<size_t>(request.graph.type(request.node.outputs[0]).shape.elements());
}

KernelChoice UpdateRun::choice(std::unique_ptr<Kernel> kernel, std::string name) const {
  KernelChoice choice;
  choice.kernel = std::move(kernel);
  choice.name = std::move(name);
  choice.input_layouts = layouts_;
  choice.output_layouts.resize(norms_ > 0 ? 1 : 0);
  return choice;
}

bool UpdateRun::is_skipped(void* const* in) const {
  return in[update::is_finite] && *static_cast<const int32_t*>(in[update::is_finite]) == 0;
}

UpdateStep UpdateRun::step(void* const* in) const {
  const float* const row = static_cast<const float*>(in[update::settings]) + row_ * columns_;
  UpdateStep step;
  step.rate = row[update::learning_rate];
  step.decay = skips_decay_ ? 0.0f : row[update::weight_decay];
  step.own = row + update::first_own;
  step.factor = in[update::factor] ? *static_cast<const float*>(in[update::factor]) : 1.0f;
  step.count = in[update::count] ? static_cast<double>(static_cast<const int64_t*>(in[update::count])[row_]) : 0.0;
  return step;
}

UpdatePiece UpdateRun::piece(void* const* in, size_t k, int64_t begin, int64_t n, float* widened) const {
  UpdatePiece piece = {};
  piece.parameter = static_cast<float*>(in[operands_.parameter(k)]) + begin;
  if (gradients_[k] == DType::f32) {
    piece.gradient = static_cast<const float*>(in[operands_.gradient(k)]) + begin;
  } else {
    widen(gradients_[k], static_cast<const uint16_t*>(in[operands_.gradient(k)]) + begin, widened, n);
    piece.gradient = widened;
  }
  for (size_t s = 0; s < operands_.slots(); ++s) piece.slots[s] = static_cast<float*>(in[operands_.slot(k, s)]) + begin;
  if (in[update::norms]) piece.norms = static_cast<const float*>(in[update::norms]) + 2 * places_[k];
  piece.n = n;
  return piece;
}

void UpdateRun::start_norms(void* const* in, float* norms) const {
  const auto* const before = static_cast<const float*>(in[update::norms]);
  for (size_t i = 0; i < norms_; ++i) norms[i] = before ? before[i] : 0.0f;
}

}  // namespace troika::cpu
