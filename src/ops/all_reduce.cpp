// all_reduce: replaces each gradient of a bucket by its sum over all ranks, in place and in the
// background.
#include "ops/op_def.h"

namespace troika {
namespace {

// Inputs: the bucket's gradients, which are stored one after another. Attribute bucket: its number.
// The sum is complete when a later node reads it.
std::vector<TensorType> infer(const OpInputs&) { return {}; }

}  // namespace

const OpDef all_reduce_op{.name = "all_reduce",
                          .infer = infer,
                          .mutates = {0},
                          .traits = CollectiveOp{.kind = CollectiveOp::reduce_bucket, .group = RankGroup::data}};

}  // namespace troika
