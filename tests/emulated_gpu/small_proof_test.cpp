// Small convolutions on tensor cores prove themselves: right kernels raise no warning, and wrong
// ones are not used.
#include "hopper_faults.h"
#include "one_step.h"
#include "support/environment_guard.h"
#include "support/temp_directory.h"

namespace troika::test {
namespace {

// d2l_lenet. The gradient of conv1 comes through conv2's input gradient.
const Recipe kLenet = {
    .build = [](troika_context context, troika_model* model,
                troika_error* error) { return troika_model_create(context, "d2l_lenet", nullptr, model, error); },
    .image = {1, 28, 28},
    .labels = {1, 3, 9},
    .gradients = {{"conv2.weight", 50 * 20 * 25}, {"conv2.bias", 50}, {"conv1.weight", 20 * 9}},
    .buffers = {}};

// A maximum after a ReLU, and an average without one.
troika_status build_pools(troika_context context, troika_model* model, troika_error* error) {
  constexpr int64_t kImage[] = {3, 14, 14};
  troika_conv2d_options first = TROIKA_CONV2D_OPTIONS_INIT, second = TROIKA_CONV2D_OPTIONS_INIT;
  first.out_channels = 9;
  first.kernel[0] = first.kernel[1] = 3;
  first.padding[0] = first.padding[1] = 1;
  second.out_channels = 12;
  second.kernel[0] = second.kernel[1] = 2;
  second.no_bias = 1;
  troika_pool2d_options pool = TROIKA_POOL2D_OPTIONS_INIT;
  pool.kernel[0] = pool.kernel[1] = 2;
  troika_value x = -1;
  Layers layers(context, model, error);
  layers.add(troika_model_add_input, "x", kImage, 3, &x);
  layers.add(troika_model_add_conv2d, "first", x, &first, &x);
  layers.add(troika_model_add_relu, "relu", x, &x);
  layers.add(troika_model_add_max_pool2d, "max", x, &pool, &x);
  layers.add(troika_model_add_conv2d, "second", x, &second, &x);
  layers.add(troika_model_add_avg_pool2d, "average", x, &pool, &x);
  layers.add(troika_model_add_flatten, "flatten", x, &x);
  layers.add(troika_model_add_linear, "fc", x, 4, 1, &x);
  layers.add(troika_model_set_output, x);
  return layers.status();
}

const Recipe kPools = {.build = build_pools,
                       .image = {3, 14, 14},
                       .labels = {1, 3, 0},
                       .gradients = {{"first.weight", 9 * 3 * 9}, {"first.bias", 9}, {"second.weight", 12 * 9 * 4}},
                       .buffers = {}};

class SmallProof : public testing::Test {
 protected:
  void TearDown() override { emulated_gpu::spoil_warp_products(false); }
};

// Forward, input gradient, weight gradient.
TEST_F(SmallProof, is_made_by_right_kernels) {
  const Trained trained = expect_right_kernels(kLenet, {{"small2", 3}});
  EXPECT_EQ(trained.launches_of("cuda:own:small2"), 3u) << trained.plan;
  EXPECT_EQ(trained.launches_of("pool2d"), 0u) << "poolings belong to convolutions: " << trained.plan;
  EXPECT_EQ(trained.launches_of("reorder"), 0u) << "linear layers read what convolutions write: " << trained.plan;
}

// Forward and weight gradient of conv1 too, which has an image of one channel.
TEST_F(SmallProof, is_made_by_right_kernels_in_tf32) {
  const Trained trained = expect_right_kernels(kLenet, {{"small2", 3}, {"stem_mma2", 2}}, TROIKA_PRECISION_TF32);
  EXPECT_EQ(trained.launches_of("cuda:own:small2"), 3u) << trained.plan;
  EXPECT_EQ(trained.launches_of("cuda:own:stem_mma2"), 2u) << trained.plan;
}

// Forward, weight gradient, and once an input gradient.
TEST_F(SmallProof, is_made_by_right_kernels_of_poolings) {
  const Trained trained = expect_right_kernels(kPools, {{"small2", 5}}, TROIKA_PRECISION_TF32);
  EXPECT_EQ(trained.launches_of("cuda:own:small2"), 5u) << trained.plan;
  EXPECT_EQ(trained.launches_of("pool2d"), 0u) << "poolings belong to convolutions: " << trained.plan;
  EXPECT_EQ(trained.launches_of("reorder"), 1u) << "of the images alone: " << trained.plan;
  const EnvironmentGuard guard("TROIKA_OWN_KERNELS");
  set_variable("TROIKA_OWN_KERNELS", "0");
  const Trained apart = train(kPools, {kGpu}, "", TROIKA_PRECISION_TF32);
  EXPECT_EQ(apart.launches_of("pool2d"), 4u) << "two layers, forward and backward: " << apart.plan;
  expect_same(kPools, trained, apart);
}

// Copies of convolutions that pool are the same kernels.
TEST_F(SmallProof, is_needed_once_if_values_are_computed_again) {
  for (const Recipe* recipe : {&kLenet, &kPools}) {
    const TempDirectory folder;
    const auto train_in = [&](int64_t segments) {
      return train(*recipe, {kGpu}, folder.path().string(), TROIKA_PRECISION_TF32, segments);
    };
    train_in(0);
    EXPECT_GE(choose("small2", folder.path()), 3);
    choose("stem_mma2", folder.path());
    const Trained kept = train_in(0);
    for (int64_t segments : {3, 8}) {
      const Trained again = train_in(segments);
      EXPECT_EQ(again.numbers, kept.numbers) << segments;
      EXPECT_EQ(again.loss, kept.loss) << segments;
      EXPECT_EQ(again.launches_of("pool2d"), 0u) << again.plan;
      EXPECT_GT(again.launches_of("conv2d '"), kept.launches_of("conv2d '")) << segments << ": " << again.plan;
    }
  }
}

TEST_F(SmallProof, is_not_asked_for_in_f32) {
  const Trained trained = train(kLenet, {kGpu}, "", TROIKA_PRECISION_F32);
  EXPECT_EQ(trained.launches_of("cuda:own:small2") + trained.launches_of("cuda:own:stem_mma2"), 0u) << trained.plan;
  EXPECT_EQ(trained.launches_of("pool2d"), 4u) << "two layers, forward and backward: " << trained.plan;
  expect_same(kLenet, trained, train(kLenet, {kCpu}, "", TROIKA_PRECISION_F32));
}

TEST_F(SmallProof, is_not_made_by_wrong_ones) {
  emulated_gpu::spoil_warp_products(true);
  const Trained wrong = train(kLenet, {kGpu}), on_cpu = train(kLenet, {kCpu});
  expect_same(kLenet, wrong, on_cpu);
  EXPECT_EQ(wrong.launches_of("cuda:own:small2"), 0u) << wrong.plan;
  expect_warnings(wrong, {"conv2d 'conv2' on cuda:0: the kernel small2 is not used: its mask differs in ",
                          "conv2d_input_gradient 'conv2' on cuda:0: the kernel small2 is not used: ",
                          "conv2d_weight_gradient 'conv2' on cuda:0: the kernel small2 is not used: "});
}

// Without a ReLU the mask of an average has all bits, and the pooled image shows the fault.
TEST_F(SmallProof, is_not_made_by_wrong_ones_of_poolings) {
  emulated_gpu::spoil_warp_products(true);
  const Trained wrong = train(kPools, {kGpu}, "", TROIKA_PRECISION_TF32),
                on_cpu = train(kPools, {kCpu}, "", TROIKA_PRECISION_F32);
  expect_same(kPools, wrong, on_cpu);
  EXPECT_EQ(wrong.launches_of("cuda:own:small2"), 0u) << wrong.plan;
  expect_warnings(wrong, {"conv2d 'first' on cuda:0: the kernel small2 is not used: its mask differs in ",
                          "conv2d 'second' on cuda:0: the kernel small2 is not used: its result differs by "});
}

}  // namespace
}  // namespace troika::test
