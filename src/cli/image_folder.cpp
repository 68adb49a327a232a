// Lists the files, decodes them, and lends their pixels to the library.
#include "cli/image_folder.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <memory>
#include <optional>
#include <vector>

#include "cli/image_decoder.h"
#include "cli/text.h"
#include "core/bilinear_resize.h"
#include "core/path.h"

namespace troika::cli {
namespace {

constexpr const char* kTrain = "train";
constexpr const char* kTest = "test";

struct File {
  std::filesystem::path path;
  int32_t label;
};

// Returns the sorted names in a folder that `is_wanted`. Hidden ones are left out.
template <typename IsWanted>
std::vector<std::string> names_in(const std::filesystem::path& folder, IsWanted is_wanted) {
  std::vector<std::string> names;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    const std::string name = text_of(entry->path().filename());
    if (!name.starts_with('.') && is_wanted(entry->path())) names.push_back(name);
  }
  if (error) throw Failure("cannot read the folder '" + text_of(folder) + "': " + error.message());
  std::sort(names.begin(), names.end());
  return names;
}

bool is_folder(const std::filesystem::path& path) {
  std::error_code ignored;
  return std::filesystem::is_directory(path, ignored);
}

// `absence` ends the message for a folder of another class: "the run does not have".
std::vector<File> pictures_of(const std::filesystem::path& folder, const std::vector<std::string>& classes,
                              const std::string& absence) {
  std::vector<File> files;
  for (const std::string& name : names_in(folder, is_folder)) {
    const auto found = std::find(classes.begin(), classes.end(), name);
    if (found == classes.end()) throw Failure("'" + text_of(folder / path_of(name)) + "' is a class that " + absence);
    for (const std::string& file : names_in(folder / path_of(name), is_picture))
      files.push_back({folder / path_of(name) / path_of(file), static_cast<int32_t>(found - classes.begin())});
  }
  if (files.empty())
    throw Failure("'" + text_of(folder) + "' has no pictures; need CLASS/PICTURE, such as cat/1.png, in it");
  return files;
}

std::string shown(const ImageForm& form) {
  const int64_t dims[] = {form.channels, form.height, form.width};
  return as_shape(dims, 3);
}

ImageForm form_of(const Picture& picture) { return {picture.channels, picture.height, picture.width}; }

Picture resized(const Picture& picture, int64_t side) {
  if (picture.height == side && picture.width == side) return picture;
  static const std::array<float, 256> kValues = [] {
    std::array<float, 256> values;
    for (size_t p = 0; p < values.size(); ++p) values[p] = static_cast<float>(p);
    return values;
  }();
  const BilinearResize resize(picture.height, picture.width, side, side);
  Picture out{picture.channels, side, side, {}};
  std::vector<float> plane(static_cast<size_t>(side * side));
  for (int64_t c = 0; c < picture.channels; ++c) {
    resize.resize(picture.pixels.data() + c * picture.height * picture.width, kValues.data(), plane.data());
    for (const float value : plane) out.pixels.push_back(static_cast<uint8_t>(std::lround(value)));
  }
  return out;
}

Picture prepared(const std::filesystem::path& file, int64_t channels, const PictureOptions& options) {
  Picture picture = decode_picture(file, channels);
  return options.resize > 0 ? resized(picture, options.resize) : picture;
}

void need_decoder(const std::string& path, const char* kind) {
  if (!has_image_decoder())
    throw Failure("'" + path + "' is " + kind + ", which this troika cannot read: it was built without stb_image.h");
}

void limit_to(std::vector<File>& files, int64_t limit) {
  if (limit > 0 && limit < static_cast<int64_t>(files.size())) files.erase(files.begin() + limit, files.end());
}

// Returns the names of the files as seen from a folder.
std::vector<std::string> names_from(const std::filesystem::path& folder, const std::vector<File>& files) {
  std::vector<std::string> names;
  for (const File& file : files) {
    std::string name = text_of(file.path.lexically_relative(folder));
    std::replace(name.begin(), name.end(), static_cast<char>(std::filesystem::path::preferred_separator), '/');
    names.push_back(name);
  }
  return names;
}

// The memory that a dataset borrows.
struct Memory {
  std::vector<uint8_t> pixels;
  std::vector<int32_t> labels;
};

// Reads the files, which have the form once they are prepared. `of_form` is the owner of the form
// in messages, and `advice` ends them.
Dataset read_pictures(const Context& context, const std::vector<File>& files, const ImageForm& form,
                      const PictureOptions& options, bool has_labels, const std::string& of_form,
                      const std::string& advice) {
  auto memory = std::make_unique<Memory>();
  memory->pixels.reserve(files.size() * static_cast<size_t>(form.channels * form.height * form.width));
  for (const File& file : files) {
    const Picture picture = prepared(file.path, form.channels, options);
    if (picture.height != form.height || picture.width != form.width)
      throw Failure("'" + text_of(file.path) + "' is " + shown(form_of(picture)) + ", " + of_form + " " + shown(form) +
                    "; " + advice);
    memory->pixels.insert(memory->pixels.end(), picture.pixels.begin(), picture.pixels.end());
    memory->labels.push_back(file.label);
  }
  const int64_t dims[] = {form.channels, form.height, form.width};
  troika_arrays arrays = TROIKA_ARRAYS_INIT;
  arrays.dtype = TROIKA_DTYPE_U8;
  arrays.inputs = memory->pixels.data();
  arrays.dims = dims;
  arrays.rank = 3;
  arrays.n = static_cast<int64_t>(files.size());
  if (has_labels) arrays.targets = memory->labels.data();
  arrays.target_dtype = TROIKA_DTYPE_I32;
  arrays.mean = options.mean;
  arrays.std = options.std;
  arrays.borrow = 1;
  arrays.destroy = [](void* user) { delete static_cast<Memory*>(user); };
  arrays.user = memory.get();
  Dataset dataset;
  call(troika_dataset_create_from, context.get(), static_cast<const troika_arrays*>(&arrays), dataset.out());
  memory.release();
  return dataset;
}

// Returns the user's own pictures at a path.
std::vector<File> own_files(const std::string& path, const std::vector<std::string>& classes) {
  const std::filesystem::path place = path_of(path), test = place / kTest;
  if (is_folder(test))
    return classes.empty() ? pictures_of(test, names_in(test, is_folder), "")
                           : pictures_of(test, classes, "the run does not have; it has " + listed(classes));
  if (!is_folder(place)) return {{place, 0}};
  std::vector<File> files;
  for (const std::string& name : names_in(place, is_picture)) files.push_back({place / path_of(name), 0});
  return files;
}

// Whether the name is that of a file or folder of MNIST or CIFAR.
bool is_of_known_set(const std::string& name) {
  for (const char* ending : {"-ubyte", "-ubyte.gz", ".bin", ".bin.gz", "-bin", "-binary"})
    if (name.ends_with(ending)) return true;
  return false;
}

}  // namespace

