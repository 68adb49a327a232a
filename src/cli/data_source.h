// Where samples come from: a directory of IDX files, a text or a synthetic set, whole or its first
// samples.
#pragma once

#include <cstdint>
#include <string>

#include "cli/client.h"

namespace troika::cli {

class Command;

// Where Debian's package dataset-fashion-mnist puts its files.
inline constexpr const char* kFashionMnistDirectory = "/usr/share/datasets/fashion-mnist";

// What --model takes.
inline constexpr const char* kModelHelp =
    "d2l_lenet, d2l_resnet18, d2l_resnet18_stem7, resnet18, resnet34, resnet50, mlp or char_lstm";

inline constexpr int kMaxImageSize = 65535;  // a side, as the library has it

struct DataOptions {
  std::string directory;     // or a text file; empty: kFashionMnistDirectory where it exists
  int64_t synthetic = 0;     // above 0: that many synthetic training samples, no directory
  int resize = 0;            // above 0: images become resize x resize
  double mean = 0, std = 1;  // pixels become (p / 255 - mean) / std
  int steps = 64;            // bytes of a sample of a text
  int64_t limit_train = 0;   // above 0: only the first samples
  int64_t limit_test = 0;
  int classes = 0;  // above 0: the model's outputs; 0: see resolved_classes

  bool is_text() const;  // a file, of which each byte is a token

  // The directory to read: the one given, or the default one; throws Failure where neither is there.
  std::string resolved_directory() const;

  // The model's outputs: those of --classes, or as many as the labels need, and MNIST's 10 at least, since a set's first
  // samples need not have every label. `labels` is the largest label + 1; throws Failure where --classes is below it.
  int64_t resolved_classes(int64_t labels) const;
};

void add_data_options(const Command& command, DataOptions& options, bool with_training);

// The samples of a split, with what the model must know.
struct Samples {
  Dataset dataset;
  troika_dataset_info info{};  // of the dataset; classes as in the whole split

  bool is_text() const { return info.dtype == TROIKA_I32; }
};

enum class Split { train, test };

Samples open_samples(const Context& context, const DataOptions& options, Split split);

// The model `name` with inputs and outputs that fit the samples.
Model create_model_for(const Context& context, const std::string& name, const troika_dataset_info& info);

Loader create_loader(const Samples& samples, int batch, bool shuffle, uint64_t seed);

}  // namespace troika::cli
