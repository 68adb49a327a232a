// Checks images against labels.
#include "data/idx_dataset.h"

#include "core/error.h"
#include "core/text.h"

namespace troika {
namespace {

// Returns the shape [n, c, h, w] for the shape of the file's images.
Shape image_shape(const Shape& images) {
  if (images.rank() != 3 && images.rank() != 4)
    throw Error(Status::corrupt, text("idx images: shape is ", images, ", need [n, h, w] or [n, c, h, w]"));
  for (int axis = 1; axis < images.rank(); ++axis)
    if (images[axis] < 1 || images[axis] > kMaxImageSide)
      throw Error(Status::corrupt,
                  text("idx images: shape is ", images, ", need sizes of 1 to ", kMaxImageSide, " in an image"));
  return images.rank() == 3 ? Shape{images[0], 1, images[1], images[2]} : images;
}

void check_labels(const Shape& images, const Shape& labels) {
  if (labels.rank() != 1) throw Error(Status::corrupt, text("idx labels: shape is ", labels, ", need [n]"));
  if (labels[0] != images[0])
    throw Error(Status::corrupt, text("idx: ", images[0], " images but ", labels[0], " labels"));
}

}  // namespace

std::shared_ptr<const Dataset> create_idx(IdxArray images, IdxArray labels, const ImageTransform& transform) {
  Shape shape = image_shape(images.shape);
  check_labels(images.shape, labels.shape);
  return std::make_shared<const ImageDataset>(
      LabeledImages{std::move(shape), std::move(images.elements), std::move(labels.elements)}, transform);
}

std::shared_ptr<const Dataset> open_idx(const std::string& images_path, const std::string& labels_path,
                                        const ImageTransform& transform) {
  check_values(transform);
  IdxArray images = read_idx(images_path);
  const bool has_labels = !labels_path.empty();
  IdxArray labels;
  if (has_labels) labels = read_idx(labels_path);
  try {
    if (has_labels) return create_idx(std::move(images), std::move(labels), transform);
    LabeledImages alone{image_shape(images.shape), std::move(images.elements), {}};
    return std::make_shared<const ImageDataset>(std::move(alone), transform);
  } catch (const Error& e) {
    if (e.status() != Status::corrupt) throw;
    throw Error(e.status(), text(e.what(), "; images are '", images_path, "'") +
                                (has_labels ? text(", labels '", labels_path, "'") : ""));
  }
}

}  // namespace troika
