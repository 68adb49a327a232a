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

std::vector<File> pictures_of(const std::filesystem::path& folder, const std::vector<std::string>& classes) {
  std::vector<File> files;
  for (const std::string& name : names_in(folder, is_folder)) {
    const auto found = std::find(classes.begin(), classes.end(), name);
    if (found == classes.end())
      throw Failure("'" + text_of(folder / path_of(name)) + "' is a class that the folder " + kTrain +
                    " does not have");
    for (const std::string& file : names_in(folder / path_of(name), is_picture))
      files.push_back({folder / path_of(name) / path_of(file), static_cast<int32_t>(found - classes.begin())});
  }
  if (files.empty())
    throw Failure("'" + text_of(folder) + "' has no pictures; need CLASS/PICTURE, such as cat/1.png, in it");
  return files;
}

std::string form_of(const Picture& picture) {
  const int64_t dims[] = {picture.channels, picture.height, picture.width};
  return as_shape(dims, 3);
}

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

// The memory that a dataset borrows.
struct Memory {
  std::vector<uint8_t> pixels;
  std::vector<int32_t> labels;
};

}  // namespace

bool is_image_folder(const std::string& folder) {
  return is_folder(path_of(folder) / kTrain) || is_folder(path_of(folder) / kTest);
}

ImageFolder open_image_folder(const Context& context, const std::string& folder, const char* split,
                              const PictureOptions& options) {
  if (!has_image_decoder())
    throw Failure("'" + folder +
                  "' is a folder of pictures, which this troika cannot read: it was built without "
                  "stb_image.h");
  for (const char* part : {kTrain, split})
    if (!is_folder(path_of(folder) / part))
      throw Failure("'" + folder + "' has no folder " + part +
                    "; need train/CLASS/PICTURE and test/CLASS/PICTURE in it");
  const std::filesystem::path train = path_of(folder) / kTrain;
  const std::vector<std::string> classes = names_in(train, is_folder);
  const File first = pictures_of(train, classes).front();
  std::vector<File> files = pictures_of(path_of(folder) / split, classes);
  if (options.limit > 0 && options.limit < static_cast<int64_t>(files.size()))
    files.erase(files.begin() + options.limit, files.end());

  const auto prepared = [&](const File& file, int64_t channels) {
    Picture picture = decode_picture(file.path, channels);
    return options.resize > 0 ? resized(picture, options.resize) : picture;
  };
  const Picture form = prepared(first, 0);
  auto memory = std::make_unique<Memory>();
  memory->pixels.reserve(files.size() * form.pixels.size());
  for (const File& file : files) {
    const Picture picture = prepared(file, form.channels);
    if (picture.height != form.height || picture.width != form.width)
      throw Failure("'" + text_of(file.path) + "' is " + form_of(picture) + ", '" + text_of(first.path) + "' is " +
                    form_of(form) + "; give --resize SIZE");
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
  arrays.targets = memory->labels.data();
  arrays.target_dtype = TROIKA_DTYPE_I32;
  arrays.mean = options.mean;
  arrays.std = options.std;
  arrays.borrow = 1;
  arrays.destroy = [](void* user) { delete static_cast<Memory*>(user); };
  arrays.user = memory.get();
  ImageFolder out;
  call(troika_dataset_create_from, context.get(), static_cast<const troika_arrays*>(&arrays), out.dataset.out());
  memory.release();
  out.classes = static_cast<int64_t>(classes.size());
  return out;
}

}  // namespace troika::cli
