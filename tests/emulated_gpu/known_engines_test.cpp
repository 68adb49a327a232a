// A file of engines from before a kernel of our own existed: its engines are not measured again.
#include <fstream>
#include <nlohmann/json.hpp>

#include "one_step.h"
#include "support/environment_guard.h"
#include "support/temp_directory.h"

namespace troika::test {
namespace {

constexpr int64_t kChannels = 64, kSize = 7, kClasses = 4;

// Two convolutions with a batch_norm2d each. On Hopper they make its sums.
troika_status build_net(troika_context context, troika_model* model, troika_error* error) {
  constexpr int64_t kImage[] = {kChannels, kSize, kSize};
  troika_conv2d_options conv = TROIKA_CONV2D_OPTIONS_INIT;
  conv.out_channels = kChannels;
  conv.kernel[0] = conv.kernel[1] = 3;
  conv.padding[0] = conv.padding[1] = 1;
  conv.no_bias = 1;
  troika_value x = -1;
  Layers layers(context, model, error);
  layers.add(troika_model_add_input, "x", kImage, 3, &x);
  for (const char* name : {"a", "b"}) {
    layers.add(troika_model_add_conv2d, name, x, &conv, &x);
    layers.add(troika_model_add_batch_norm2d, (std::string("norm_") + name).c_str(), x, 1e-5, 0.1, &x);
    layers.add(troika_model_add_relu, (std::string("relu_") + name).c_str(), x, &x);
  }
  layers.add(troika_model_add_flatten, "flatten", x, &x);
  layers.add(troika_model_add_linear, "fc", x, kClasses, 1, &x);
  layers.add(troika_model_set_output, x);
  return layers.status();
}

const Recipe kNet = {.build = build_net,
                     .image = {kChannels, kSize, kSize},
                     .labels = {1, 3},
                     .gradients = {{"a.weight", kChannels* kChannels * 9}, {"b.weight", kChannels* kChannels * 9}},
                     .buffers = {}};

// Leaves only the engines of convolutions whose places name no own kernel, and no gradient in 16
// bits, whose engine follows from that in f32. Returns how many.
size_t keep_plain_engines(const std::filesystem::path& folder) {
  size_t kept = 0;
  for (const auto& file : std::filesystem::directory_iterator(folder)) {
    nlohmann::json engines, all;
    std::ifstream(file.path()) >> engines;
    std::swap(all, engines.at("engines"));
    engines["engines"] = nlohmann::json::object();
    for (const auto& [problem, engine] : all.items()) {
      if (!problem.starts_with("conv2d") || problem.find(", or ") != std::string::npos || problem.ends_with(", rounded"))
        continue;
      engines["engines"][problem] = engine;
      ++kept;
    }
    std::ofstream(file.path()) << engines;
  }
  return kept;
}

// Counts lines such as "debug plan: measured conv2d bf16 ...: eng1: 3 us", by problem.
std::map<std::string, int> measured_engines(const Trained& trained) {
  std::map<std::string, int> counts;
  for (const std::string& line : trained.warnings) {
    const size_t begin = line.find("measured conv2d");
    if (begin == std::string::npos || line.find("eng", begin) == std::string::npos) continue;
    ++counts[line.substr(begin + 9, line.find(": ", begin) - begin - 9)];
  }
  return counts;
}

TEST(KnownEngines, are_not_measured_against_others_again) {
  const EnvironmentGuard guard("TROIKA_LOG");
  set_variable("TROIKA_LOG", "plan=debug");
  const TempDirectory folder;
  const Trained first = train(kNet, {kGpu}, folder.path().string());
  const std::map<std::string, int> before = measured_engines(first);
  ASSERT_GE(before.size(), 3u) << "forward, and both gradients";
  for (const auto& [problem, count] : before) EXPECT_GT(count, 1) << problem;
  EXPECT_GE(keep_plain_engines(folder.path()), 3u);
  const Trained again = train(kNet, {kGpu}, folder.path().string());
  const std::map<std::string, int> after = measured_engines(again);
  EXPECT_EQ(after.size(), before.size());
  for (const auto& [problem, count] : after) EXPECT_EQ(count, 1) << problem;
  expect_same(kNet, again, first);
  EXPECT_TRUE(measured_engines(train(kNet, {kGpu}, folder.path().string())).empty());
}

// An engine that this version of cuDNN lacks helps nobody.
TEST(KnownEngines, that_cannot_be_built_are_measured_again) {
  const EnvironmentGuard guard("TROIKA_LOG");
  set_variable("TROIKA_LOG", "plan=debug");
  const TempDirectory folder;
  const Trained first = train(kNet, {kGpu}, folder.path().string());
  keep_plain_engines(folder.path());
  change_engines(folder.path(), [](const std::string&, std::string& engine) {
    engine = "eng9999";
    return true;
  });
  const Trained again = train(kNet, {kGpu}, folder.path().string());
  EXPECT_EQ(measured_engines(again), measured_engines(first));
  expect_same(kNet, again, first);
}

// A host that wants no own kernels gets the best engine of the same file.
TEST(KnownEngines, are_those_of_a_host_without_own_kernels) {
  const EnvironmentGuard log("TROIKA_LOG"), own("TROIKA_OWN_KERNELS");
  set_variable("TROIKA_LOG", "plan=debug");
  const TempDirectory folder;
  train(kNet, {kGpu}, folder.path().string());
  set_variable("TROIKA_OWN_KERNELS", "0");
  EXPECT_TRUE(measured_engines(train(kNet, {kGpu}, folder.path().string())).empty());
}

}  // namespace
}  // namespace troika::test
