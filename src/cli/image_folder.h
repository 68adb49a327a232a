// Pictures: FOLDER/train/CLASS/PICTURE and FOLDER/test/CLASS/PICTURE; or a user's own to predict.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/client.h"

namespace troika::cli {

struct PictureOptions {
  int resize = 0;  // above 0: pictures become resize x resize
  double mean = 0, std = 1;
  int64_t limit = 0;  // above 0: only the first samples
};

// The size of images. Channels 0: not known.
struct ImageForm {
  int64_t channels = 0, height = 0, width = 0;
};

// Whether a folder has a folder `train` or `test`.
bool is_image_folder(const std::string& folder);

// Whether it has a folder `train`.
bool has_training_pictures(const std::string& folder);

// Whether pictures are in the folder itself, next to no file of MNIST or CIFAR.
bool is_flat_picture_folder(const std::string& folder);

struct ImageFolder {
  Dataset dataset;                   // f32 [c, h, w], in the order of class names and file names
  std::vector<std::string> classes;  // folders in FOLDER/train, by name
  std::vector<std::string> files;    // of the samples, as seen from FOLDER: "train/cat/1.png"
};

// Reads the pictures of `split`, "train" or "test". All have the channels of the first training
// picture, and its size too unless they are resized. Throws Failure, which names the file.
ImageFolder open_image_folder(const Context& context, const std::string& folder, const char* split,
                              const PictureOptions& options);

// A user's own pictures.
struct OwnPictures {
  Dataset dataset;                  // without targets
  std::vector<std::string> files;   // of the samples, as seen from the folder: "1.png"
  std::vector<std::string> labels;  // the folders that they are in; empty: they are in none
};

// Reads one picture, those of a folder, or those of FOLDER/test/CLASS. All have the channels of
// `form` and, unless they are resized, its size. If `form` is not known, it is that of the first
// picture. `classes` may be empty: no class is refused. Throws Failure, which names the file.
OwnPictures open_own_pictures(const Context& context, const std::string& path, const ImageForm& form,
                              const std::vector<std::string>& classes, const PictureOptions& options);

}  // namespace troika::cli
