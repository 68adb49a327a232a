// send and receive: pass a value from one rank to another rank of the same pipeline.
#include "ops/op_def.h"

namespace troika {
namespace {

// Input: the value. Attributes: peer, the rank that receives it; message: its number among those of
// a step.
std::vector<TensorType> infer_send(const OpInputs& in) {
  in.need_inputs(1, 1);
  return {};
}

// Attributes: peer, the rank that sends it; message; dtype and shape of the value.
std::vector<TensorType> infer_receive(const OpInputs& in) {
  in.need_inputs(0, 0);
  return {{static_cast<DType>(in.node.attributes.integer("dtype")), Shape(in.node.attributes.list("shape"))}};
}

}  // namespace

const OpDef send_op{.name = "send",
                    .infer = infer_send,
                    .traits = CollectiveOp{.kind = CollectiveOp::send, .group = RankGroup::pipeline}};
const OpDef receive_op{.name = "receive",
                       .infer = infer_receive,
                       .traits = CollectiveOp{.kind = CollectiveOp::receive, .group = RankGroup::pipeline}};

}  // namespace troika
