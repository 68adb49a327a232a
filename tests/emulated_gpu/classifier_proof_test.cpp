// The kernel for the last layer of a classifier and its loss proves itself against the kernels of
// its parts.
#include "kernel_faults.h"
#include "one_step.h"

namespace troika::test {
namespace {

constexpr int64_t kFeatures = 24, kHidden = 16, kClasses = 5;

troika_status build_net(troika_context context, troika_model* model, troika_error* error) {
  constexpr int64_t kRow[] = {kFeatures};
  troika_value x = -1;
  Layers layers(context, model, error);
  layers.add(troika_model_add_input, "x", kRow, 1, &x);
  layers.add(troika_model_add_linear, "fc1", x, kHidden, 1, &x);
  layers.add(troika_model_add_relu, "relu", x, &x);
  layers.add(troika_model_add_linear, "fc2", x, kClasses, 1, &x);
  layers.add(troika_model_set_output, x);
  return layers.status();
}

const Recipe kNet = {.build = build_net,
                     .image = {kFeatures},
                     .labels = {1, 3, 0, 4, 2, 1, 1},
                     .gradients = {{"fc1.weight", kHidden* kFeatures},
                                   {"fc1.bias", kHidden},
                                   {"fc2.weight", kClasses* kHidden},
                                   {"fc2.bias", kClasses}},
                     .buffers = {}};

TEST(ClassifierProof, is_made_by_the_right_kernel) {
  for (const int32_t precision : {TROIKA_PRECISION_F32, TROIKA_PRECISION_BF16}) {
    const Trained trained = expect_right_kernels(kNet, {{"classifier1", 1}}, precision);
    EXPECT_EQ(trained.launches_of("cuda:own:classifier1"), 1u) << trained.plan;
  }
}

TEST(ClassifierProof, is_not_made_by_a_wrong_one) {
  emulated_gpu::lose_blocks_of("linear_cross_entropy_kernel");
  const Trained wrong = train(kNet, {kGpu}, "", TROIKA_PRECISION_F32);
  emulated_gpu::lose_blocks_of("");
  expect_same(kNet, wrong, train(kNet, {kCpu}, "", TROIKA_PRECISION_F32));
  EXPECT_EQ(wrong.launches_of("cuda:own:classifier1"), 0u) << wrong.plan;
  EXPECT_EQ(wrong.launches_of("cuda:cublaslt:parts"), 1u) << wrong.plan;
  ASSERT_EQ(wrong.warnings.size(), 1u);
  EXPECT_NE(wrong.warnings[0].find("the kernel classifier1 is not used: its total is "), std::string::npos)
      << wrong.warnings[0];
}

}  // namespace
}  // namespace troika::test
