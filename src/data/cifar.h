// Reads the binary files of CIFAR-10 and CIFAR-100: records of labels and 3 x 32 x 32 pixels, and
// nothing else.
#pragma once

#include <string>
#include <vector>

#include "data/image_dataset.h"

namespace troika {

// A record has one byte per label and then the pixels. The last label is the image's class.
struct CifarFormat {
  int labels;   // of a record
  int classes;  // labels are below
};

constexpr CifarFormat kCifar10 = {1, 10};
constexpr CifarFormat kCifar100 = {2, 100};  // the coarse label, and the fine one

// Reads whole files, plain or gzipped, one after another. Errors: NOT_FOUND, IO, CORRUPT,
// OUT_OF_MEMORY.
LabeledImages read_cifar(const std::vector<std::string>& paths, const CifarFormat& format);

}  // namespace troika
