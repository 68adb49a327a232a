// A user's own images to predict, without a training set next to them: pictures, or IDX images
// without labels.
#pragma once

#include <string>
#include <vector>

#include "cli/data_source.h"
#include "cli/image_folder.h"

namespace troika::cli {

struct OwnImages {
  enum class Kind { none, pictures, idx };

  Kind kind = Kind::none;
  std::string path;        // of the picture, the folder of pictures, or the IDX file
  std::string what;        // "is a picture": for messages
  bool has_split = false;  // there are images to train on too, so --split has a meaning

  explicit operator bool() const { return kind != Kind::none; }
};

// Finds own images in --data. Kind `none`: the data have training samples, or are no images.
OwnImages find_own_images(const DataOptions& options, Split split);

// Reads own images, without labels. `form` is of the images that the model reads. `class_names` are
// those of the model, if it has names: folders of other classes are refused.
Samples open_own_images(const Context& context, const OwnImages& images, const DataOptions& options,
                        const ImageForm& form, const std::vector<std::string>& class_names);

}  // namespace troika::cli
