// Converts pixels.
#include "data/image_dataset.h"

#include <algorithm>

#include "core/error.h"
#include "core/text.h"
#include "data/byte_values.h"

namespace troika {
namespace {

constexpr const char* kTransform = "image transform";

void check_side(int64_t pixels, const char* name) {
  if (pixels < 1 || pixels > kMaxImageSide)
    throw Error(Status::invalid_argument, text(kTransform, ": ", name, " is ", pixels, ", need 1 to ", kMaxImageSide));
}

// Returns the shape of a sample for images [n, c, h, w].
Shape transformed_shape(const Shape& images, const ImageTransform& transform) {
  if (transform.resize_height == 0 && transform.resize_width == 0) return {images[1], images[2], images[3]};
  check_side(transform.resize_height, "resize_height");
  check_side(transform.resize_width, "resize_width");
  return {images[1], transform.resize_height, transform.resize_width};
}

int64_t count_classes(const std::vector<uint8_t>& labels) {
  return labels.empty() ? 0 : int64_t{*std::max_element(labels.begin(), labels.end())} + 1;
}

}  // namespace

void check_values(const ImageTransform& transform) { byte_values(transform.mean, transform.std, kTransform); }

ImageDataset::ImageDataset(LabeledImages images, const ImageTransform& transform)
    : Dataset(SampleForm{.shape = transformed_shape(images.shape, transform),
                         .classes = count_classes(images.labels),
                         .label_size = images.labels.empty() && images.shape[0] > 0 ? 0 : 1},
              images.shape[0]),
      pixels_(std::move(images.pixels)),
      labels_(std::move(images.labels)),
      channels_(images.shape[1]),
      plane_(images.shape[2] * images.shape[3]),
      value_of_pixel_(byte_values(transform.mean, transform.std, kTransform)) {
  const Shape& out = sample_shape();
  if (images.shape[2] != out[1] || images.shape[3] != out[2])
    resize_.emplace(images.shape[2], images.shape[3], out[1], out[2]);
}

void ImageDataset::read(const int64_t* indices, int64_t n, void* inputs, int32_t* labels, float*) const {
  auto* const floats = static_cast<float*>(inputs);
  const int64_t out_plane = sample_elements() / channels_;
  for (int64_t i = 0; i < n; ++i) {
    const int64_t sample = indices[i];
    if (labels && has_labels()) labels[i] = labels_[static_cast<size_t>(sample)];
    for (int64_t c = 0; floats && c < channels_; ++c) {
      const uint8_t* const pixels = pixels_.data() + (sample * channels_ + c) * plane_;
      float* const out = floats + (i * channels_ + c) * out_plane;
      if (resize_)
        resize_->resize(pixels, value_of_pixel_.data(), out);
      else
        for (int64_t p = 0; p < plane_; ++p) out[p] = value_of_pixel_[pixels[p]];
    }
  }
}

std::optional<ByteSamples> ImageDataset::byte_samples() const {
  if (resize_) return std::nullopt;
  return ByteSamples{pixels_.data(), value_of_pixel_.data()};
}

}  // namespace troika
