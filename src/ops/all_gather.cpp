// all_gather: each rank has updated some of a bucket's parameters, and receives the others. In
// place, in the background.
#include "ops/op_def.h"

namespace troika {
namespace {

// Inputs: the bucket's parameters, which are stored one after another. Attribute bucket: its
// number. The parameters are complete at the end of the step.
std::vector<TensorType> infer(const OpInputs&) { return {}; }

}  // namespace

const OpDef all_gather_op{.name = "all_gather",
                          .infer = infer,
                          .mutates = {0},
                          .traits = CollectiveOp{.kind = CollectiveOp::gather_bucket, .group = RankGroup::data}};

}  // namespace troika
