// The names of files. A directory is of the kind of any file that is there.
#include "data/image_directory.h"

#include <filesystem>
#include <optional>
#include <span>
#include <vector>

#include "core/error.h"
#include "core/path.h"
#include "core/text.h"
#include "data/cifar.h"
#include "data/idx_dataset.h"

namespace troika {
namespace {

using Names = std::span<const char* const>;

constexpr const char* kIdxTrain[] = {"train-images-idx3-ubyte", "train-labels-idx1-ubyte"};
constexpr const char* kIdxTest[] = {"t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"};
constexpr const char* kCifar10Train[] = {"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin", "data_batch_4.bin",
                                         "data_batch_5.bin"};
constexpr const char* kCifar10Test[] = {"test_batch.bin"};
constexpr const char* kCifar100Train[] = {"train.bin"};
constexpr const char* kCifar100Test[] = {"test.bin"};

struct CifarSet {
  CifarFormat format;
  const char* name;
  const char* folder;  // of the publishers' archive
  Names train, test;
};

constexpr CifarSet kCifarSets[] = {
    {kCifar10, "CIFAR-10", "cifar-10-batches-bin", kCifar10Train, kCifar10Test},
    {kCifar100, "CIFAR-100", "cifar-100-binary", kCifar100Train, kCifar100Test},
};

// Returns the path of a file, plain or gzipped; none if it is missing.
std::optional<std::string> find_file(const std::filesystem::path& directory, const std::string& name) {
  const std::string plain = text_of(directory / name);
  std::error_code ignored;  // a file that cannot be examined counts as missing
  for (const std::string& path : {plain, plain + ".gz"})
    if (std::filesystem::exists(path_of(path), ignored)) return path;
  return std::nullopt;
}

bool has_any(const std::filesystem::path& directory, Names names) {
  for (const char* name : names)
    if (find_file(directory, name)) return true;
  return false;
}

// Returns the paths of all files. NOT_FOUND names the first one that is missing.
std::vector<std::string> find_all(const std::filesystem::path& directory, Names names, const std::string& split) {
  std::vector<std::string> paths;
  for (const char* name : names) {
    const std::optional<std::string> path = find_file(directory, name);
    if (!path) {
      const std::string plain = text_of(directory / name);
      throw Error(Status::not_found, text("split '", split, "': there is neither '", plain, "' nor '", plain, ".gz'"));
    }
    paths.push_back(*path);
  }
  return paths;
}

// Returns the folder with the set's files: the directory itself, or the publishers' folder in it.
std::optional<std::filesystem::path> folder_of(const CifarSet& set, const std::filesystem::path& directory) {
  for (const auto& folder : {directory, directory / set.folder})
    if (has_any(folder, set.train) || has_any(folder, set.test)) return folder;
  return std::nullopt;
}

}  // namespace

std::shared_ptr<const Dataset> open_image_directory(const std::string& directory, const std::string& split,
                                                    const ImageTransform& transform) {
  if (split != "train" && split != "test")
    throw Error(Status::invalid_argument, text("split is '", split, "', need 'train' or 'test'"));
  check_values(transform);
  const bool is_train = split == "train";
  const std::filesystem::path path = path_of(directory);
  if (has_any(path, kIdxTrain) || has_any(path, kIdxTest)) {
    const auto paths = find_all(path, is_train ? kIdxTrain : kIdxTest, split);
    return open_idx(paths[0], paths[1], transform);
  }

  const CifarSet* found = nullptr;
  for (const CifarSet& set : kCifarSets) {
    if (!folder_of(set, path)) continue;
    if (found)
      throw Error(Status::invalid_argument, text("directory '", directory, "': has files of ", found->name, " and of ",
                                                 set.name, ", need those of one; name its folder"));
    found = &set;
  }
  if (!found && !std::filesystem::exists(path))
    throw Error(Status::not_found, text("split '", split, "': directory '", directory, "' does not exist"));
  if (!found)
    throw Error(Status::not_found, text("split '", split, "': '", directory, "' has neither IDX files ('",
                                        is_train ? kIdxTrain[0] : kIdxTest[0], "') nor files of CIFAR ('",
                                        is_train ? "data_batch_1.bin' or 'train.bin" : "test_batch.bin' or 'test.bin",
                                        "'), plain or with .gz"));
  const auto paths = find_all(*folder_of(*found, path), is_train ? found->train : found->test, split);
  return std::make_shared<const ImageDataset>(read_cifar(paths, found->format), transform);
}

}  // namespace troika
