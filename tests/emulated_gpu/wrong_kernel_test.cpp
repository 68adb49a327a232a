// A kernel that must prove itself: a right one raises no warning, and a wrong one is not used.
#include <algorithm>
#include <bit>

#include "hopper_faults.h"
#include "kernel_faults.h"
#include "one_step.h"
#include "support/environment_guard.h"
#include "support/temp_directory.h"

namespace troika::test {
namespace {

using emulated_gpu::lose_blocks_of;
using emulated_gpu::hopper::spoil_products;

constexpr int64_t kChannels = 64, kSize = 28, kClasses = 4;

// Three convolutions with batch_norm2d and ReLU, and a linear layer. The result of the first is
// added to that of the third.
troika_status build_net(troika_context context, troika_model* model, troika_error* error) {
  constexpr int64_t kImage[] = {kChannels, kSize, kSize};
  troika_conv2d_options conv2d = TROIKA_CONV2D_OPTIONS_INIT;
  conv2d.out_channels = kChannels;
  conv2d.kernel[0] = conv2d.kernel[1] = 3;
  conv2d.padding[0] = conv2d.padding[1] = 1;
  Layers layers(context, model, error);
  troika_value x = -1, shortcut = -1;
  layers.add(troika_model_add_input, "x", kImage, 3, &x);
  for (const std::string name : {"first", "second", "third"}) {
    layers.add(troika_model_add_conv2d, name.c_str(), x, &conv2d, &x);
    layers.add(troika_model_add_batch_norm2d, (name + "_norm").c_str(), x, 1e-5, 0.1, &x);
    if (name == "third") layers.add(troika_model_add_sum, "sum", x, shortcut, &x);
    layers.add(troika_model_add_relu, (name + "_relu").c_str(), x, &x);
    if (name == "first") shortcut = x;
  }
  layers.add(troika_model_add_flatten, "flatten", x, &x);
  layers.add(troika_model_add_linear, "fc", x, kClasses, 1, &x);
  layers.add(troika_model_set_output, x);
  return layers.status();
}

Recipe net_with(const std::vector<int32_t>& labels) {
  return {.build = build_net,
          .image = {kChannels, kSize, kSize},
          .labels = labels,
          .gradients = {{"first_norm.weight", kChannels},
                        {"first.weight", kChannels * kChannels * 9},
                        {"fc.weight", kClasses * kChannels * kSize * kSize},
                        {"fc.bias", kClasses}},
          .buffers = {{"second_norm.running_var", kChannels}}};
}

const Recipe kNet = net_with({1});

class WrongKernel : public testing::Test {
 protected:
  void TearDown() override {
    spoil_products(false);
    lose_blocks_of("");
  }
};

TEST_F(WrongKernel, is_no_right_one) {
  const Trained trained = train(kNet, {kGpu});
  EXPECT_TRUE(trained.warnings.empty()) << trained.warnings.front();
  EXPECT_EQ(trained.launches_of("_merged"), 3u) << "moments come from the convolution: " << trained.plan;
  EXPECT_EQ(trained.launches_of("_summed"), 2u) << "sums come from the input gradient: " << trained.plan;
  expect_same(kNet, trained, train(kNet, {kCpu}));
}

// Forward, input gradients without and with another gradient, weight gradient. Forward and weight
// gradient of the third apply the batch_norm2d before.
TEST_F(WrongKernel, is_none_of_those_that_compute_a_whole_step) {
  const Trained trained = expect_right_kernels(kNet, {{"hopper2", 6}});
  EXPECT_EQ(trained.launches_of("cuda:own:hopper2"), 8u) << trained.plan;
  EXPECT_EQ(trained.launches_of("_merged_alone"), 1u) << "its image is never stored: " << trained.plan;
}

TEST_F(WrongKernel, is_struck_out_and_changes_no_result) {
  const Trained right = train(kNet, {kGpu});
  spoil_products(true);
  const Trained wrong = train(kNet, {kGpu});
  EXPECT_NEAR(wrong.loss, right.loss, 1e-2 * right.loss);
  EXPECT_EQ(wrong.launches_of("cuda:own:hopper"), 0u) << wrong.plan;
  // The other nodes have the same problems, which are remembered.
  expect_warnings(wrong, {"conv2d 'first' on cuda:0: the kernel hopper2 is not used: its result differs by ",
                          "conv2d 'third' on cuda:0: the kernel hopper2 is not used: ",
                          "conv2d_input_gradient 'third' on cuda:0: the kernel hopper2 is not used: ",
                          "conv2d_input_gradient 'second' on cuda:0: the kernel hopper2 is not used: ",
                          "conv2d_weight_gradient 'third' on cuda:0: the kernel hopper2 is not used: ",
                          "conv2d_weight_gradient 'second' on cuda:0: the kernel hopper2 is not used: "});
}

TEST_F(WrongKernel, is_none_of_a_linear_layer_of_few_outputs) {
  const Trained trained = expect_right_kernels(kNet, {{"few_outputs1", 1}});
  EXPECT_EQ(trained.launches_of("cuda:own:few_outputs1"), 1u) << trained.plan;
}

TEST_F(WrongKernel, is_left_out_on_request) {
  const EnvironmentGuard guard("TROIKA_OWN_KERNELS");
  set_variable("TROIKA_OWN_KERNELS", "0");
  spoil_products(true);
  const Trained trained = train(kNet, {kGpu});
  EXPECT_TRUE(trained.warnings.empty()) << trained.warnings.front();
  for (const char* own : {"cuda:own:hopper", "few_outputs", "_merged", "_summed"})
    EXPECT_EQ(trained.launches_of(own), 0u) << own << trained.plan;
}

// Gradients of weights that cuDNN returns in 16 bits are widened together, and then are still
// numbers of 16 bits.
TEST_F(WrongKernel, is_none_that_widens_gradients) {
  const TempDirectory folder;
  train(kNet, {kGpu}, folder.path().string());
  const auto is_changed = [](const std::string& problem, std::string& engine) {
    if (!problem.starts_with("conv2d_weight_gradient ") || problem.find(", rounded") != std::string::npos) return false;
    engine = "rounded:eng0";
    return true;
  };
  EXPECT_EQ(change_engines(folder.path(), is_changed), 3) << "with the batch_norm2d before, without, and the best engine";
  const Trained trained = train(kNet, {kGpu}, folder.path().string()), on_cpu = train(kNet, {kCpu});
  EXPECT_EQ(trained.launches_of("cast_all 'gradients' by cuda:own:bf16_to_f32_all"), 1u) << trained.plan;
  expect_same(kNet, trained, on_cpu);
  const auto has_16_bits = [](float g) { return (std::bit_cast<uint32_t>(g) & 0xffff) == 0; };
  const auto &gradient = trained.numbers.at("first.weight"), &of_linear = trained.numbers.at("fc.weight");
  EXPECT_TRUE(std::all_of(gradient.begin(), gradient.end(), has_16_bits));
  EXPECT_FALSE(std::all_of(of_linear.begin(), of_linear.end(), has_16_bits));
}

// A sum over ranks begins with the first gradients, and would wait for the last.
TEST_F(WrongKernel, is_none_that_widens_gradients_of_several_ranks) {
  const TempDirectory folder;
  const Recipe net = net_with({1, 2});
  train(net, {kGpu, {TROIKA_DEVICE_CUDA, 1}}, folder.path().string());
  EXPECT_EQ(change_engines(folder.path(),
                           [](const std::string& problem, std::string& engine) {
                             if (!problem.starts_with("conv2d_weight_gradient ")) return false;
                             engine = "rounded:eng0";
                             return true;
                           }),
            3);
  const Trained trained = train(net, {kGpu, {TROIKA_DEVICE_CUDA, 1}}, folder.path().string());
  for (const std::string name : {"first", "second", "third"})
    EXPECT_EQ(trained.launches_of("conv2d_weight_gradient '" + name + "' by cuda:cudnn:eng0 "), 2u) << trained.plan;
  EXPECT_EQ(trained.launches_of("cast_all 'gradients'"), 0u) << trained.plan;
}

TEST_F(WrongKernel, of_a_linear_layer_is_struck_out_and_changes_no_result) {
  const Trained right = train(kNet, {kGpu});
  lose_blocks_of("few_outputs_kernel");
  const Trained wrong = train(kNet, {kGpu});
  EXPECT_EQ(wrong.launches_of("few_outputs"), 0u) << wrong.plan;
  for (const char* name : {"fc.weight", "fc.bias"})
    EXPECT_LT(distance(wrong.numbers.at(name), right.numbers.at(name)), 1e-2) << name;
  ASSERT_EQ(wrong.warnings.size(), 1u);
  expect_warnings(
      wrong, {"linear_weight_gradient 'fc' on cuda:0: the kernel few_outputs1 is not used: its result differs by "});
}

}  // namespace
}  // namespace troika::test
