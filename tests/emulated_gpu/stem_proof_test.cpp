// A convolution of an image of one channel on tensor cores proves itself: a right kernel raises no
// warning, and a wrong one is not used.
#include <gtest/gtest.h>
#include <troika/troika.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "hopper_faults.h"
#include "support/temp_directory.h"

namespace troika::test {
namespace {

constexpr int64_t kChannels = 24, kSize = 12, kSamples = 2;

struct Trained {
  std::vector<std::string> warnings;
  std::string plan;
  float loss = 0;
  std::vector<float> variance, gradient;  // of batch_norm2d, of the convolution's weight
};

void add_line(int32_t, const char*, const char* line, void* lines) {
  static_cast<std::vector<std::string>*>(lines)->emplace_back(line);
}

// One step in bf16 of a convolution with batch_norm2d. Without a folder of engines, they are
// measured anew.
Trained train(const troika_device& device = {TROIKA_DEVICE_CUDA, 0}, const std::string& engines = "") {
  Trained trained;
  troika_error error{};
  const auto call = [&](troika_status status) { ASSERT_GE(status, TROIKA_OK) << error.message; };
  troika_context context = nullptr;
  troika_model model = nullptr;
  troika_trainer trainer = nullptr;
  troika_context_options options = TROIKA_CONTEXT_OPTIONS_INIT;
  options.use_environment = 1;
  options.cache_folder = engines.c_str();
  options.log = add_line;
  options.log_user = &trained.warnings;
  call(troika_context_create(&options, &context, &error));
  call(troika_model_create_empty(context, "net", &model, &error));
  constexpr int64_t kImage[] = {1, kSize, kSize};
  troika_value x = -1;
  call(troika_model_add_input(model, "x", kImage, 3, &x, &error));
  troika_conv2d_options conv2d = TROIKA_CONV2D_OPTIONS_INIT;
  conv2d.out_channels = kChannels;
  conv2d.kernel[0] = conv2d.kernel[1] = 3;
  call(troika_model_add_conv2d(model, "stem", x, &conv2d, &x, &error));
  call(troika_model_add_batch_norm2d(model, "norm", x, 1e-5, 0.1, &x, &error));
  call(troika_model_add_relu(model, "relu", x, &x, &error));
  call(troika_model_add_flatten(model, "flatten", x, &x, &error));
  call(troika_model_add_linear(model, "fc", x, 4, 1, &x, &error));
  call(troika_model_set_output(model, x, &error));
  troika_trainer_options trainer_options = TROIKA_TRAINER_OPTIONS_INIT;
  trainer_options.precision = TROIKA_PRECISION_BF16;
  trainer_options.learning_rate = 0.01;
  call(troika_model_attach(model, &device, 1, &trainer_options, &trainer, &error));

  std::vector<float> images(kSamples * kSize * kSize);
  for (size_t i = 0; i < images.size(); ++i) images[i] = static_cast<float>(i * i % 17) / 8 - 1;
  const int32_t labels[kSamples] = {1, 3};
  const int64_t dims[] = {kSamples, 1, kSize, kSize};
  troika_tensor inputs = nullptr, targets = nullptr;
  troika_batch batch = nullptr;
  const troika_device cpu{TROIKA_DEVICE_CPU, 0};
  call(troika_tensor_create(context, cpu, TROIKA_DTYPE_F32, dims, 4, images.data(), &inputs, &error));
  call(troika_tensor_create(context, cpu, TROIKA_DTYPE_I32, dims, 1, labels, &targets, &error));
  call(troika_batch_create(inputs, targets, &batch, &error));
  troika_step_result result = TROIKA_STEP_RESULT_INIT;
  call(troika_trainer_step(trainer, batch, &result, &error));
  trained.loss = static_cast<float>(result.loss);
  trained.gradient.resize(kChannels * 9);
  call(troika_trainer_get_gradient(trainer, "stem.weight", trained.gradient.data(), kChannels * 9 * 4, &error));
  trained.variance.resize(kChannels);
  call(troika_model_get_parameter(model, "norm.running_var", trained.variance.data(), kChannels * 4, &error));
  std::string plan(1 << 18, '\0');
  int64_t bytes = 0;
  call(troika_trainer_explain(trainer, kSamples, plan.data(), static_cast<int64_t>(plan.size()), &bytes, &error));
  trained.plan = plan.c_str();
  troika_batch_destroy(batch);
  troika_tensor_destroy(inputs);
  troika_tensor_destroy(targets);
  troika_trainer_destroy(trainer);
  troika_model_destroy(model);
  troika_context_destroy(context);
  return trained;
}

// Results of the same step, in which bf16 may round otherwise.
void expect_same(const Trained& found, const Trained& expected) {
  const auto distance = [](const std::vector<float>& a, const std::vector<float>& b) {
    double difference = 0, norm = 0;
    for (size_t i = 0; i < b.size(); ++i) {
      difference += std::pow(a[i] - b[i], 2);
      norm += std::pow(b[i], 2);
    }
    return std::sqrt(difference / norm);
  };
  EXPECT_NEAR(found.loss, expected.loss, 2e-2 * expected.loss);
  EXPECT_LT(distance(found.variance, expected.variance), 1e-2);
  EXPECT_LT(distance(found.gradient, expected.gradient), 5e-2);
}

size_t launches_of_mma(const Trained& trained) {
  size_t launches = 0;
  for (size_t at = 0; (at = trained.plan.find("cuda:own:stem_mma1", at)) != std::string::npos; ++at) ++launches;
  return launches;
}

class StemProof : public testing::Test {
 protected:
  void TearDown() override { emulated_gpu::spoil_warp_products(false); }
};

// GPUs in software are not faster by tensor cores. So the file of engines is changed to use them.
TEST_F(StemProof, is_made_by_a_right_kernel) {
  const TempDirectory folder;
  const troika_device gpu{TROIKA_DEVICE_CUDA, 0};
  const Trained measured = train(gpu, folder.path().string());
  EXPECT_TRUE(measured.warnings.empty()) << measured.warnings.front();
  int changed = 0;
  for (const auto& file : std::filesystem::directory_iterator(folder.path())) {
    nlohmann::json engines;
    std::ifstream(file.path()) >> engines;
    for (auto& [problem, engine] : engines.at("engines").items())
      if (problem.ends_with(", or stem_mma1")) {
        engine = "stem_mma1";
        ++changed;
      }
    std::ofstream(file.path()) << engines;
  }
  EXPECT_EQ(changed, 2) << "forward, weight gradient";
  const Trained trained = train(gpu, folder.path().string()), on_cpu = train({TROIKA_DEVICE_CPU, 0});
  EXPECT_EQ(launches_of_mma(trained), 2u) << trained.plan;
  EXPECT_NE(trained.plan.find("_merged"), std::string::npos) << "moments come from the convolution: " << trained.plan;
  expect_same(measured, on_cpu);
  expect_same(trained, on_cpu);
}

TEST_F(StemProof, is_not_made_by_a_wrong_one) {
  emulated_gpu::spoil_warp_products(true);
  const Trained wrong = train(), on_cpu = train({TROIKA_DEVICE_CPU, 0});
  expect_same(wrong, on_cpu);
  EXPECT_EQ(launches_of_mma(wrong), 0u) << wrong.plan;
  for (const char* node : {"conv2d 'stem' on cuda:0: the kernel stem_mma1 is not used: its result differs by ",
                           "conv2d_weight_gradient 'stem' on cuda:0: the kernel stem_mma1 is not used: "})
    EXPECT_TRUE(std::any_of(wrong.warnings.begin(), wrong.warnings.end(),
                            [&](const std::string& line) { return line.starts_with(node); }))
        << node << (wrong.warnings.empty() ? "" : wrong.warnings.back());
}

}  // namespace
}  // namespace troika::test
