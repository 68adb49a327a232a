// One training step by the C interface, on a GPU in software or on a CPU, and what it
// computed. For tests of kernels that must prove themselves.
#pragma once

#include <gtest/gtest.h>
#include <troika/troika.h>

#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace troika::test {

struct Recipe {
  std::function<troika_status(troika_context, troika_model*, troika_error*)> build;
  std::vector<int64_t> image;               // of a sample: channels, height, width; or a sequence
  std::vector<int32_t> labels;              // of the samples
  std::map<std::string, size_t> gradients;  // of these parameters, with so many numbers, are read
  std::map<std::string, size_t> buffers;    // and these, such as a running variance
};

struct Trained {
  std::vector<std::string> warnings;
  std::string plan;  // of all devices
  float loss = 0;
  std::map<std::string, std::vector<float>> numbers;  // of gradients and buffers

  size_t launches_of(const std::string& kernel) const;  // "cuda:own:small2"
};

constexpr troika_device kGpu{TROIKA_DEVICE_CUDA, 0}, kCpu{TROIKA_DEVICE_CPU, 0};

// A model that is built layer by layer, until a call fails.
class Layers {
 public:
  Layers(troika_context context, troika_model* model, troika_error* error)
      : model_(model), error_(error), status_(troika_model_create_empty(context, "net", model, error)) {}

  template <typename... Parameters, typename... Arguments>
  void add(troika_status (*function)(troika_model, Parameters...), const Arguments&... arguments) {
    if (status_ == TROIKA_OK) status_ = function(*model_, arguments..., error_);
  }
  troika_status status() const { return status_; }

 private:
  troika_model* const model_;
  troika_error* const error_;
  troika_status status_;
};

// Without a folder of engines, they are measured anew.
Trained train(const Recipe& recipe, const std::vector<troika_device>& devices, const std::string& engines = "",
              int32_t precision = TROIKA_PRECISION_BF16, int64_t recompute_segments = 0);

// The norm of the difference, as a part of the norm.
double distance(const std::vector<float>& found, const std::vector<float>& expected);

// Results of the same step, in which bf16 may round otherwise: losses within 2 % of each other,
// gradients within 5 % of their norm, buffers within 1 %.
void expect_same(const Recipe& recipe, const Trained& found, const Trained& expected);

// Expects a warning that begins with each of these.
void expect_warnings(const Trained& trained, const std::vector<std::string>& beginnings);

// Changes files of engines by change_one(problem, engine), which returns whether it has changed the
// engine. Returns how many it has.
int change_engines(const std::filesystem::path& folder,
                   const std::function<bool(const std::string& problem, std::string& engine)>& change_one);

// Has an own kernel of this name wherever it was measured. GPUs in software do not choose it: there
// it is slow.
int choose(const std::string& kernel, const std::filesystem::path& folder);

// Trains on a GPU, which measures its ways and lets own kernels prove themselves, and then with own
// kernels of these names for so many problems. Expects no warning, and both steps to be a CPU's.
// Returns the second.
Trained expect_right_kernels(const Recipe& recipe, const std::map<std::string, int>& problems,
                             int32_t precision = TROIKA_PRECISION_BF16);

}  // namespace troika::test
