// Reads the option, and compares it with the images.
#include "cli/augmentation.h"

#include <algorithm>
#include <charconv>

#include "cli/text.h"

namespace troika::cli {
namespace {

constexpr const char* kOption = "--augment";
constexpr const char* kNone = "none";
constexpr const char* kCrop = "crop";
constexpr int kDefaultCrop = 4;  // as usual for images of 32 x 32
constexpr const char* kAllowed = "none, flip, crop, crop=PIXELS, or flip and a crop with a comma";

// Returns the pixels of "crop" or "crop=N"; 0 if the name is neither.
int crop_of(const std::string& name) {
  if (name == kCrop) return kDefaultCrop;
  const std::string prefix = std::string(kCrop) + "=";
  if (!name.starts_with(prefix)) return 0;
  int pixels = 0;
  const char* const end = name.data() + name.size();
  const auto [rest, error] = std::from_chars(name.data() + prefix.size(), end, pixels);
  return error == std::errc() && rest == end && pixels > 0 ? pixels : 0;
}

}  // namespace

void add_augmentation_option(const Command& command, std::string& names) {
  command.option(kOption, names,
                 "How training images change at random in each epoch: none, or a list of flip (left to right) and crop "
                 "(shifts by up to 4 pixels; crop=N: by up to N)",
                 "LIST");
}

Augmentation parse_augmentation(const std::string& names) {
  Augmentation augmentation;
  if (names == kNone) return augmentation;
  for (const std::string& name : split(names, ',')) {
    const bool is_flip = name == "flip";
    const int crop = crop_of(name);
    if (is_flip ? augmentation.flip : crop == 0 || augmentation.crop > 0) refuse_value(kOption, names, kAllowed);
    if (is_flip)
      augmentation.flip = true;
    else
      augmentation.crop = crop;
  }
  return augmentation;
}

void check_augmentation(const std::string& names, const troika_dataset_info& samples) {
  const Augmentation augmentation = parse_augmentation(names);
  if (!augmentation.flip && augmentation.crop == 0) return;
  if (samples.dtype != TROIKA_DTYPE_F32) throw Failure(std::string(kOption) + " is for images, --data is a text");
  if (samples.rank != 3)
    throw Failure(std::string(kOption) + " is for images of channels x height x width, samples are " +
                  as_shape(samples.dims, samples.rank));
  const auto most = static_cast<int>(std::min(samples.dims[1], samples.dims[2])) - 1;
  if (augmentation.crop > most)
    refuse_value(kOption, names,
                 formatted("a crop of at most %d, below the sides of images of %s", most,
                           as_shape(samples.dims, samples.rank).c_str()));
}

}  // namespace troika::cli
