// The table of random numbers and the windows on it.
#include "data/synthetic_dataset.h"

#include <algorithm>

#include "core/error.h"
#include "core/random.h"
#include "core/text.h"

namespace troika {
namespace {

constexpr int64_t kTableSize = int64_t{1} << 16;
constexpr uint64_t kTableStream = 0, kNoiseStream = 1;  // high words of Philox's counter

std::vector<float> make_table(uint64_t seed) {
  std::vector<float> table(static_cast<size_t>(kTableSize));
  for (size_t i = 0; i < table.size(); i += 4) {
    const auto bits = philox(seed, i / 4, kTableStream);
    for (size_t j = 0; j < 4; ++j) table[i + j] = 2.0f * to_unit_float(bits[j]) - 1.0f;
  }
  return table;
}

int64_t check_classes(int32_t classes) {
  if (classes < 1) throw Error(Status::invalid_argument, text("dataset: classes is ", classes, ", need at least 1"));
  return classes;
}

}  // namespace

SyntheticDataset::SyntheticDataset(Shape sample_shape, int64_t n, int32_t classes, uint64_t seed)
    : Dataset(std::move(sample_shape), n, std::min(n, check_classes(classes)), 0),
      labels_(classes),
      seed_(seed),
      table_(make_table(seed)) {}

void SyntheticDataset::read(const int64_t* indices, int64_t n, void* inputs, int32_t* labels, float*) const {
  for (int64_t i = 0; i < n; ++i) {
    const int64_t label = indices[i] % labels_;
    if (labels) labels[i] = static_cast<int32_t>(label);
    if (inputs) read_sample(indices[i], label, static_cast<float*>(inputs) + i * sample_elements());
  }
}

void SyntheticDataset::read_sample(int64_t sample, int64_t label, float* out) const {
  const auto bits = philox(seed_, static_cast<uint64_t>(sample), kNoiseStream);
  // An odd factor assigns the first 65,536 labels windows of their own.
  int64_t centre = label * 40503 % kTableSize;
  int64_t noise = bits[0] % kTableSize;
  const float amount = 0.25f + 0.25f * to_unit_float(bits[1]);
  for (int64_t done = 0; done < sample_elements();) {
    const int64_t run = std::min({sample_elements() - done, kTableSize - centre, kTableSize - noise});
    const float* const a = table_.data() + centre;
    const float* const b = table_.data() + noise;
    for (int64_t i = 0; i < run; ++i) out[done + i] = 0.5f * a[i] + amount * b[i];
    done += run;
    centre = (centre + run) % kTableSize;
    noise = (noise + run) % kTableSize;
  }
}

}  // namespace troika
