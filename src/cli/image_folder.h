// A folder of pictures: FOLDER/train/CLASS/PICTURE and FOLDER/test/CLASS/PICTURE.
#pragma once

#include <cstdint>
#include <string>

#include "cli/client.h"

namespace troika::cli {

struct PictureOptions {
  int resize = 0;  // above 0: pictures become resize x resize
  double mean = 0, std = 1;
  int64_t limit = 0;  // above 0: only the first samples
};

// Whether a folder has a folder `train` or `test`.
bool is_image_folder(const std::string& folder);

struct ImageFolder {
  Dataset dataset;      // f32 [c, h, w], in the order of class names and file names
  int64_t classes = 0;  // folders in FOLDER/train, by name
};

// Reads the pictures of `split`, "train" or "test". All have the channels of the first training
// picture, and its size too unless they are resized. Throws Failure, which names the file.
ImageFolder open_image_folder(const Context& context, const std::string& folder, const char* split,
                              const PictureOptions& options);

}  // namespace troika::cli
