// A convolution of an image of one channel on tensor cores proves itself: a right kernel raises no
// warning, and a wrong one is not used.
#include "hopper_faults.h"
#include "one_step.h"

namespace troika::test {
namespace {

// A convolution with batch_norm2d and ReLU, and a linear layer.
troika_status build_net(troika_context context, troika_model* model, troika_error* error) {
  constexpr int64_t kImage[] = {1, 12, 12};
  troika_value x = -1;
  troika_conv2d_options conv2d = TROIKA_CONV2D_OPTIONS_INIT;
  conv2d.out_channels = 24;
  conv2d.kernel[0] = conv2d.kernel[1] = 3;
  Layers layers(context, model, error);
  layers.add(troika_model_add_input, "x", kImage, 3, &x);
  layers.add(troika_model_add_conv2d, "stem", x, &conv2d, &x);
  layers.add(troika_model_add_batch_norm2d, "norm", x, 1e-5, 0.1, &x);
  layers.add(troika_model_add_relu, "relu", x, &x);
  layers.add(troika_model_add_flatten, "flatten", x, &x);
  layers.add(troika_model_add_linear, "fc", x, 4, 1, &x);
  layers.add(troika_model_set_output, x);
  return layers.status();
}

const Recipe kNet = {.build = build_net,
                     .image = {1, 12, 12},
                     .labels = {1, 3},
                     .gradients = {{"stem.weight", 24 * 9}},
                     .buffers = {{"norm.running_var", 24}}};

class StemProof : public testing::Test {
 protected:
  void TearDown() override { emulated_gpu::spoil_warp_products(false); }
};

// Forward, weight gradient.
TEST_F(StemProof, is_made_by_a_right_kernel) {
  const Trained trained = expect_right_kernels(kNet, {{"stem_mma2", 2}});
  EXPECT_EQ(trained.launches_of("cuda:own:stem_mma2"), 2u) << trained.plan;
  EXPECT_EQ(trained.launches_of("_merged"), 1u) << "moments come from the convolution: " << trained.plan;
}

TEST_F(StemProof, is_not_made_by_a_wrong_one) {
  emulated_gpu::spoil_warp_products(true);
  const Trained wrong = train(kNet, {kGpu}), on_cpu = train(kNet, {kCpu});
  expect_same(kNet, wrong, on_cpu);
  EXPECT_EQ(wrong.launches_of("cuda:own:stem_mma2"), 0u) << wrong.plan;
  expect_warnings(wrong, {"conv2d 'stem' on cuda:0: the kernel stem_mma2 is not used: its result differs by ",
                          "conv2d_weight_gradient 'stem' on cuda:0: the kernel stem_mma2 is not used: "});
}

}  // namespace
}  // namespace troika::test
