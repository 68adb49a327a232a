// Checks images against labels, finds MNIST's files, and converts pixels.
#include "data/idx_dataset.h"

#include <algorithm>
#include <filesystem>

#include "core/error.h"
#include "core/path.h"
#include "core/text.h"
#include "data/byte_values.h"

namespace troika {
namespace {

// Returns the shape of a sample, [c, h, w], for the shape of the file's images.
Shape image_shape(const Shape& images) {
  if (images.rank() != 3 && images.rank() != 4)
    throw Error(Status::corrupt, text("idx images: shape is ", images, ", need [n, h, w] or [n, c, h, w]"));
  for (int axis = 1; axis < images.rank(); ++axis)
    if (images[axis] < 1 || images[axis] > kMaxImageSide)
      throw Error(Status::corrupt,
                  text("idx images: shape is ", images, ", need sizes of 1 to ", kMaxImageSide, " in an image"));
  return images.rank() == 3 ? Shape{1, images[1], images[2]} : Shape{images[1], images[2], images[3]};
}

void check_side(int64_t pixels, const char* name) {
  if (pixels < 1 || pixels > kMaxImageSide)
    throw Error(Status::invalid_argument,
                text("image transform: ", name, " is ", pixels, ", need 1 to ", kMaxImageSide));
}

Shape transformed_shape(const Shape& images, const ImageTransform& transform) {
  Shape shape = image_shape(images);
  if (transform.resize_height == 0 && transform.resize_width == 0) return shape;
  check_side(transform.resize_height, "resize_height");
  check_side(transform.resize_width, "resize_width");
  return {shape[0], transform.resize_height, transform.resize_width};
}

int64_t check_labels(const IdxArray& images, const IdxArray& labels) {
  if (labels.shape.rank() != 1) throw Error(Status::corrupt, text("idx labels: shape is ", labels.shape, ", need [n]"));
  if (labels.shape[0] != images.shape[0])
    throw Error(Status::corrupt, text("idx: ", images.shape[0], " images but ", labels.shape[0], " labels"));
  return labels.elements.empty() ? 0 : int64_t{*std::max_element(labels.elements.begin(), labels.elements.end())} + 1;
}

}  // namespace

IdxDataset::IdxDataset(IdxArray images, IdxArray labels, const ImageTransform& transform)
    : Dataset(transformed_shape(images.shape, transform), images.shape[0], check_labels(images, labels), 0),
      images_(std::move(images.elements)),
      labels_(std::move(labels.elements)),
      value_of_pixel_(byte_values(transform.mean, transform.std, "image transform")) {
  const Shape in = image_shape(images.shape);
  const Shape& out = sample_shape();
  channels_ = in[0];
  plane_ = in[1] * in[2];
  if (in != out) resize_.emplace(in[1], in[2], out[1], out[2]);
}

void IdxDataset::read(const int64_t* indices, int64_t n, void* inputs, int32_t* labels, float*) const {
  auto* const floats = static_cast<float*>(inputs);
  const int64_t out_plane = sample_elements() / channels_;
  for (int64_t i = 0; i < n; ++i) {
    const int64_t sample = indices[i];
    if (labels) labels[i] = labels_[static_cast<size_t>(sample)];
    for (int64_t c = 0; floats && c < channels_; ++c) {
      const uint8_t* const pixels = images_.data() + (sample * channels_ + c) * plane_;
      float* const out = floats + (i * channels_ + c) * out_plane;
      if (resize_)
        resize_->resize(pixels, value_of_pixel_.data(), out);
      else
        for (int64_t p = 0; p < plane_; ++p) out[p] = value_of_pixel_[pixels[p]];
    }
  }
}

std::optional<ByteSamples> IdxDataset::byte_samples() const {
  if (resize_) return std::nullopt;
  return ByteSamples{images_.data(), value_of_pixel_.data()};
}

std::shared_ptr<const Dataset> open_idx(const std::string& images_path, const std::string& labels_path,
                                        const ImageTransform& transform) {
  byte_values(transform.mean, transform.std, "image transform");  // reports a wrong transform before files are read
  IdxArray images = read_idx(images_path);
  IdxArray labels = read_idx(labels_path);
  try {
    return std::make_shared<const IdxDataset>(std::move(images), std::move(labels), transform);
  } catch (const Error& e) {
    if (e.status() != Status::corrupt) throw;
    throw Error(e.status(), text(e.what(), "; images are '", images_path, "', labels '", labels_path, "'"));
  }
}

std::shared_ptr<const Dataset> open_idx_directory(const std::string& directory, const std::string& split,
                                                  const ImageTransform& transform) {
  if (split != "train" && split != "test")
    throw Error(Status::invalid_argument, text("split is '", split, "', need 'train' or 'test'"));
  const std::string prefix = split == "train" ? "train" : "t10k";
  const auto find = [&](const std::string& name) {
    const std::string plain = text_of(path_of(directory) / name);
    const std::string gzipped = plain + ".gz";
    std::error_code ignored;  // a file that cannot be examined counts as missing
    for (const std::string& path : {plain, gzipped})
      if (std::filesystem::exists(path_of(path), ignored)) return path;
    throw Error(Status::not_found, text("split '", split, "': there is neither '", plain, "' nor '", gzipped, "'"));
  };
  const std::string images = find(prefix + "-images-idx3-ubyte");
  const std::string labels = find(prefix + "-labels-idx1-ubyte");
  return open_idx(images, labels, transform);
}

}  // namespace troika
