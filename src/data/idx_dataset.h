// A dataset of u8 images in IDX files, kept as bytes in memory and converted when read.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data/bilinear_resize.h"
#include "data/dataset.h"
#include "data/idx.h"

namespace troika {

constexpr int64_t kMaxImageSide = 65535;  // pixels

struct ImageTransform {
  double mean = 0.0;  // pixel p becomes (p / 255 - mean) / std
  double std = 1.0;
  int64_t resize_height = 0;  // 0: the height in the file
  int64_t resize_width = 0;
};

class IdxDataset final : public Dataset {
 public:
  // `images` [n, h, w] or [n, c, h, w] with `labels` [n]; samples are f32 [c, h, w].
  IdxDataset(IdxArray images, IdxArray labels, const ImageTransform& transform);

  void read(const int64_t* indices, int64_t n, void* inputs, int32_t* labels, float* values) const override;
  std::optional<ByteSamples> byte_samples() const override;  // none with a resize

 private:
  std::vector<uint8_t> images_;
  std::vector<uint8_t> labels_;
  int64_t channels_;
  int64_t plane_;  // pixels of one channel in the file
  std::array<float, 256> value_of_pixel_;
  std::optional<BilinearResize> resize_;
};

// Opens two files. Errors: NOT_FOUND, IO, CORRUPT, INVALID_ARGUMENT, OUT_OF_MEMORY.
std::shared_ptr<const Dataset> open_idx(const std::string& images_path, const std::string& labels_path,
                                        const ImageTransform& transform);

// Opens the files of `split`, "train" or "test", in a directory. They have MNIST's names, plain or
// with ".gz".
std::shared_ptr<const Dataset> open_idx_directory(const std::string& directory, const std::string& split,
                                                  const ImageTransform& transform);

}  // namespace troika
