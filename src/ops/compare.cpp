// compare: 1 if a relation holds between a and b (ops/broadcast.h), else 0. No relation holds with
// NaN, except not_equal.
#include "ops/compare.h"

#include "core/text.h"
#include "ops/broadcast.h"

namespace troika {

Relation relation_named(const std::string& name) {
  for (size_t i = 0; i < std::size(kRelations); ++i)
    if (name == kRelations[i]) return static_cast<Relation>(i);
  throw Error(Status::internal, text("there is no relation '", name, "'"));
}

namespace {

// Attribute: relation.
std::vector<TensorType> infer(const OpInputs& in) {
  relation_named(in.node.attributes.word("relation"));
  return {{DType::u8, infer_pair(in)[0].shape}};
}

}  // namespace

const OpDef compare_op{.name = "compare", .infer = infer, .traits = UtilityOp{}};

}  // namespace troika
