// Finds the files of a known set of images in a directory.
#pragma once

#include <memory>
#include <string>

#include "data/image_dataset.h"

namespace troika {

// Opens `split`, "train" or "test", of the IDX files of MNIST and its relatives, or of the binary
// files of CIFAR-10 or CIFAR-100. The files have the names of the publishers, plain or with ".gz".
// Errors: NOT_FOUND, IO, CORRUPT, INVALID_ARGUMENT, OUT_OF_MEMORY.
std::shared_ptr<const Dataset> open_image_directory(const std::string& directory, const std::string& split,
                                                    const ImageTransform& transform);

}  // namespace troika
