// A kernel that must prove itself: a right one raises no warning, and a wrong one is not used.
#include <gtest/gtest.h>
#include <troika/troika.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "hopper_faults.h"
#include "kernel_faults.h"
#include "support/environment_guard.h"
#include "support/temp_directory.h"

namespace troika::test {
namespace {

using emulated_gpu::lose_blocks_of;
using emulated_gpu::hopper::spoil_products;

struct Trained {
  std::vector<std::string> warnings;
  std::string plan;
  float loss = 0;
  std::vector<float> variance;                   // of the second batch_norm2d
  std::vector<float> weight_gradient, gradient;  // of the first batch_norm2d's weight, of the first convolution
  std::vector<float> linear_gradient, linear_bias_gradient;
};

void add_line(int32_t, const char*, const char* line, void* lines) {
  static_cast<std::vector<std::string>*>(lines)->emplace_back(line);
}

// One step in bf16 of three convolutions of 64 channels with batch_norm2d, of images of 28x28. The
// result of the first is added to that of the third.
// Without a folder of engines, they are measured anew.
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
  constexpr int64_t kImage[] = {64, 28, 28}, kElements = 64 * 28 * 28, kSamples = 1;
  troika_value x = -1;
  call(troika_model_add_input(model, "x", kImage, 3, &x, &error));
  troika_value shortcut = -1;
  for (const char* name : {"first", "second", "third"}) {
    troika_conv2d_options conv2d = TROIKA_CONV2D_OPTIONS_INIT;
    conv2d.out_channels = 64;
    conv2d.kernel[0] = conv2d.kernel[1] = 3;
    conv2d.padding[0] = conv2d.padding[1] = 1;
    call(troika_model_add_conv2d(model, name, x, &conv2d, &x, &error));
    call(troika_model_add_batch_norm2d(model, (std::string(name) + "_norm").c_str(), x, 1e-5, 0.1, &x, &error));
    if (std::string(name) == "third") call(troika_model_add_sum(model, "sum", x, shortcut, &x, &error));
    call(troika_model_add_relu(model, (std::string(name) + "_relu").c_str(), x, &x, &error));
    if (std::string(name) == "first") shortcut = x;
  }
  call(troika_model_add_flatten(model, "flatten", x, &x, &error));
  call(troika_model_add_linear(model, "fc", x, 4, 1, &x, &error));
  call(troika_model_set_output(model, x, &error));
  troika_trainer_options trainer_options = TROIKA_TRAINER_OPTIONS_INIT;
  trainer_options.precision = TROIKA_PRECISION_BF16;
  trainer_options.learning_rate = 0.01;
  call(troika_model_attach(model, &device, 1, &trainer_options, &trainer, &error));

