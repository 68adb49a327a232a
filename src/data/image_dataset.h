// A dataset of u8 images with one label each, or without labels. Images are kept as bytes in
// memory, and converted when they are read.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "core/bilinear_resize.h"
#include "data/dataset.h"

namespace troika {

constexpr int64_t kMaxImageSide = 65535;  // pixels

struct ImageTransform {
  double mean = 0.0;  // pixel p becomes (p / 255 - mean) / std
  double std = 1.0;
  int64_t resize_height = 0;  // 0: the height in the file
  int64_t resize_width = 0;
};

// INVALID_ARGUMENT if the mean or the std cannot be. Called before files are read.
void check_values(const ImageTransform& transform);

// Images and their labels.
struct LabeledImages {
  Shape shape;  // [n, c, h, w]
  std::vector<uint8_t> pixels;
  std::vector<uint8_t> labels;  // [n], or empty: none
};

class ImageDataset final : public Dataset {
 public:
  // Samples are f32 [c, h, w].
  ImageDataset(LabeledImages images, const ImageTransform& transform);

  void read(const int64_t* indices, int64_t n, void* inputs, int32_t* labels, float* values) const override;
  std::optional<ByteSamples> byte_samples() const override;  // none with a resize

 private:
  std::vector<uint8_t> pixels_;
  std::vector<uint8_t> labels_;
  int64_t channels_;
  int64_t plane_;  // pixels of one channel before a resize
  std::array<float, 256> value_of_pixel_;
  std::optional<BilinearResize> resize_;
};

}  // namespace troika
