// A dataset of token sequences that the caller gave, held in memory.
#pragma once

#include <variant>
#include <vector>

#include "data/dataset.h"

namespace troika {

// Held as they were given: a byte stays a byte.
using Tokens = std::variant<std::vector<uint8_t>, std::vector<int32_t>>;

class TokenDataset final : public Dataset {
 public:
  // One stream, cut into windows of `steps` tokens one after the other. The label of a token is the
  // next token. What is left at the end makes no window.
  TokenDataset(Tokens stream, int64_t steps);
  // Sequences `tokens` [n, steps], each with `label_size` labels: 1, or `steps`, one for each
  // token. `ignored`: what a label may be besides a class.
  TokenDataset(Tokens tokens, int64_t steps, std::vector<int32_t> labels, int64_t label_size,
               std::optional<int32_t> ignored);

  void read(const int64_t* indices, int64_t n, void* inputs, int32_t* labels, float* values) const override;
  std::optional<ByteSamples> byte_samples() const override;

 private:
  Tokens tokens_;
  std::vector<int32_t> labels_;  // empty: those of a stream
};

}  // namespace troika
