// Datasets of images and labels in IDX files.
#pragma once

#include <memory>
#include <string>

#include "data/idx.h"
#include "data/image_dataset.h"

namespace troika {

// `images` [n, h, w] or [n, c, h, w] with `labels` [n]. Errors: CORRUPT, INVALID_ARGUMENT.
std::shared_ptr<const Dataset> create_idx(IdxArray images, IdxArray labels, const ImageTransform& transform);

// Opens two files. Without a path of labels, samples have no targets. Errors: NOT_FOUND, IO,
// CORRUPT, INVALID_ARGUMENT, OUT_OF_MEMORY.
std::shared_ptr<const Dataset> open_idx(const std::string& images_path, const std::string& labels_path,
                                        const ImageTransform& transform);

}  // namespace troika
