// A dataset of the caller's token sequences, held in memory.
#pragma once

#include <variant>
#include <vector>

#include "data/dataset.h"

namespace troika {

// Stored as they are passed: a byte stays a byte.
using Tokens = std::variant<std::vector<uint8_t>, std::vector<int32_t>>;

class TokenDataset final : public Dataset {
 public:
  // One stream, cut into windows of `steps` tokens, one after another. The label of a token is the
  // next token. Tokens at the end that fill no window are left out.
  TokenDataset(Tokens stream, int64_t steps);
  // Sequences `tokens` [n, steps], each with `label_size` labels: 1, or `steps`, one per token.
  // `ignored`: a label that need not be a class.
  TokenDataset(Tokens tokens, int64_t steps, std::vector<int32_t> labels, int64_t label_size,
               std::optional<int32_t> ignored);

  void read(const int64_t* indices, int64_t n, void* inputs, int32_t* labels, float* values) const override;
  std::optional<ByteSamples> byte_samples() const override;

 private:
  Tokens tokens_;
  std::vector<int32_t> labels_;  // empty: a stream's labels
};

}  // namespace troika
