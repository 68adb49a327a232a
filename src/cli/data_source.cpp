// Opens directories, texts and synthetic sets, and builds models and loaders that fit them.
#include "cli/data_source.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <numeric>
#include <utility>
#include <vector>

#include "cli/class_names.h"
#include "cli/closest.h"
#include "cli/command_line.h"
#include "cli/files.h"
#include "cli/image_folder.h"
#include "cli/model_file.h"
#include "cli/text.h"
#include "core/path.h"

namespace troika::cli {
namespace {

// A synthetic set is the same for every run, so that runs can be compared. Its test samples come
// after the training samples.
constexpr uint64_t kSyntheticSeed = 1;
constexpr int kSyntheticClasses = 10;
constexpr int kSyntheticSize = 28;
constexpr int64_t kMnistClasses = 10;

int64_t synthetic_test_samples(int64_t train_samples) { return std::max<int64_t>(1, train_samples / 5); }

troika_dataset_info describe(const Dataset& dataset) {
  troika_dataset_info info = TROIKA_DATASET_INFO_INIT;
  call(troika_dataset_describe, dataset.get(), &info);
  return info;
}

Samples open_synthetic(const Context& context, const DataOptions& options, Split split) {
  const int64_t n_train = options.synthetic, n_test = synthetic_test_samples(n_train);
  const int64_t size = options.resize > 0 ? options.resize : kSyntheticSize;
  const int64_t dims[] = {1, size, size};
  Dataset whole;
  call(troika_dataset_create_synthetic, context.get(), dims, 3, n_train + n_test, kSyntheticClasses, kSyntheticSeed,
       whole.out());
  Samples samples;
  samples.dataset = split == Split::train ? subset(whole, 0, n_train) : subset(whole, n_train, n_test);
  samples.info = describe(samples.dataset);
  samples.info.classes = kSyntheticClasses;
  return samples;
}

// Returns the file with a split's images in a directory of MNIST's format.
std::string images_file(const std::filesystem::path& directory, Split split) {
  const std::filesystem::path plain =
      directory / (split == Split::train ? "train-images-idx3-ubyte" : "t10k-images-idx3-ubyte");
  return std::filesystem::exists(plain) ? text_of(plain) : text_of(plain) + ".gz";
}

Samples open_directory(const Context& context, const DataOptions& options, Split split) {
  const troika_dataset_options transforms = transforms_of(options);
  Samples samples;
  const std::string directory = options.resolved_directory();
  call(troika_dataset_open_directory, context.get(), directory.c_str(), split == Split::train ? "train" : "test",
       &transforms, samples.dataset.out());
  samples.info = describe(samples.dataset);
  if (samples.info.n == 0)
    throw Failure("'" + images_file(path_of(directory), split) + "' is empty; need at least 1 image");
  samples.class_names = in_utf8(names_of_cifar(path_of(directory), samples.info));
  return samples;
}

Samples open_pictures(const Context& context, const DataOptions& options, Split split) {
  const int64_t limit = split == Split::train ? options.limit_train : options.limit_test;
  ImageFolder folder = open_image_folder(context, options.directory, split == Split::train ? "train" : "test",
                                         {options.resize, options.mean, options.std, limit});
  Samples samples;
  samples.dataset = std::move(folder.dataset);
  samples.info = describe(samples.dataset);
  samples.info.classes = static_cast<int64_t>(folder.classes.size());
  samples.class_names = in_utf8(std::move(folder.classes));
  samples.files = std::move(folder.files);
  return samples;
}

constexpr int kByteValues = 256;
constexpr const char* kTextModel = "char_lstm";

// The first nine tenths of a text are for training, the rest is for the test. The vocabulary is all
// values of a byte, so that weights fit any text.
Samples open_text(const Context& context, const DataOptions& options, Split split) {
  if (options.steps < 1) refuse_value("--steps", options.steps, "at least 1");
  if (options.resize > 0) throw Failure("--resize is for images, '" + options.directory + "' is a text");
  if (options.hold_out > 0)
    throw Failure("--hold-out is for images, '" + options.directory + "' is a text, whose last tenth is the test");
  const std::string text = read_file(path_of(options.directory));
  const auto size = static_cast<int64_t>(text.size()), cut = size - size / 10, steps = int64_t{options.steps};
  const int64_t begin = split == Split::train ? 0 : cut, end = split == Split::train ? cut : size;
  if (end - begin <= steps)
    throw Failure(formatted("'%s' has %lld bytes for %s; need more than --steps %lld", options.directory.c_str(),
                            static_cast<long long>(end - begin), split == Split::train ? "training" : "the test",
                            static_cast<long long>(steps)));
  const int64_t limit = split == Split::train ? options.limit_train : options.limit_test;
  int64_t count = end - begin;
  if (limit > 0 && limit < (count - 1) / steps) count = limit * steps + 1;
  Samples samples;
  call(troika_dataset_create_token_stream, context.get(), static_cast<const void*>(text.data() + begin),
       int32_t{TROIKA_DTYPE_U8}, count, int32_t{options.steps}, samples.dataset.out());
  samples.info = describe(samples.dataset);
  samples.info.classes = kByteValues;
  return samples;
}

Samples open_split(const Context& context, const DataOptions& options, Split split) {
  if (options.is_pictures()) return open_pictures(context, options, split);
  return options.synthetic > 0 ? open_synthetic(context, options, split) : open_directory(context, options, split);
}

// Returns the numbers 0 ... n - 1 as the library's split puts them into two parts.
std::array<std::vector<int64_t>, 2> split_numbers(const Context& context, const int64_t (&sizes)[2], uint64_t seed) {
  std::vector<int32_t> numbers(static_cast<size_t>(sizes[0] + sizes[1]));
  std::iota(numbers.begin(), numbers.end(), 0);
  troika_arrays arrays = TROIKA_ARRAYS_INIT;
  arrays.inputs = numbers.data();
  arrays.dtype = TROIKA_DTYPE_I32;
  arrays.n = std::ssize(numbers);
  arrays.targets = numbers.data();
  arrays.target_dtype = TROIKA_DTYPE_I32;
  Dataset whole, parts[2];
  call(troika_dataset_create_from, context.get(), static_cast<const troika_arrays*>(&arrays), whole.out());
  troika_dataset handles[2];
  call(troika_dataset_split, whole.get(), &sizes[0], 2, 1, seed, &handles[0]);
  for (size_t part = 0; part < 2; ++part) *parts[part].out() = handles[part];
  std::array<std::vector<int64_t>, 2> places;
  for (size_t part = 0; part < 2; ++part) {
    troika_loader_options options = TROIKA_LOADER_OPTIONS_INIT;
    options.batch = static_cast<int32_t>(std::min<int64_t>(sizes[part], 4096));
    Loader loader;
    call(troika_loader_create, parts[part].get(), &options, loader.out());
    while (std::ssize(places[part]) < sizes[part]) {
      troika_batch batch = nullptr;
      call(troika_loader_next, loader.get(), &batch);
      troika_batch_info lent = TROIKA_BATCH_INFO_INIT;
      call(troika_batch_describe, batch, &lent);
      places[part].insert(places[part].end(), lent.labels, lent.labels + lent.n);
    }
  }
  return places;
}

// Returns the samples at these places, with the names of their files.
Samples chosen(const Samples& samples, const std::vector<int64_t>& places) {
  Samples out;
  out.info = samples.info;
  out.info.n = std::ssize(places);
  out.class_names = samples.class_names;
  call(troika_dataset_subset, samples.dataset.get(), places.data(), out.info.n, out.dataset.out());
  if (!samples.files.empty())
    for (const int64_t place : places) out.files.push_back(samples.files[static_cast<size_t>(place)]);
  return out;
}

// Divides the training samples in an order of their own, so that classes are mixed.
TrainingSamples open_held_out(const Context& context, DataOptions options) {
  constexpr uint64_t kSeed = 1;  // all runs hold out the same samples
  options.limit_train = 0;
  const Samples whole = open_split(context, options, Split::train);
  const auto held = static_cast<int64_t>(std::llround(options.hold_out * static_cast<double>(whole.info.n)));
  if (held < 1 || held >= whole.info.n)
    refuse_value(
        "--hold-out", options.hold_out,
        formatted("a part that leaves samples on both sides: there are %lld", static_cast<long long>(whole.info.n)));
  const auto [rest, test] = split_numbers(context, {whole.info.n - held, held}, kSeed);
  return {chosen(whole, rest), chosen(whole, test)};
}

// Returns the first samples, if `limit` is above 0 and below their number.
Samples limited(Samples samples, int64_t limit) {
  if (limit > 0 && limit < samples.info.n) {
    samples.dataset = subset(samples.dataset, 0, limit);
    samples.info.n = limit;
    if (!samples.files.empty()) samples.files.resize(static_cast<size_t>(limit));
  }
  return samples;
}

}  // namespace

Dataset subset(const Dataset& dataset, int64_t first, int64_t count) {
  std::vector<int64_t> indices(static_cast<size_t>(count));
  std::iota(indices.begin(), indices.end(), first);
  Dataset out;
  call(troika_dataset_subset, dataset.get(), indices.data(), count, out.out());
  return out;
}

troika_dataset_options transforms_of(const DataOptions& options) {
  troika_dataset_options transforms = TROIKA_DATASET_OPTIONS_INIT;
  if (options.resize > 0) transforms.resize_height = transforms.resize_width = options.resize;
  transforms.mean = options.mean;
  transforms.std = options.std;
  return transforms;
}

bool DataOptions::is_text() const { return synthetic == 0 && std::filesystem::is_regular_file(path_of(directory)); }

bool DataOptions::is_pictures() const { return synthetic == 0 && !directory.empty() && is_image_folder(directory); }

std::string DataOptions::resolved_directory() const {
  if (!directory.empty()) return directory;
  if (std::filesystem::is_directory(kFashionMnistDirectory)) return kFashionMnistDirectory;
  throw Failure(
      "no data: give --data DIR (a folder with pictures, or the files of MNIST or CIFAR), install the "
      "package dataset-fashion-mnist, or try --synthetic 1000");
}

int64_t DataOptions::resolved_classes(int64_t labels) const {
  if (classes == 0) return is_pictures() ? labels : std::max(labels, kMnistClasses);
  if (classes < labels)
    refuse_value("--classes", classes,
                 formatted("at least %lld, as many as the labels need", static_cast<long long>(labels)));
  return classes;
}

void add_data_options(const Command& command, DataOptions& options, bool with_training) {
  command.option(
      "--data", options.directory,
      std::string("Folder with MNIST's IDX files or CIFAR's binary files, plain or .gz; or with pictures, as "
                  "train/CLASS/*.png and test/CLASS/*.png (also .jpg, .bmp, .ppm, .pgm); or a text file, "
                  "whose bytes are the tokens of char_lstm; without it: ") +
          kFashionMnistDirectory,
      "PATH");
  command.option("--steps", options.steps, "Bytes of a sample of a text", "N");
  command.option("--synthetic", options.synthetic, "Use N synthetic samples (and N / 5 for the test) and no --data",
                 "N");
  command.exclude("--synthetic", "--data");
  command.option("--resize", options.resize, "Resize images to SIZE x SIZE, bilinear", "SIZE");
  command.option("--mean", options.mean, "Pixels p become (p / 255 - mean) / std");
  command.option("--std", options.std, "See --mean");
  command.option("--hold-out", options.hold_out,
                 "Part of the training samples that is the test instead of the test files, such as 0.1; 0: none");
  command.option("--classes", options.classes,
                 with_training
                     ? "Outputs of the model; 0: the folders of pictures, or as many as the labels need, and at "
                       "least 10"
                     : "Outputs of the model; 0: those of the weights file",
                 "N");
  if (with_training) command.option("--limit-train", options.limit_train, "Use only the first N training samples", "N");
  command.option("--limit-test", options.limit_test, "Use only the first N test samples", "N");
}

void check_data(const DataOptions& options) {
  if (options.synthetic < 0) refuse_value("--synthetic", options.synthetic, "at least 1, or 0 for none");
  if (options.resize < 0) refuse_value("--resize", options.resize, "at least 1, or 0 for none");
  if (options.resize > kMaxImageSize) refuse_value("--resize", options.resize, formatted("at most %d", kMaxImageSize));
  if (!std::isfinite(options.mean)) refuse_value("--mean", options.mean, "a finite number");
  if (!(options.std > 0) || std::isinf(options.std)) refuse_value("--std", options.std, "a finite number above 0");
  if (options.classes < 0) refuse_value("--classes", options.classes, "at least 1, or 0 for the default");
  if (options.limit_train < 0) refuse_value("--limit-train", options.limit_train, "at least 1, or 0 for all");
  if (options.limit_test < 0) refuse_value("--limit-test", options.limit_test, "at least 1, or 0 for all");
  if (!(options.hold_out >= 0 && options.hold_out < 1))
    refuse_value("--hold-out", options.hold_out, "a number from 0 to below 1");
}

Samples open_samples(const Context& context, const DataOptions& options, Split split) {
  check_data(options);
  if (options.is_text()) return open_text(context, options, split);
  const bool trains = split == Split::train;
  if (options.hold_out == 0)
    return limited(open_split(context, options, split), trains ? options.limit_train : options.limit_test);
  TrainingSamples both = open_training_samples(context, options);
  return std::move(trains ? both.train : both.test);
}

TrainingSamples open_training_samples(const Context& context, const DataOptions& options) {
  check_data(options);
  if (options.hold_out == 0 || options.is_text()) {
    Samples train = open_samples(context, options, Split::train);
    try {
      return {std::move(train), open_samples(context, options, Split::test)};
    } catch (const Failure& failure) {
      if (!failure.is_not_found()) throw;
      throw failure.with_advice("or give --hold-out 0.1, which tests with a part of the training samples");
    }
  }
  TrainingSamples both = open_held_out(context, options);
  return {limited(std::move(both.train), options.limit_train), limited(std::move(both.test), options.limit_test)};
}

Model create_model(const Context& context, const std::string& name, const troika_model_options& options,
                   const char* argument) {
  std::vector<std::string> names;
  for (int32_t i = 0; troika_zoo_name(i); ++i) names.emplace_back(troika_zoo_name(i));
  const bool is_there = std::find(names.begin(), names.end(), name) != names.end();
  const std::string guess = is_there ? "" : did_you_mean(name, names);
  if (!guess.empty()) {
    std::string all = names.front();
    for (size_t i = 1; i < names.size(); ++i) all += ", " + names[i];
    throw Failure(std::string(argument) + " is '" + name + "'" + guess + "; there are " + all);
  }
  Model model;
  call(troika_model_create, context.get(), name.c_str(), &options, model.out());
  return model;
}

Model create_model_for(const Context& context, const std::string& name, const troika_dataset_info& info) {
  const bool is_text = info.dtype == TROIKA_DTYPE_I32;
  if (is_text != (name == kTextModel))
    throw Failure(is_text ? "--data is a text; give --model " + std::string(kTextModel) + " with it"
                          : "--model " + name + " reads a text; give a file with --data");
  if (!is_text && info.rank != 3)
    throw Failure("samples are " + as_shape(info.dims, info.rank) +
                  "; the models need images of channels x height x width");
  troika_model_options options = TROIKA_MODEL_OPTIONS_INIT;
  options.classes = static_cast<int32_t>(info.classes);
  if (is_text) {
    options.steps = static_cast<int32_t>(info.dims[0]);
  } else {
    options.input_channels = static_cast<int32_t>(info.dims[0]);
    options.input_height = static_cast<int32_t>(info.dims[1]);
    options.input_width = static_cast<int32_t>(info.dims[2]);
  }
  return create_model(context, name, options);
}

Model open_or_create_model(const Context& context, const std::string& name, const DataOptions& data,
                           troika_dataset_info& info) {
  if (is_model_file(name)) return open_model_file(context, name, data.classes, info);
  info.classes = data.resolved_classes(info.classes);
  return create_model_for(context, name, info);
}

Loader create_loader(const Samples& samples, const Batches& batches) {
  troika_loader_options options = TROIKA_LOADER_OPTIONS_INIT;
  options.batch = batches.batch;
  options.shuffle = batches.shuffle ? 1 : 0;
  options.drop_last = batches.drops_last ? 1 : 0;
  options.seed = batches.seed;
  options.flip = batches.augmentation.flip ? 1 : 0;
  options.crop = batches.augmentation.crop;
  Loader loader;
  call(troika_loader_create, samples.dataset.get(), &options, loader.out());
  return loader;
}

}  // namespace troika::cli
