// Shape rules that all optimizers share.
#include "ops/update.h"

#include "core/text.h"

namespace troika {

UpdateOperands::UpdateOperands(const Node& node)
    : slots_(static_cast<size_t>(node.attributes.integer("slots"))),
      copies_(node.attributes.flag("copies")),
      parameters_(node.inputs.size() > update::first_parameter ? (node.inputs.size() - update::first_parameter) / each()
                                                               : 0) {}

namespace {

void need_type(const OpInputs& in, size_t i, const char* what, const TensorType& needed) {
  if (in.has(i) && in.types[i] != needed)
    in.fail(
        text(what, " is ", name_of(in.types[i].dtype), in.shape(i), ", needs ", name_of(needed.dtype), needed.shape));
}

void check_parameters(const OpInputs& in, const UpdateOperands& operands) {
  if (operands.parameters() == 0 || operands.parameter(operands.parameters()) != in.types.size())
    in.fail(text("has ", in.types.size(), " inputs, needs ", update::first_parameter, " and a multiple of ",
                 operands.each()));
  for (size_t k = 0; k < operands.parameters(); ++k) {
    const TensorType& type = in.types[operands.parameter(k)];
    const auto fail = [&](const char* what, const TensorType& found) {
      in.fail(text(what, ' ', k, " is ", name_of(found.dtype), found.shape, ", the parameter is ", name_of(type.dtype),
                   type.shape));
    };
    if (type.dtype != DType::f32) fail("parameter", type);
    const TensorType& gradient = in.types[operands.gradient(k)];
    if (gradient.shape != type.shape || !is_compute_dtype(gradient.dtype)) fail("gradient", gradient);
    if (gradient.dtype != in.types[operands.gradient(0)].dtype)
      in.fail(text("gradient ", k, " is ", name_of(gradient.dtype), ", gradient 0 is ",
                   name_of(in.types[operands.gradient(0)].dtype), "; all have one type"));
    if (operands.has_copies()) {
      const TensorType& copy = in.types[operands.copy(k)];
      if (copy.shape != type.shape || !is_compute_dtype(copy.dtype) || copy.dtype == DType::f32 ||
          copy.dtype != in.types[operands.copy(0)].dtype)
        fail("copy of parameter", copy);
    }
    for (size_t s = 0; s < operands.slots(); ++s)
      if (in.types[operands.slot(k, s)] != type) fail("slot of parameter", in.types[operands.slot(k, s)]);
  }
}

// Norms are pairs, and every parameter has a place for its own.
void check_places(const OpInputs& in, const UpdateOperands& operands, int64_t pairs) {
  const std::vector<int64_t>& places = in.node.attributes.list("places");
  if (places.size() != operands.parameters())
    in.fail(text("has ", places.size(), " places, ", operands.parameters(), " parameters"));
  for (int64_t place : places)
    if (place < 0 || place >= pairs) in.fail(text("place is ", place, ", norms are of ", pairs, " parameters"));
}

UpdateOperands check_operands(const OpInputs& in, size_t own_settings) {
  const auto columns = static_cast<int64_t>(update::first_own + own_settings);
  if (in.types.size() < update::first_parameter)
    in.fail(text("has ", in.types.size(), " inputs, needs at least ", update::first_parameter));
  const Shape& settings = in.shape(update::settings);
  if (in.types[update::settings].dtype != DType::f32 || settings.rank() != 2 || settings[1] != columns)
    in.fail(
        text("settings are ", name_of(in.types[update::settings].dtype), settings, ", need f32[rows, ", columns, "]"));
  const int64_t row = in.node.attributes.integer("row");
  if (row < 0 || row >= settings[0]) in.fail(text("row is ", row, " of ", settings[0]));
  need_type(in, update::factor, "factor", {DType::f32, {1}});
  need_type(in, update::is_finite, "is_finite", {DType::i32, {1}});
  need_type(in, update::count, "count", {DType::i64, {settings[0]}});
  const UpdateOperands operands(in.node);
  check_parameters(in, operands);
  return operands;
}

}  // namespace

std::vector<TensorType> check_update(const OpInputs& in, size_t own_settings) {
  const UpdateOperands operands = check_operands(in, own_settings);
  if (in.has(update::norms)) {
    need_type(in, update::norms, "norms", {DType::f32, {in.shape(update::norms).elements()}});
    check_places(in, operands, in.shape(update::norms).elements() / 2);
  }
  return {};
}

std::vector<TensorType> check_norms(const OpInputs& in, size_t own_settings) {
  const UpdateOperands operands = check_operands(in, own_settings);
  const int64_t total = in.node.attributes.integer("total");
  const TensorType norms{DType::f32, {2 * total}};
  need_type(in, update::norms, "norms", norms);
  check_places(in, operands, total);
  return {norms};
}

}  // namespace troika
