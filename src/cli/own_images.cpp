// Recognizes a user's own images by their names, and opens them.
#include "cli/own_images.h"

#include <filesystem>

#include "cli/image_decoder.h"
#include "core/path.h"

namespace troika::cli {
namespace {

bool is_idx_images(const std::string& name) { return name.ends_with("idx3-ubyte") || name.ends_with("idx3-ubyte.gz"); }

// Returns the path of a file, plain or gzipped; empty: there is none.
std::string find_file(const std::filesystem::path& folder, const char* name) {
  std::error_code ignored;
  for (const std::string& path : {text_of(folder / name), text_of(folder / name) + ".gz"})
    if (std::filesystem::exists(path_of(path), ignored)) return path;
  return "";
}

OwnImages find_idx(const std::filesystem::path& folder, Split split) {
  const std::string train = find_file(folder, "train-images-idx3-ubyte"),
                    test = find_file(folder, "t10k-images-idx3-ubyte");
  const bool is_train = split == Split::train && !train.empty();
  const std::string& images = is_train ? train : test;
  if (images.empty() || !find_file(folder, is_train ? "train-labels-idx1-ubyte" : "t10k-labels-idx1-ubyte").empty())
    return {};
  return {OwnImages::Kind::idx, images, "has IDX images without labels", !train.empty()};
}

Dataset open_idx_images(const Context& context, const std::string& path, const DataOptions& options) {
  const troika_dataset_options transform = transforms_of(options);
  Dataset all;
  call(troika_dataset_open_idx, context.get(), path.c_str(), static_cast<const char*>(nullptr), &transform, all.out());
  troika_dataset_info info = TROIKA_DATASET_INFO_INIT;
  call(troika_dataset_describe, all.get(), &info);
  if (info.n == 0) throw Failure("'" + path + "' is empty; need at least 1 image");
  return options.limit_test > 0 && options.limit_test < info.n ? subset(all, 0, options.limit_test) : std::move(all);
}

}  // namespace

OwnImages find_own_images(const DataOptions& options, Split split) {
  using Kind = OwnImages::Kind;
  if (options.synthetic > 0 || options.directory.empty()) return {};
  const std::string& path = options.directory;
  std::error_code ignored;
  if (!std::filesystem::is_directory(path_of(path), ignored)) {
    if (is_picture(path_of(path))) return {Kind::pictures, path, "is a picture"};
    if (options.is_text() && is_idx_images(path)) return {Kind::idx, path, "is a file of images"};
    return {};
  }
  if (has_training_pictures(path)) return {};
  if (is_image_folder(path)) return {Kind::pictures, path, "has no folder train"};
  if (const OwnImages idx = find_idx(path_of(path), split)) return idx;
  if (is_flat_picture_folder(path)) return {Kind::pictures, path, "is a folder of pictures"};
  return {};
}

Samples open_own_images(const Context& context, const OwnImages& images, const DataOptions& options,
                        const ImageForm& form, const std::vector<std::string>& class_names) {
  check_data(options);
  const PictureOptions preparation{options.resize, options.mean, options.std, options.limit_test};
  Samples samples;
  if (images.kind == OwnImages::Kind::idx) {
    samples.dataset = open_idx_images(context, images.path, options);
  } else {
    OwnPictures pictures = open_own_pictures(context, images.path, form, class_names, preparation);
    samples.dataset = std::move(pictures.dataset);
    samples.files = std::move(pictures.files);
    samples.folders = std::move(pictures.labels);
  }
  call(troika_dataset_describe, samples.dataset.get(), &samples.info);
  samples.info.classes = 1;  // no labels need any: the weights have the number
  return samples;
}

}  // namespace troika::cli
