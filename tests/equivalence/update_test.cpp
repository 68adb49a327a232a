// Before an update, devices that hold parts of the model agree on properties of the whole model:
// the norm of all gradients, and whether all gradients are finite.
#include <cmath>
#include <limits>

#include "core/text.h"
#include "equivalence/runs.h"

namespace troika {
namespace {

constexpr double kTolerance = 2e-5;

class Update : public ::testing::TestWithParam<Mesh> {
 protected:
  static TrainerOptions with_mesh(const Mesh& mesh) {
    TrainerOptions options = momentum_options();
    options.mesh = mesh;
    options.micro_batches = mesh.layer > 1 ? 2 : 1;
    options.deadline_ms = 60000;
    return options;
  }
};

struct UpdateRun {
  Trained trained;
  std::vector<double> norms, scales;
  std::vector<bool> skipped;
};

UpdateRun run(const TrainerOptions& options, const std::vector<Batch>& batches) {
  const int devices = std::max(options.mesh.data, 1) * options.mesh.layer * options.mesh.channel;
  Trainer trainer(test_context(), conv_net(), test_devices(devices), options);
  UpdateRun out;
  for (const Batch& batch : batches) {
    StepResult result;
    trainer.step(batch, result);
    out.norms.push_back(result.gradient_norm);
    out.scales.push_back(result.loss_scale);
    out.skipped.push_back(result.is_skipped);
  }
  out.trained = look_at(trainer);
  return out;
}

void expect_same(const UpdateRun& one, const UpdateRun& found) {
  EXPECT_EQ(one.scales, found.scales);
  EXPECT_EQ(one.skipped, found.skipped);
  ASSERT_EQ(one.norms.size(), found.norms.size());
  for (size_t i = 0; i < one.norms.size(); ++i) {
    if (std::isfinite(one.norms[i]))
      EXPECT_NEAR(one.norms[i], found.norms[i], kTolerance * one.norms[i]) << i;
    else
      EXPECT_FALSE(std::isfinite(found.norms[i])) << i;
  }
  expect_near(one.trained, found.trained, kTolerance, "run");
}

TEST_P(Update, ClipsByTheNormOfAllParts) {
  TrainerOptions one = momentum_options(), many = with_mesh(GetParam());
  one.conditioning.max_norm = many.conditioning.max_norm = 0.7;
  const auto batches = make_batches({7, 16, 3, 1, 10, 5}, 61);
  const UpdateRun alone = run(one, batches);
  EXPECT_GT(*std::max_element(alone.norms.begin(), alone.norms.end()), 0.8);  // otherwise no step would be clipped
  EXPECT_LT(*std::min_element(alone.norms.begin(), alone.norms.end()), 0.7);
  expect_same(alone, run(many, batches));
}

TEST_P(Update, SkipsAStepOnAllPartsWhereOneHasAnInfinity) {
  for (double max_norm : {0.0, 0.7}) {
    TrainerOptions one = momentum_options(), many = with_mesh(GetParam());
    for (TrainerOptions* options : {&one, &many}) {
      options->conditioning.is_scaled = true;
      options->loss_scale = 1024;
      options->conditioning.scale_interval = 2;
      options->conditioning.max_norm = max_norm;
    }
    auto batches = make_batches({7, 16, 9, 16, 4, 16}, 62);
    // An image with numbers so large that only the gradients of the first layer are infinite.
    for (size_t i = 0; i < 56; ++i) batches[2].inputs[i] = 3e38f;
    const UpdateRun alone = run(one, batches);
    EXPECT_EQ(alone.skipped, (std::vector<bool>{false, false, true, false, false, false}));
    expect_same(alone, run(many, batches));
  }
}

INSTANTIATE_TEST_SUITE_P(Meshes, Update,
                         ::testing::Values(Mesh{1, 2, 1}, Mesh{1, 1, 2}, Mesh{1, 1, 3}, Mesh{2, 2, 1}, Mesh{2, 1, 2},
                                           Mesh{1, 2, 2}, Mesh{2, 2, 2}),
                         [](const auto& info) { return name_of(info.param); });

}  // namespace
}  // namespace troika
