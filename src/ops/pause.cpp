// pause: ends the forward pass of a step in pieces. The host may do something else before it lets
// the plan go on, so nothing is in flight at a pause.
#include "ops/op_def.h"

namespace troika {
namespace {

std::vector<TensorType> infer(const OpInputs& in) {
  in.need_inputs(0, 0);
  return {};
}

}  // namespace

const OpDef pause_op{
    .name = "pause", .infer = infer, .traits = CollectiveOp{.kind = CollectiveOp::pause, .group = RankGroup::model}};

}  // namespace troika
