// Checks, holds and copies tokens.
#include "data/token_dataset.h"

#include <algorithm>

#include "core/error.h"
#include "core/text.h"
#include "data/byte_values.h"

namespace troika {
namespace {

int64_t count_of(const Tokens& tokens) {
  return std::visit([](const auto& elements) { return static_cast<int64_t>(elements.size()); }, tokens);
}

// Returns the largest token + 1.
int64_t count_words(const Tokens& tokens) {
  return std::visit(
      [](const auto& elements) {
        int64_t words = 0;
        for (size_t i = 0; i < elements.size(); ++i) {
          if (int64_t{elements[i]} < 0)
            throw Error(Status::invalid_argument,
                        text("dataset: token ", i, " is ", int64_t{elements[i]}, ", need at least 0"));
          words = std::max(words, int64_t{elements[i]} + 1);
        }
        return words;
      },
      tokens);
}

int64_t count_classes(const std::vector<int32_t>& labels, std::optional<int32_t> ignored) {
  int64_t classes = 0;
  for (size_t i = 0; i < labels.size(); ++i) {
    if (labels[i] == ignored) continue;
    if (labels[i] < 0)
      throw Error(Status::invalid_argument, text("dataset: label ", i, " is ", labels[i], ", need at least 0",
                                                 ignored ? text(", or ", *ignored, " to be ignored") : ""));
    classes = std::max(classes, int64_t{labels[i]} + 1);
  }
  return classes;
}

SampleForm form_of(const Tokens& tokens, int64_t steps) {
  if (steps < 1) throw Error(Status::invalid_argument, text("dataset: steps is ", steps, ", need at least 1"));
  return {.shape = {steps}, .dtype = DType::i32, .words = count_words(tokens)};
}

SampleForm stream_form(const Tokens& stream, int64_t steps) {
  SampleForm form = form_of(stream, steps);
  form.classes = form.words;
  form.label_size = steps;
  return form;
}

SampleForm labelled_form(const Tokens& tokens, int64_t steps, const std::vector<int32_t>& labels, int64_t label_size,
                         std::optional<int32_t> ignored) {
  SampleForm form = form_of(tokens, steps);
  if (label_size != 1 && label_size != steps)
    throw Error(Status::invalid_argument, text("dataset: label_size is ", label_size, ", need 1 or ", steps));
  form.classes = count_classes(labels, ignored);
  form.label_size = label_size;
  form.ignored = ignored;
  return form;
}

template <typename T>
void copy(const std::vector<T>& from, int64_t first, int64_t n, int32_t* to) {
  std::copy_n(from.data() + first, n, to);
}

}  // namespace

TokenDataset::TokenDataset(Tokens stream, int64_t steps)
    : Dataset(stream_form(stream, steps), std::max<int64_t>(count_of(stream) - 1, 0) / steps),
      tokens_(std::move(stream)) {}

TokenDataset::TokenDataset(Tokens tokens, int64_t steps, std::vector<int32_t> labels, int64_t label_size,
                           std::optional<int32_t> ignored)
    : Dataset(labelled_form(tokens, steps, labels, label_size, ignored), count_of(tokens) / steps),
      tokens_(std::move(tokens)),
      labels_(std::move(labels)) {
  if (count_of(tokens_) != size() * steps || static_cast<int64_t>(labels_.size()) != size() * label_size)
    throw Error(Status::invalid_argument,
                text("dataset: there are ", count_of(tokens_), " tokens in sequences of ", steps, " and ",
                     labels_.size(), " labels, need ", label_size, " for each sequence"));
}

void TokenDataset::read(const int64_t* indices, int64_t n, void* inputs, int32_t* labels, float*) const {
  const int64_t steps = sample_elements();
  auto* const tokens = static_cast<int32_t*>(inputs);
  std::visit(
      [&](const auto& held) {
        for (int64_t i = 0; i < n; ++i) {
          const int64_t first = indices[i] * steps;
          if (tokens) copy(held, first, steps, tokens + i * steps);
          if (labels && labels_.empty()) copy(held, first + 1, steps, labels + i * steps);
        }
      },
      tokens_);
  if (!labels || labels_.empty()) return;
  for (int64_t i = 0; i < n; ++i) copy(labels_, indices[i] * label_size(), label_size(), labels + i * label_size());
}

std::optional<ByteSamples> TokenDataset::byte_samples() const {
  const auto* const bytes = std::get_if<std::vector<uint8_t>>(&tokens_);
  if (!bytes) return std::nullopt;
  return ByteSamples{bytes->data(), byte_tokens().data()};
}

}  // namespace troika
