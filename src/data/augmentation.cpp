// Shifts and mirrors images.
#include "data/augmentation.h"

#include <algorithm>
#include <array>

#include "core/error.h"
#include "core/random.h"
#include "core/text.h"

namespace troika {
namespace {

// Returns a number in [0, n) for 32 random bits.
int64_t to_number_below(int64_t n, uint32_t bits) {
  return static_cast<int64_t>(uint64_t{bits} * static_cast<uint64_t>(n) >> 32);
}

// Returns the pixel for a place up to `size - 1` beyond an edge: the edge is a mirror, and is not
// repeated.
int64_t reflect(int64_t place, int64_t size) {
  if (place < 0) return -place;
  return place < size ? place : 2 * (size - 1) - place;
}

uint64_t digest_of(const LoaderOptions& options) {
  const uint64_t flip_and_crop = uint64_t{options.flip} | static_cast<uint64_t>(options.crop) << 1;
  const auto bits = philox(options.seed, flip_and_crop, hash_name("augmentation"));
  return uint64_t{bits[1]} << 32 | bits[0];
}

}  // namespace

Augmentation::Augmentation(const SampleForm& form, const LoaderOptions& options)
    : flip_(options.flip), crop_(options.crop), digest_(digest_of(options)) {
  const char* const name = flip_ ? "flip" : "crop";
  if (form.dtype != DType::f32 || form.shape.rank() != 3)
    throw Error(Status::invalid_argument, text("loader: ", name, " is set, the samples are ", name_of(form.dtype), " ",
                                               form.shape, ", need f32 [c, h, w]"));
  channels_ = form.shape[0];
  height_ = form.shape[1];
  width_ = form.shape[2];
  if (crop_ < 0 || (crop_ > 0 && crop_ >= std::min(height_, width_)))
    throw Error(Status::invalid_argument, text("loader: crop is ", crop_, ", need 0 to ", std::min(height_, width_) - 1,
                                               " for samples of ", form.shape));
  columns_.resize(static_cast<size_t>(width_));
  plane_.resize(static_cast<size_t>(height_ * width_));
}

uint64_t Augmentation::key_of(uint64_t seed, int64_t epoch) {
  const auto bits = philox(seed, static_cast<uint64_t>(epoch), hash_name("augment"));
  return uint64_t{bits[1]} << 32 | bits[0];
}

void Augmentation::apply(uint64_t key, int64_t position, float* sample) {
  const auto bits = philox(key, static_cast<uint64_t>(position), 0);
  const bool is_mirrored = flip_ && bits[0] >> 31 != 0;
  const int64_t down = to_number_below(2 * crop_ + 1, bits[1]) - crop_;
  const int64_t right = to_number_below(2 * crop_ + 1, bits[2]) - crop_;
  if (!is_mirrored && down == 0 && right == 0) return;
  for (int64_t x = 0; x < width_; ++x)
    columns_[static_cast<size_t>(x)] = reflect((is_mirrored ? width_ - 1 - x : x) + right, width_);
  for (int64_t c = 0; c < channels_; ++c) {
    float* const pixels = sample + c * height_ * width_;
    std::copy_n(pixels, height_ * width_, plane_.data());
    for (int64_t y = 0; y < height_; ++y) {
      const float* const row = plane_.data() + reflect(y + down, height_) * width_;
      for (int64_t x = 0; x < width_; ++x) pixels[y * width_ + x] = row[columns_[static_cast<size_t>(x)]];
    }
  }
}

}  // namespace troika
