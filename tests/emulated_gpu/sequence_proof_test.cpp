// Kernels for all steps of lstm and gru, which must prove themselves.
#include "kernel_faults.h"
#include "one_step.h"

namespace troika::test {
namespace {

constexpr int64_t kSteps = 6, kFeatures = 5, kClasses = 4;

struct Kernel {
  const char* name;
  int64_t hidden;
};
constexpr Kernel kKernels[] = {{"sequence1", 12}, {"teams1", 130}};

Recipe net(bool is_lstm, int64_t hidden) {
  const auto build = [=](troika_context context, troika_model* model, troika_error* error) {
    constexpr int64_t kSequence[] = {kSteps, kFeatures};
    Layers layers(context, model, error);
    troika_value x = -1;
    layers.add(troika_model_add_input, "x", kSequence, 2, &x);
    layers.add(is_lstm ? troika_model_add_lstm : troika_model_add_gru, "rnn", x, hidden, 1, &x);
    layers.add(troika_model_add_select_step, "last", x, -1, &x);
    layers.add(troika_model_add_linear, "fc", x, kClasses, 1, &x);
    layers.add(troika_model_set_output, x);
    return layers.status();
  };
  const int64_t rows = (is_lstm ? 4 : 3) * hidden;
  return {.build = build,
          .image = {kSteps, kFeatures},
          .labels = {1, 3, 0},
          .gradients = {{"rnn.weight_ih_l0", rows * kFeatures},
                        {"rnn.weight_hh_l0", rows * hidden},
                        {"rnn.bias_ih_l0", rows}},
          .buffers = {}};
}

// Each part of a sequence is a node. All but the first begin with a state, and all but the last
// have a gradient of the next.
TEST(SequenceProof, is_made_by_right_kernels) {
  for (const auto& [name, hidden] : kKernels)
    for (const bool is_lstm : {true, false})
      for (const int32_t precision : {TROIKA_PRECISION_F32, TROIKA_PRECISION_TF32}) {
        const Trained trained = expect_right_kernels(net(is_lstm, hidden), {{name, 4}}, precision);
        EXPECT_GT(trained.launches_of(std::string("cuda:own:") + name), 3u) << trained.plan;
      }
}

// Forward two nodes, and backward two: with a gradient of the last state, and without.
TEST(SequenceProof, is_not_made_by_wrong_ones) {
  for (const auto& [name, hidden] : kKernels)
    for (const bool is_lstm : {true, false}) {
      const Recipe recipe = net(is_lstm, hidden);
      const Trained right = train(recipe, {kCpu}, "", TROIKA_PRECISION_F32);
      emulated_gpu::lose_blocks_of("RecurrentSequence");
      const Trained wrong = train(recipe, {kGpu}, "", TROIKA_PRECISION_F32);
      emulated_gpu::lose_blocks_of("");
      expect_same(recipe, wrong, right);
      EXPECT_EQ(wrong.warnings.size(), 4u);
      const std::string reason = std::string("the kernel ") + name + " is not used: its result differs by ";
      for (const std::string& line : wrong.warnings) EXPECT_NE(line.find(reason), std::string::npos) << line;
    }
}

}  // namespace
}  // namespace troika::test
