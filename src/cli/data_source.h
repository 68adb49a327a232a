// The source of samples: a directory of MNIST, CIFAR or pictures, a text or a synthetic set, whole
// or only its first samples.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/augmentation.h"
#include "cli/client.h"

namespace troika::cli {

class Command;

// The folder in which Debian's package dataset-fashion-mnist puts its files.
inline constexpr const char* kFashionMnistDirectory = "/usr/share/datasets/fashion-mnist";

// Help of --model.
inline constexpr const char* kModelHelp =
    "d2l_lenet, d2l_resnet18, d2l_resnet18_stem7, resnet9, resnet18, resnet34, resnet50, mlp or char_lstm";
inline constexpr const char* kModelOrFileHelp =
    "d2l_lenet, d2l_resnet18, d2l_resnet18_stem7, resnet9, resnet18, resnet34, resnet50, mlp or char_lstm; "
    "or a file that Troika has saved, with its layers";

inline constexpr int kMaxImageSize = 65535;  // a side, as the library has it

struct DataOptions {
  std::string directory;     // or a text file; empty: kFashionMnistDirectory, if it exists
  int64_t synthetic = 0;     // above 0: that many synthetic training samples, no directory
  int resize = 0;            // above 0: images become resize x resize
  double mean = 0, std = 1;  // pixels become (p / 255 - mean) / std
  int steps = 64;            // bytes per sample of a text
  double hold_out = 0;       // above 0: the part of the training samples that is the test
  int64_t limit_train = 0;   // above 0: only the first samples
  int64_t limit_test = 0;
  int classes = 0;  // above 0: the model's outputs; 0: see resolved_classes

  bool is_text() const;      // a file, of which each byte is a token
  bool is_pictures() const;  // a folder of classes

  // Returns the directory to read: the chosen one, or the default. Throws Failure if neither
  // exists.
  std::string resolved_directory() const;

  // Returns the number of the model's outputs: --classes, or the folders of pictures, or as many as
  // the labels need, and at least MNIST's 10, since a set's first samples need not have every
  // label. `labels` is the largest label + 1. Throws Failure if --classes is below `labels`.
  int64_t resolved_classes(int64_t labels) const;
};

// Calls `visit(name, field)` for what makes samples out of images and texts. Names are those
// of the command line without the dashes.
template <typename Visitor>
void visit_images(DataOptions& options, Visitor&& visit) {
  visit("synthetic", options.synthetic);
  visit("resize", options.resize);
  visit("steps", options.steps);
  visit("mean", options.mean);
  visit("std", options.std);
  visit("hold-out", options.hold_out);
}

void add_data_options(const Command& command, DataOptions& options, bool with_training);

// The samples of a split, with the numbers that the model needs.
struct Samples {
  Dataset dataset;
  troika_dataset_info info = TROIKA_DATASET_INFO_INIT;  // of the dataset; classes as in the whole split
  std::vector<std::string> class_names;                 // in the order of labels; empty: classes have none
  std::vector<std::string> files;                       // of pictures, in the dataset's order; else empty
  std::vector<std::string> folders;                     // of a user's own pictures: the names of their classes

  bool is_text() const { return info.dtype == TROIKA_DTYPE_I32; }
};

enum class Split { train, test };

// Throws Failure for an option that no data can have.
void check_data(const DataOptions& options);

Samples open_samples(const Context& context, const DataOptions& options, Split split);

// Both splits of a training, whose files are read once.
struct TrainingSamples {
  Samples train, test;
};

TrainingSamples open_training_samples(const Context& context, const DataOptions& options);

// Returns the samples [first, first + count).
Dataset subset(const Dataset& dataset, int64_t first, int64_t count);
// Returns the options by which the library prepares images.
troika_dataset_options transforms_of(const DataOptions& options);

// Creates a model of the zoo. Throws Failure if `argument` of the command line is the name of none,
// with a guess.
Model create_model(const Context& context, const std::string& name, const troika_model_options& options,
                   const char* argument = "--model");

// Creates the model `name` with inputs and outputs that fit the samples.
Model create_model_for(const Context& context, const std::string& name, const troika_dataset_info& info);

// Creates the model `name` of the zoo for the samples, or opens the file of that name. The number
// of outputs takes the place of that of labels, `info.classes`.
Model open_or_create_model(const Context& context, const std::string& name, const DataOptions& data,
                           troika_dataset_info& info);

struct Batches {
  int batch;
  bool shuffle = false;
  bool drops_last = false;  // an epoch ends before a last batch that is smaller
  uint64_t seed = 0;
  Augmentation augmentation = {};
};

Loader create_loader(const Samples& samples, const Batches& batches);

}  // namespace troika::cli