  std::vector<float> images(kSamples * kElements);
  for (size_t i = 0; i < images.size(); ++i) images[i] = static_cast<float>(i % 17) / 8 - 1;
  const int32_t labels[kSamples] = {1};
  const int64_t dims[] = {kSamples, 64, 28, 28};
  troika_tensor inputs = nullptr, targets = nullptr;
  troika_batch batch = nullptr;
  const troika_device cpu{TROIKA_DEVICE_CPU, 0};
  call(troika_tensor_create(context, cpu, TROIKA_DTYPE_F32, dims, 4, images.data(), &inputs, &error));
  call(troika_tensor_create(context, cpu, TROIKA_DTYPE_I32, dims, 1, labels, &targets, &error));
  call(troika_batch_create(inputs, targets, &batch, &error));
  troika_step_result result = TROIKA_STEP_RESULT_INIT;
  call(troika_trainer_step(trainer, batch, &result, &error));
  trained.loss = static_cast<float>(result.loss);
  trained.weight_gradient.resize(64);
  call(troika_trainer_get_gradient(trainer, "first_norm.weight", trained.weight_gradient.data(), 64 * 4, &error));
  trained.gradient.resize(64 * 64 * 9);
  call(troika_trainer_get_gradient(trainer, "first.weight", trained.gradient.data(), 64 * 64 * 9 * 4, &error));
  trained.linear_gradient.resize(4 * kElements);
  call(troika_trainer_get_gradient(trainer, "fc.weight", trained.linear_gradient.data(), 4 * kElements * 4, &error));
  trained.linear_bias_gradient.resize(4);
  call(troika_trainer_get_gradient(trainer, "fc.bias", trained.linear_bias_gradient.data(), 4 * 4, &error));
  trained.variance.resize(64);
  call(troika_model_get_parameter(model, "second_norm.running_var", trained.variance.data(), 64 * 4, &error));
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

// The norm of the difference, as a part of the norm.
double distance(const std::vector<float>& found, const std::vector<float>& expected) {
  double difference = 0, norm = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    difference += std::pow(found[i] - expected[i], 2);
    norm += std::pow(expected[i], 2);
  }
  return std::sqrt(difference / norm);
}

// Changes files of engines by change_one(problem, engine), which returns whether it has changed the
// engine. Returns how many it has.
template <typename ChangeOne>
int change(const std::filesystem::path& folder, ChangeOne change_one) {
  int changed = 0;
  for (const auto& file : std::filesystem::directory_iterator(folder)) {
    nlohmann::json engines;
    std::ifstream(file.path()) >> engines;
    for (auto& [problem, engine] : engines.at("engines").items()) {
      std::string changed_engine = engine;
      if (!change_one(problem, changed_engine)) continue;
      engine = changed_engine;
      ++changed;
    }
    std::ofstream(file.path()) << engines;
  }
  return changed;
}

// Has an own kernel wherever it was measured.
int choose(const char* kernel, const std::filesystem::path& folder) {
  return change(folder, [&](const std::string& problem, std::string& engine) {
    const bool is_changed = problem.ends_with(std::string(", or ") + kernel);
    if (is_changed) engine = kernel;
    return is_changed;
  });
}

class WrongKernel : public testing::Test {
 protected:
  void TearDown() override {
    spoil_products(false);
    lose_blocks_of("");
  }
};

TEST_F(WrongKernel, is_no_right_one) {
  const Trained trained = train();
  EXPECT_TRUE(trained.warnings.empty()) << trained.warnings.front();
  EXPECT_NE(trained.plan.find("_merged"), std::string::npos) << "moments come from the convolution: " << trained.plan;
  const Trained on_cpu = train({TROIKA_DEVICE_CPU, 0});
  EXPECT_NEAR(trained.loss, on_cpu.loss, 2e-2 * on_cpu.loss);
  for (size_t i = 0; i < trained.variance.size(); ++i)
    EXPECT_NEAR(trained.variance[i], on_cpu.variance[i], 1e-2 * on_cpu.variance[i]) << i;
  EXPECT_NE(trained.plan.find("_summed"), std::string::npos) << "sums come from the input gradient: " << trained.plan;
  EXPECT_LT(distance(trained.weight_gradient, on_cpu.weight_gradient), 5e-2);
  EXPECT_LT(distance(trained.gradient, on_cpu.gradient), 5e-2);
}

// On GPUs in software the kernels for Hopper are slow, and not chosen. So the file of engines is
// changed to have them.
TEST_F(WrongKernel, is_none_of_those_that_compute_a_whole_step) {
  const TempDirectory folder;
  const troika_device gpu{TROIKA_DEVICE_CUDA, 0};
  train(gpu, folder.path().string());
  EXPECT_EQ(choose("hopper2", folder.path()), 4)
      << "forward, input gradients without and with another gradient, weight gradient";
  const Trained trained = train(gpu, folder.path().string()), on_cpu = train({TROIKA_DEVICE_CPU, 0});
  size_t launches = 0;
  for (size_t at = 0; (at = trained.plan.find("cuda:own:hopper2", at)) != std::string::npos; ++at) ++launches;
  EXPECT_EQ(launches, 8u) << trained.plan;
  EXPECT_NEAR(trained.loss, on_cpu.loss, 2e-2 * on_cpu.loss);
  EXPECT_LT(distance(trained.variance, on_cpu.variance), 1e-2);
  EXPECT_LT(distance(trained.weight_gradient, on_cpu.weight_gradient), 5e-2);
  EXPECT_LT(distance(trained.gradient, on_cpu.gradient), 5e-2);
}

TEST_F(WrongKernel, is_struck_out_and_changes_no_result) {
  const Trained right = train();
  spoil_products(true);
  const Trained wrong = train();
  EXPECT_NEAR(wrong.loss, right.loss, 1e-2 * right.loss);
  EXPECT_EQ(wrong.plan.find("cuda:own:hopper"), std::string::npos) << wrong.plan;
  // The other nodes have the same problems, which are remembered.
  for (const char* node : {"conv2d 'first' on cuda:0: the kernel hopper2 is not used: its result differs by ",
                           "conv2d_input_gradient 'third' on cuda:0: the kernel hopper2 is not used: ",
                           "conv2d_input_gradient 'second' on cuda:0: the kernel hopper2 is not used: ",
                           "conv2d_weight_gradient 'third' on cuda:0: the kernel hopper2 is not used: "})
    EXPECT_TRUE(std::any_of(wrong.warnings.begin(), wrong.warnings.end(),
                            [&](const std::string& line) { return line.starts_with(node); }))
        << node << (wrong.warnings.empty() ? "" : wrong.warnings.back());
}

TEST_F(WrongKernel, is_none_of_a_linear_layer_of_few_outputs) {
  const TempDirectory folder;
  const troika_device gpu{TROIKA_DEVICE_CUDA, 0};
  train(gpu, folder.path().string());
  EXPECT_EQ(choose("few_outputs1", folder.path()), 1);
  const Trained trained = train(gpu, folder.path().string()), on_cpu = train({TROIKA_DEVICE_CPU, 0});
  EXPECT_NE(trained.plan.find("cuda:own:few_outputs1"), std::string::npos) << trained.plan;
  EXPECT_LT(distance(trained.linear_gradient, on_cpu.linear_gradient), 5e-2);
  EXPECT_LT(distance(trained.linear_bias_gradient, on_cpu.linear_bias_gradient), 5e-2);
}

TEST_F(WrongKernel, is_left_out_on_request) {
  const EnvironmentGuard guard("TROIKA_OWN_KERNELS");
  set_variable("TROIKA_OWN_KERNELS", "0");
  spoil_products(true);
  const Trained trained = train();
  EXPECT_TRUE(trained.warnings.empty()) << trained.warnings.front();
  for (const char* own : {"cuda:own:hopper", "few_outputs", "_merged", "_summed"})
    EXPECT_EQ(trained.plan.find(own), std::string::npos) << own << trained.plan;
}

// Gradients of weights that cuDNN returns in 16 bits are widened together, and then are still
// numbers of 16 bits.
TEST_F(WrongKernel, is_none_that_widens_gradients) {
  const TempDirectory folder;
  const troika_device gpu{TROIKA_DEVICE_CUDA, 0};
  train(gpu, folder.path().string());
  EXPECT_EQ(change(folder.path(),
                   [](const std::string& problem, std::string& engine) {
                     const bool is_changed =
                         problem.starts_with("conv2d_weight_gradient ") && !problem.ends_with(", rounded");
                     if (is_changed) engine = "rounded:eng0";
                     return is_changed;
                   }),
            1);
  const Trained trained = train(gpu, folder.path().string()), on_cpu = train({TROIKA_DEVICE_CPU, 0});
  EXPECT_NE(trained.plan.find("cast_all 'gradients' by cuda:own:bf16_to_f32_all"), std::string::npos) << trained.plan;
  EXPECT_LT(distance(trained.gradient, on_cpu.gradient), 5e-2);
  EXPECT_TRUE(std::all_of(trained.gradient.begin(), trained.gradient.end(),
                          [](float g) { return (std::bit_cast<uint32_t>(g) & 0xffff) == 0; }));
  EXPECT_TRUE(std::any_of(trained.linear_gradient.begin(), trained.linear_gradient.end(),
                          [](float g) { return (std::bit_cast<uint32_t>(g) & 0xffff) != 0; }));
}

TEST_F(WrongKernel, of_a_linear_layer_is_struck_out_and_changes_no_result) {
  const Trained right = train();
  lose_blocks_of("few_outputs_kernel");
  const Trained wrong = train();
  EXPECT_EQ(wrong.plan.find("few_outputs"), std::string::npos) << wrong.plan;
  EXPECT_LT(distance(wrong.linear_gradient, right.linear_gradient), 1e-2);
  EXPECT_LT(distance(wrong.linear_bias_gradient, right.linear_bias_gradient), 1e-2);
  ASSERT_EQ(wrong.warnings.size(), 1u);
  EXPECT_TRUE(wrong.warnings.front().starts_with(
      "linear_weight_gradient 'fc' on cuda:0: the kernel few_outputs1 is not used: its result differs by "))
      << wrong.warnings.front();
}

}  // namespace
}  // namespace troika::test
