// Small convolutions on tensor cores prove themselves: right kernels raise no warning, and wrong
// ones are not used.
#include <gtest/gtest.h>
#include <troika/troika.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "hopper_faults.h"
#include "support/temp_directory.h"

namespace troika::test {
namespace {

struct Trained {
  std::vector<std::string> warnings;
  std::string plan;
  float loss = 0;
  std::map<std::string, std::vector<float>> gradients;
};

void add_line(int32_t, const char*, const char* line, void* lines) {
  static_cast<std::vector<std::string>*>(lines)->emplace_back(line);
}

// One step of d2l_lenet in bf16. Without a folder of engines, they are measured anew.
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
  call(troika_model_create(context, "d2l_lenet", nullptr, &model, &error));
  troika_trainer_options trainer_options = TROIKA_TRAINER_OPTIONS_INIT;
  trainer_options.precision = TROIKA_PRECISION_BF16;
  trainer_options.learning_rate = 0.01;
  call(troika_model_attach(model, &device, 1, &trainer_options, &trainer, &error));

  constexpr int64_t kSize = 28, kSamples = 3;
  std::vector<float> images(kSamples * kSize * kSize);
  for (size_t i = 0; i < images.size(); ++i) images[i] = static_cast<float>(i * i % 17) / 8 - 1;
  const int32_t labels[kSamples] = {1, 3, 9};
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
  // The gradient of conv1 comes through conv2's input gradient.
  const std::map<std::string, size_t> parameters = {
      {"conv2.weight", 50 * 20 * 25}, {"conv2.bias", 50}, {"conv1.weight", 20 * 9}};
  for (const auto& [name, count] : parameters) {
    std::vector<float>& gradient = trained.gradients[name];
    gradient.resize(count);
    call(troika_trainer_get_gradient(trainer, name.c_str(), gradient.data(),
                                     static_cast<int64_t>(count * sizeof(float)), &error));
  }
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
  EXPECT_NEAR(found.loss, expected.loss, 2e-2 * expected.loss);
  for (const auto& [name, gradient] : expected.gradients) {
    double difference = 0, norm = 0;
    for (size_t i = 0; i < gradient.size(); ++i) {
      difference += std::pow(found.gradients.at(name)[i] - gradient[i], 2);
      norm += std::pow(gradient[i], 2);
    }
    EXPECT_LT(std::sqrt(difference / norm), 5e-2) << name;
  }
}

size_t small_launches(const Trained& trained) {
  size_t launches = 0;
  for (size_t at = 0; (at = trained.plan.find("cuda:own:small1", at)) != std::string::npos; ++at) ++launches;
  return launches;
}

class SmallProof : public testing::Test {
 protected:
  void TearDown() override { emulated_gpu::spoil_warp_products(false); }
};

// GPUs in software are not faster by tensor cores. So the file of engines is changed to use them.
TEST_F(SmallProof, is_made_by_right_kernels) {
  const TempDirectory folder;
  const troika_device gpu{TROIKA_DEVICE_CUDA, 0};
  const Trained measured = train(gpu, folder.path().string());
  EXPECT_TRUE(measured.warnings.empty()) << measured.warnings.front();
  int changed = 0;
  for (const auto& file : std::filesystem::directory_iterator(folder.path())) {
    nlohmann::json engines;
    std::ifstream(file.path()) >> engines;
    for (auto& [problem, engine] : engines.at("engines").items())
      if (problem.ends_with(", or small1")) {
        engine = "small1";
        ++changed;
      }
    std::ofstream(file.path()) << engines;
  }
  EXPECT_EQ(changed, 3) << "forward, input gradient, weight gradient";
  const Trained trained = train(gpu, folder.path().string()), on_cpu = train({TROIKA_DEVICE_CPU, 0});
  EXPECT_EQ(small_launches(trained), 3u) << trained.plan;
  expect_same(measured, on_cpu);
  expect_same(trained, on_cpu);
}

TEST_F(SmallProof, is_not_made_by_wrong_ones) {
  emulated_gpu::spoil_warp_products(true);
  const Trained wrong = train(), on_cpu = train({TROIKA_DEVICE_CPU, 0});
  expect_same(wrong, on_cpu);
  EXPECT_EQ(small_launches(wrong), 0u) << wrong.plan;
  for (const char* node : {"conv2d 'conv2' on cuda:0: the kernel small1 is not used: its result differs by ",
                           "conv2d_input_gradient 'conv2' on cuda:0: the kernel small1 is not used: ",
                           "conv2d_weight_gradient 'conv2' on cuda:0: the kernel small1 is not used: "})
    EXPECT_TRUE(std::any_of(wrong.warnings.begin(), wrong.warnings.end(),
                            [&](const std::string& line) { return line.starts_with(node); }))
        << node << (wrong.warnings.empty() ? "" : wrong.warnings.back());
}

}  // namespace
}  // namespace troika::test