bool is_image_folder(const std::string& folder) {
  return is_folder(path_of(folder) / kTrain) || is_folder(path_of(folder) / kTest);
}

bool has_training_pictures(const std::string& folder) { return is_folder(path_of(folder) / kTrain); }

bool is_flat_picture_folder(const std::string& folder) {
  const std::filesystem::path path = path_of(folder);
  if (!is_folder(path) || names_in(path, is_picture).empty()) return false;
  const std::vector<std::string> all = names_in(path, [](const std::filesystem::path&) { return true; });
  return std::none_of(all.begin(), all.end(), is_of_known_set);
}

ImageFolder open_image_folder(const Context& context, const std::string& folder, const char* split,
                              const PictureOptions& options) {
  need_decoder(folder, "a folder of pictures");
  for (const char* part : {kTrain, split})
    if (!is_folder(path_of(folder) / part))
      throw Failure(
          "'" + folder + "' has no folder " + part + "; need train/CLASS/PICTURE and test/CLASS/PICTURE in it",
          TROIKA_ERROR_NOT_FOUND);
  const std::filesystem::path train = path_of(folder) / kTrain;
  const std::vector<std::string> classes = names_in(train, is_folder);
  const std::string absence = std::string("the folder ") + kTrain + " does not have";
  const std::vector<File> training = pictures_of(train, classes, absence);
  const std::filesystem::path& first = training.front().path;
  std::vector<File> files = pictures_of(path_of(folder) / path_of(split), classes, absence);
  limit_to(files, options.limit);
  const ImageForm form = form_of(prepared(first, 0, options));
  ImageFolder out;
  out.dataset = read_pictures(context, files, form, options, true, "'" + text_of(first) + "' is", "give --resize SIZE");
  out.classes = classes;
  out.files = names_from(path_of(folder), files);
  return out;
}

OwnPictures open_own_pictures(const Context& context, const std::string& path, const ImageForm& form,
                              const std::vector<std::string>& classes, const PictureOptions& options) {
  const std::filesystem::path place = path_of(path);
  need_decoder(path, is_folder(place) ? "a folder of pictures" : "a picture");
  std::vector<File> files = own_files(path, classes);
  limit_to(files, options.limit);
  const std::filesystem::path& first = files.front().path;
  ImageForm needed = form;
  std::string of_form = "the model reads", advice = "give pictures of that size";
  if (form.channels == 0) {
    needed = form_of(prepared(first, 0, options));
    of_form = "'" + text_of(first) + "' is";
    advice = "give --resize SIZE";
  } else if (options.resize > 0) {
    needed.height = needed.width = options.resize;  // the model may read other sizes than the run's
  } else if (form.height == form.width) {
    advice = formatted("give --resize %lld", static_cast<long long>(form.height));
  }
  OwnPictures out;
  out.dataset = read_pictures(context, files, needed, options, false, of_form, advice);
  out.files = names_from(is_folder(place) ? place : place.parent_path(), files);
  if (is_folder(place / kTest))
    for (const File& file : files) out.labels.push_back(text_of(file.path.parent_path().filename()));
  return out;
}

}  // namespace troika::cli
