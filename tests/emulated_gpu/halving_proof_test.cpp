// The kernels for convolutions that halve an image, which must prove themselves.
#include "hopper_faults.h"
#include "one_step.h"

namespace troika::test {
namespace {

using emulated_gpu::hopper::spoil_products;

constexpr int64_t kChannels = 64, kSize = 28, kClasses = 4;

// Blocks of a ResNet that halve the image.
enum class Block {
  plain,       // without a shortcut
  basic,       // the convolution that halves comes first
  bottleneck,  // one of 1x1 comes first
};

// A convolution with batch_norm2d, ReLU and, before a shortcut, a residual. Then a block.
troika_status build_net(Block block, troika_context context, troika_model* model, troika_error* error) {
  constexpr int64_t kImage[] = {kChannels, kSize, kSize};
  Layers layers(context, model, error);
  troika_value x = -1, y = -1, shortcut = -1;
  const bool has_shortcut = block != Block::plain;
  const auto add_conv2d = [&](const std::string& name, troika_value from, int64_t channels, int64_t kernel,
                              int64_t stride, troika_value* to) {
    troika_conv2d_options conv2d = TROIKA_CONV2D_OPTIONS_INIT;
    conv2d.out_channels = channels;
    conv2d.kernel[0] = conv2d.kernel[1] = kernel;
    conv2d.stride[0] = conv2d.stride[1] = stride;
    conv2d.padding[0] = conv2d.padding[1] = kernel / 2;
    layers.add(troika_model_add_conv2d, name.c_str(), from, &conv2d, to);
    layers.add(troika_model_add_batch_norm2d, (name + "_norm").c_str(), *to, 1e-5, 0.1, to);
  };
  layers.add(troika_model_add_input, "x", kImage, 3, &x);
  add_conv2d("first", x, kChannels, 3, 1, &y);
  if (has_shortcut) layers.add(troika_model_add_sum, "first_sum", y, x, &y);
  layers.add(troika_model_add_relu, "first_relu", y, &y);
  x = y;
  if (block == Block::bottleneck) {
    add_conv2d("before", x, kChannels, 1, 1, &x);
    layers.add(troika_model_add_relu, "before_relu", x, &x);
  }
  add_conv2d("halving", x, 2 * kChannels, 3, 2, &x);
  if (has_shortcut) {
    add_conv2d("shortcut", y, 2 * kChannels, 1, 2, &shortcut);
    layers.add(troika_model_add_sum, "sum", x, shortcut, &x);
  }
  layers.add(troika_model_add_relu, "relu", x, &x);
  layers.add(troika_model_add_flatten, "flatten", x, &x);
  layers.add(troika_model_add_linear, "fc", x, kClasses, 1, &x);
  layers.add(troika_model_set_output, x);
  return layers.status();
}

Recipe net(Block block) {
  Recipe recipe = {.build = [=](auto... arguments) { return build_net(block, arguments...); },
                   .image = {kChannels, kSize, kSize},
                   .labels = {1},
                   .gradients = {{"first.weight", kChannels * kChannels * 9},
                                 {"first_norm.weight", kChannels},
                                 {"first_norm.bias", kChannels},
                                 {"halving.weight", 2 * kChannels * kChannels * 9}},
                   .buffers = {{"halving_norm.running_var", 2 * kChannels}}};
  if (block != Block::plain) recipe.gradients["shortcut.weight"] = 2 * kChannels * kChannels;
  if (block == Block::bottleneck) recipe.gradients["before_norm.weight"] = kChannels;
  return recipe;
}

// The shortcut's input gradient is an image of half of the size.
void expect_stored_without_gaps(const Trained& trained) {
  constexpr int64_t kBytes = 2 * kChannels * (kSize / 2) * (kSize / 2);
  EXPECT_NE(trained.plan.find(":" + std::to_string(kBytes) + "\n"), std::string::npos) << trained.plan;
}

class HalvingProof : public testing::Test {
 protected:
  void TearDown() override { spoil_products(false); }
};

// Both convolutions, the weight gradient of the first, and the input gradient of the second with a
// ReLU's gradient.
TEST_F(HalvingProof, a_right_kernel_takes_a_relu_along) {
  const Trained trained = expect_right_kernels(net(Block::plain), {{"hopper2", 4}});
  EXPECT_EQ(trained.launches_of("_summed"), 1u) << "sums come from the input gradient: " << trained.plan;
}

// And three of the shortcut. Its input gradient has no zeros.
TEST_F(HalvingProof, a_right_kernel_takes_another_gradient_with_gaps_along) {
  const Trained trained = expect_right_kernels(net(Block::basic), {{"hopper2", 7}});
  EXPECT_EQ(trained.launches_of("_summed"), 1u) << "sums come from the input gradient: " << trained.plan;
  expect_stored_without_gaps(trained);
}

// And three of the convolution of 1x1, whose input gradient adds that of the shortcut.
TEST_F(HalvingProof, a_right_kernel_of_1x1_takes_a_gradient_with_gaps_along) {
  const Trained trained = expect_right_kernels(net(Block::bottleneck), {{"hopper2", 10}});
  EXPECT_EQ(trained.launches_of("_summed"), 2u) << "sums come from the input gradient: " << trained.plan;
  expect_stored_without_gaps(trained);
}

TEST_F(HalvingProof, a_wrong_kernel_is_struck_out_and_changes_no_result) {
  const Trained right = train(net(Block::basic), {kGpu});
  spoil_products(true);
  const Trained wrong = train(net(Block::basic), {kGpu});
  expect_same(net(Block::basic), wrong, right);
  EXPECT_EQ(wrong.launches_of("cuda:own:hopper"), 0u) << wrong.plan;
  expect_warnings(wrong, {"conv2d 'first' on cuda:0: the kernel hopper2 is not used: its result differs by ",
                          "conv2d 'halving' on cuda:0: the kernel hopper2 is not used: ",
                          "conv2d 'shortcut' on cuda:0: the kernel hopper2 is not used: ",
                          "conv2d_input_gradient 'shortcut' on cuda:0: the kernel hopper2 is not used: ",
                          "conv2d_input_gradient 'halving' on cuda:0: the kernel hopper2 is not used: ",
                          "conv2d_weight_gradient 'shortcut' on cuda:0: the kernel hopper2 is not used: ",
                          "conv2d_weight_gradient 'first' on cuda:0: the kernel hopper2 is not used: "});
}

}  // namespace
}  // namespace troika::test
