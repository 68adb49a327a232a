// embedding: y[n, :] = weight[token[n], :], and its gradient, the sum of dy over a word's tokens.
#include "conformance/reference/reference.h"

namespace troika {
namespace {

void embedding(const Node&, const ReferenceInputs& in, const ReferenceOutputs& out) {
  const Array &tokens = *in[0], &weight = *in[1];
  const int64_t features = weight.shape[1];
  for (int64_t n = 0; n < tokens.elements(); ++n)
    for (int64_t k = 0; k < features; ++k) {
      const auto token = static_cast<int64_t>(tokens[n]);
      const bool is_word = token >= 0 && token < weight.shape[0];
      (*out[0])[n * features + k] = is_word ? weight[token * features + k] : 0;
    }
}

void embedding_gradient(const Node&, const ReferenceInputs& in, const ReferenceOutputs& out) {
  const Array &tokens = *in[0], &dy = *in[1];
  const int64_t features = out[0]->shape[1];
  for (int64_t n = 0; n < tokens.elements(); ++n)
    for (int64_t k = 0; k < features; ++k)
      if (const auto token = static_cast<int64_t>(tokens[n]); token >= 0 && token < out[0]->shape[0])
        (*out[0])[token * features + k] += dy[n * features + k];
}

}  // namespace

void add_embedding_references(ReferenceTable& table) {
  table["embedding"] = embedding;
  table["embedding_gradient"] = embedding_gradient;
}

}  // namespace troika
