// The option --augment: images of the training set that change at random in each epoch.
#pragma once

#include <string>

#include "cli/client.h"
#include "cli/command_line.h"

namespace troika::cli {

struct Augmentation {
  bool flip = false;  // left to right
  int crop = 0;       // pixels
};

void add_augmentation_option(const Command& command, std::string& names);

// Reads "none" or a list such as "flip,crop=2". Throws Failure for anything else.
Augmentation parse_augmentation(const std::string& names);

// Throws Failure unless samples are images whose sides are above the crop. `names` is the option.
void check_augmentation(const std::string& names, const troika_dataset_info& samples);

}  // namespace troika::cli
