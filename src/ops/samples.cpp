// sample_order and gather_samples: batches of a dataset that is stored in the device's memory.
#include "core/text.h"
#include "ops/op_def.h"

namespace troika {
namespace {

// Input: key i64 [1], a Sampler's. Attribute samples: the size of the dataset. Output: order i64
// [samples], the shuffled order.
std::vector<TensorType> infer_order(const OpInputs& in) {
  in.need_inputs(1, 1);
  if (in.types[0] != TensorType{DType::i64, {1}})
    in.fail(text("key is ", name_of(in.types[0].dtype), in.shape(0), ", needs i64[1]"));
  const int64_t samples = in.node.attributes.integer("samples");
  if (samples < 1) in.fail(text("samples is ", samples, ", needs at least 1"));
  return {{DType::i64, {samples}}};
}

bool is_element(DType dtype) { return dtype == DType::f32 || dtype == DType::i32; }

// Inputs: first i64 [1]; order i64 [samples], absent: 0, 1, 2 ...; samples u8, f32 or i32 [samples,
// ...]; values f32 or i32 [256], the number for each u8; targets i32 or f32 [samples, ...].
// Attributes: batch, offset. Outputs, one for samples and one for targets, if they are present: the
// rows order[first + offset + i] for i below batch. Samples of u8 get the type of values.
std::vector<TensorType> infer_gather(const OpInputs& in) {
  enum : size_t { first, order, samples, values, targets };
  in.need_inputs(3, 5);
  if (in.types[first] != TensorType{DType::i64, {1}})
    in.fail(text("first is ", name_of(in.types[first].dtype), in.shape(first), ", needs i64[1]"));
  if (!in.has(samples) && !in.has(targets)) in.fail("has neither samples nor targets, needs one");
  const size_t any = in.has(samples) ? samples : targets;
  const int64_t batch = in.node.attributes.integer("batch"), offset = in.node.attributes.integer("offset");
  if (batch < 0 || offset < 0 || in.shape(any).rank() < 1 || batch + offset > in.shape(any)[0])
    in.fail(text("batch is ", batch, " from ", offset, " on, samples have shape ", in.shape(any)));
  if (in.has(order) && in.types[order] != TensorType{DType::i64, {in.shape(any)[0]}})
    in.fail(text("order is ", name_of(in.types[order].dtype), in.shape(order), ", needs i64[", in.shape(any)[0], ']'));
  const bool is_bytes = in.has(samples) && in.types[samples].dtype == DType::u8;
  if (is_bytes != in.has(values) ||
      (is_bytes && (!is_element(in.types[values].dtype) || in.shape(values) != Shape{256})))
    in.fail("values are f32[256] or i32[256] with u8 samples, and absent with others");
  std::vector<TensorType> types;
  for (size_t i : {samples, targets}) {
    if (!in.has(i)) continue;
    std::vector<int64_t> dims = in.shape(i).dims();
    if (dims.empty() || dims[0] != in.shape(any)[0])
      in.fail(text("targets have shape ", in.shape(i), ", samples ", in.shape(any)));
    dims[0] = batch;
    const DType dtype = in.types[i == samples && is_bytes ? values : i].dtype;
    types.push_back({dtype, Shape(dims)});
    if (!is_element(dtype)) in.fail(text(i == samples ? "samples are " : "targets are ", name_of(in.types[i].dtype)));
  }
  return types;
}

}  // namespace

const OpDef sample_order_op{.name = "sample_order", .infer = infer_order, .traits = UtilityOp{}};
const OpDef gather_samples_op{.name = "gather_samples", .infer = infer_gather, .traits = UtilityOp{}};

}  // namespace troika
