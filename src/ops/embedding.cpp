// embedding: looks up each token's row of a table, [n, ...] x [words, features] -> [n, ...,
// features].
#include "ops/embedding.h"

#include "core/text.h"
#include "ops/op_def.h"

namespace troika {
namespace {

// Inputs: tokens, i32 or whole numbers in f32; weight. A token outside [0, words) gets a row of
// zeros. No step is fed such a token in i32.
std::vector<TensorType> infer(const OpInputs& in) {
  in.need_inputs(embedding::kInputs, embedding::kInputs);
  const TensorType &tokens = in.types[embedding::tokens], &weight = in.types[embedding::weight];
  if ((tokens.dtype != DType::i32 && tokens.dtype != DType::f32) || tokens.shape.rank() < 1)
    in.fail(text("tokens are ", name_of(tokens.dtype), tokens.shape, ", needs i32[batch, ...] or f32[batch, ...]"));
  if (weight.shape.rank() != 2 || weight.shape[0] < 1 || weight.shape[1] < 1)
    in.fail(text("weight has shape ", weight.shape, ", needs [words, features]"));
  std::vector<int64_t> dims = tokens.shape.dims();
  dims.push_back(weight.shape[1]);
  return {{weight.dtype, Shape(std::move(dims))}};
}

std::vector<ValueId> gradient(GradientBuilder& b, const Node& node, const std::vector<ValueId>& dy) {
  std::vector<ValueId> gradients(embedding::kInputs, kNoValue);
  if (b.needs(node.inputs[embedding::weight]))
    gradients[embedding::weight] = b.append(embedding_gradient_op, node, {node.inputs[embedding::tokens], dy[0]},
                                            {{"words", b.type(node.inputs[embedding::weight]).shape[0]}});
  return gradients;
}

// Attribute words. Output: dweight f32 [words, features]. A word's row is the sum of dy over its
// tokens in their order: the same bits on every device and for any number of threads.
std::vector<TensorType> infer_gradient(const OpInputs& in) {
  in.need_inputs(embedding_gradient::kInputs, embedding_gradient::kInputs);
  const Shape &tokens = in.shape(embedding_gradient::tokens), &dy = in.shape(embedding_gradient::dy);
  if (dy.rank() != tokens.rank() + 1 || dy.elements(0, tokens.rank()) != tokens.elements())
    in.fail(text("dy has shape ", dy, ", tokens ", tokens));
  return {{DType::f32, {in.node.attributes.integer("words"), dy[tokens.rank()]}}};
}

}  // namespace

const OpDef embedding_op{.name = "embedding",
                         .infer = infer,
                         .gradient = gradient,
                         .traits = LayerOp{.channels = always<ChannelRule::lookup>,
                                           .reach = Reach::whole,
                                           .fuses_relu = false,
                                           .inference = InferenceForm{},
                                           .low = LowPrecision{true, {embedding::tokens}, false, {embedding::tokens}},
                                           .has_product = false}};
const OpDef embedding_gradient_op{.name = "embedding_gradient",
                                  .infer = infer_gradient,
                                  .traits = GradientOp{.is_of_weights = true, .has_product = false}};

}  // namespace troika
