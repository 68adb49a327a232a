// Small convolutions on tensor cores prove themselves: right kernels raise no warning, and wrong
// ones are not used.
#include "hopper_faults.h"
#include "one_step.h"
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

class SmallProof : public testing::Test {
 protected:
  void TearDown() override { emulated_gpu::spoil_warp_products(false); }
};

TEST_F(SmallProof, is_made_by_right_kernels) {
  const TempDirectory folder;
  const Trained measured = train(kLenet, {kGpu}, folder.path().string());
  EXPECT_TRUE(measured.warnings.empty()) << measured.warnings.front();
  EXPECT_EQ(choose("small1", folder.path()), 3) << "forward, input gradient, weight gradient";
  const Trained trained = train(kLenet, {kGpu}, folder.path().string()), on_cpu = train(kLenet, {kCpu});
  EXPECT_EQ(trained.launches_of("cuda:own:small1"), 3u) << trained.plan;
  expect_same(kLenet, measured, on_cpu);
  expect_same(kLenet, trained, on_cpu);
}

// Those of conv1 too, which has an image of one channel.
TEST_F(SmallProof, is_made_by_right_kernels_in_tf32) {
  const TempDirectory folder;
  const Trained measured = train(kLenet, {kGpu}, folder.path().string(), TROIKA_PRECISION_TF32);
  EXPECT_TRUE(measured.warnings.empty()) << measured.warnings.front();
  EXPECT_EQ(choose("small1", folder.path()), 3) << "forward, input gradient, weight gradient";
  EXPECT_EQ(choose("stem_mma1", folder.path()), 2) << "forward, weight gradient";
  const Trained trained = train(kLenet, {kGpu}, folder.path().string(), TROIKA_PRECISION_TF32),
                on_cpu = train(kLenet, {kCpu}, "", TROIKA_PRECISION_F32);
  EXPECT_EQ(trained.launches_of("cuda:own:small1"), 3u) << trained.plan;
  EXPECT_EQ(trained.launches_of("cuda:own:stem_mma1"), 2u) << trained.plan;
  expect_same(kLenet, measured, on_cpu);
  expect_same(kLenet, trained, on_cpu);
}

TEST_F(SmallProof, is_not_asked_for_in_f32) {
  const Trained trained = train(kLenet, {kGpu}, "", TROIKA_PRECISION_F32);
  EXPECT_EQ(trained.launches_of("cuda:own:small1") + trained.launches_of("cuda:own:stem_mma1"), 0u) << trained.plan;
  expect_same(kLenet, trained, train(kLenet, {kCpu}, "", TROIKA_PRECISION_F32));
}

TEST_F(SmallProof, is_not_made_by_wrong_ones) {
  emulated_gpu::spoil_warp_products(true);
  const Trained wrong = train(kLenet, {kGpu}), on_cpu = train(kLenet, {kCpu});
  expect_same(kLenet, wrong, on_cpu);
  EXPECT_EQ(wrong.launches_of("cuda:own:small1"), 0u) << wrong.plan;
  expect_warnings(wrong, {"conv2d 'conv2' on cuda:0: the kernel small1 is not used: its result differs by ",
                          "conv2d_input_gradient 'conv2' on cuda:0: the kernel small1 is not used: ",
                          "conv2d_weight_gradient 'conv2' on cuda:0: the kernel small1 is not used: "});
}

}  // namespace
}  // namespace troika::test
