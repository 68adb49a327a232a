// Kernels for filters of 1x1 on Hopper, which must prove themselves.
#include "hopper_faults.h"
#include "one_step.h"

namespace troika::test {
namespace {

using emulated_gpu::hopper::spoil_products;

constexpr int64_t kChannels = 64, kSize = 8, kClasses = 4;

struct Layer {
  std::string name;
  int64_t channels, stride;
};

// Convolutions with batch_norm2d and ReLU, and a linear layer. The result of the first is added to
// that of the third.
troika_status build_net(troika_context context, troika_model* model, troika_error* error) {
  constexpr int64_t kImage[] = {kChannels, kSize, kSize};
  Layers layers(context, model, error);
  troika_value x = -1, shortcut = -1;
  layers.add(troika_model_add_input, "x", kImage, 3, &x);
  for (const auto& [name, channels, stride] :
       {Layer{"first", 128, 1}, Layer{"second", 64, 1}, Layer{"third", 128, 1}, Layer{"fourth", 192, 2}}) {
    troika_conv2d_options conv2d = TROIKA_CONV2D_OPTIONS_INIT;
    conv2d.out_channels = channels;
    conv2d.kernel[0] = conv2d.kernel[1] = 1;
    conv2d.stride[0] = conv2d.stride[1] = stride;
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

const Recipe kNet = {.build = build_net,
                     .image = {kChannels, kSize, kSize},
                     .labels = {1, 3, 0},
                     .gradients = {{"first.weight", 128 * kChannels},
                                   {"first_norm.weight", 128},
                                   {"second.weight", 64 * 128},
                                   {"second_norm.bias", 64},
                                   {"third.weight", 128 * 64},
                                   {"fourth.weight", 192 * 128}},
                     .buffers = {{"third_norm.running_var", 128}, {"fourth_norm.running_mean", 192}}};

class OneByOneProof : public testing::Test {
 protected:
  void TearDown() override { spoil_products(false); }
};

// Three forward, input gradients without sums, with, and with another gradient, three weight
// gradients.
TEST_F(OneByOneProof, right_kernels_compute_a_whole_step) {
  const Trained trained = expect_right_kernels(kNet, {{"hopper2", 9}});
  EXPECT_EQ(trained.launches_of("cuda:own:hopper2"), 11u) << trained.plan;
  EXPECT_EQ(trained.launches_of("_merged"), 4u) << "moments come from the convolution: " << trained.plan;
  EXPECT_EQ(trained.launches_of("_summed"), 2u) << "sums come from the input gradient: " << trained.plan;
}

TEST_F(OneByOneProof, wrong_kernels_are_struck_out_and_change_no_result) {
  const Trained right = train(kNet, {kGpu});
  spoil_products(true);
  const Trained wrong = train(kNet, {kGpu});
  EXPECT_NEAR(wrong.loss, right.loss, 1e-2 * right.loss);
  EXPECT_EQ(wrong.launches_of("cuda:own:hopper"), 0u) << wrong.plan;
  // The third has problems of the first, which are remembered.
  expect_warnings(wrong, {"conv2d 'first' on cuda:0: the kernel hopper2 is not used: its result differs by ",
                          "conv2d 'second' on cuda:0: the kernel hopper2 is not used: ",
                          "conv2d 'fourth' on cuda:0: the kernel hopper2 is not used: ",
                          "conv2d_input_gradient 'fourth' on cuda:0: the kernel hopper2 is not used: ",
                          "conv2d_input_gradient 'third' on cuda:0: the kernel hopper2 is not used: ",
                          "conv2d_input_gradient 'second' on cuda:0: the kernel hopper2 is not used: ",
                          "conv2d_weight_gradient 'fourth' on cuda:0: the kernel hopper2 is not used: ",
                          "conv2d_weight_gradient 'third' on cuda:0: the kernel hopper2 is not used: ",
                          "conv2d_weight_gradient 'second' on cuda:0: the kernel hopper2 is not used: "});
}

}  // namespace
}  // namespace troika::test
