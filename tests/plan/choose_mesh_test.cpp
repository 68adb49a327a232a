// Tests of the choice of a mesh.
#include <gtest/gtest.h>

#include <algorithm>

#include "core/text.h"
#include "plan/estimates.h"
#include "support/throws.h"

namespace troika {
namespace {

TEST(ChooseMesh, GivesTheFastestThatFits) {
  const auto model = small_resnet();
  const PlannedStep settings = step_of(256, 8, 0.9);
  Machine machine = machine_of(8);
  std::vector<MeshEstimate> all;
  std::vector<size_t> needs;
  for (const Mesh& mesh : meshes_of(8)) {
    all.push_back(estimate(*model, settings, mesh));
    needs.push_back(all.back().fullest().memory_bytes());
  }
  std::sort(needs.begin(), needs.end());
  std::set<std::string> chosen;
  for (size_t memory : {needs.front(), needs[needs.size() / 2], needs.back()}) {
    machine.memory_bytes = memory;
    const MeshEstimate best = choose_mesh(model->graph(), settings, machine);
    chosen.insert(name_of(best.mesh));
    EXPECT_LE(best.fullest().memory_bytes(), memory);
    for (const MeshEstimate& other : all)
      if (other.fullest().memory_bytes() <= memory) {
        EXPECT_LE(best.seconds, other.seconds) << name_of(other.mesh) << " with " << memory;
      }
  }
  EXPECT_GT(chosen.size(), 1u) << "memory changes nothing";
  machine.memory_bytes = needs.front() - 1;
  EXPECT_THROWS(
      Status::not_found,
      text("plan: model 'd2l_resnet18' fits no mesh of 8 devices with ", needs.front() - 1, " bytes each; mesh "),
      choose_mesh(model->graph(), settings, machine));
  EXPECT_THROWS(Status::not_found, text(" needs least, ", needs.front(), " bytes"),
                choose_mesh(model->graph(), settings, machine));
}

TEST(ChooseMesh, LeavesOutMeshesThatCannotWork) {
  const auto model = deep_model(2);  // layers of 64 units
  const Machine machine = machine_of(65);
  EXPECT_THROWS(Status::invalid_argument, "model 'deep' has 2 layers, cannot be cut into 65 stages",
                estimate_mesh(model->graph(), step_of(130), machine, {1, 65, 1}));
  EXPECT_THROWS(Status::invalid_argument, "linear 'fc0' has 64 output channels, cannot be split over 65 devices",
                estimate_mesh(model->graph(), step_of(130), machine, {1, 1, 65}));
  EXPECT_THROWS(Status::invalid_argument, "mesh: data is 2, layer is 1 and channel is 1, needs 2 devices; found 65",
                estimate_mesh(model->graph(), step_of(130), machine, {2, 1, 1}));
  const MeshEstimate best = choose_mesh(model->graph(), step_of(130), machine);
  EXPECT_EQ(best.mesh.layer, 1);
  EXPECT_LT(best.mesh.channel, 65);
}

TEST(ChooseMesh, LeavesOutPartsThatBatchNormCannotNormalise) {
  ZooOptions zoo;
  zoo.input_channels = 1, zoo.input_height = 28, zoo.input_width = 28;
  const auto model = create_model("resnet18", zoo);  // its last images are 1 x 1
  const std::string refusal = "training needs more than 1 value a channel, a part of the batch has 1";
  EXPECT_THROWS(Status::invalid_argument, refusal, estimate(*model, step_of(4), {4, 1, 1}));
  EXPECT_THROWS(Status::invalid_argument, refusal, estimate(*model, step_of(4, 2), {2, 1, 1}));
  EXPECT_THROWS(Status::invalid_argument, refusal, estimate(*model, step_of(7), {4, 1, 1}));
  EXPECT_GT(estimate(*model, step_of(8), {4, 1, 1}).seconds, 0);
  EXPECT_LT(choose_mesh(model->graph(), step_of(4), machine_of(4)).mesh.data, 4);
  for (const PlannedStep& settings : {step_of(4), step_of(7)}) {
    const auto trainer = attach(create_model("resnet18", zoo), settings, {4, 1, 1});
    EXPECT_THROWS(Status::invalid_argument, "training needs more than 1 value a channel",
                  trainer->explain(settings.batch));
  }
}

// For any settings, attaching accepts the mesh that is chosen for CPU devices.
TEST(ChooseMesh, GivesWhatAttachingTakes) {
  PlannedStep scaled = step_of(8), clipped = step_of(8), low = step_of(8), shards = step_of(8), budget = step_of(8);
  scaled.compute = DType::f16, scaled.conditioning.is_scaled = true;
  clipped.conditioning.max_norm = 1;
  low.compute = DType::bf16;
  shards.logical_shards = 4;
  budget.recompute.budget_bytes = 1 << 20;
  // On this machine, splitting by data is the slowest split.
  const Machine slow_link{4, size_t{1} << 40, 1e12, 1e11, 1e6, 0};
  EXPECT_EQ(choose_mesh(deep_model(8)->graph(), step_of(8), slow_link).mesh, (Mesh{1, 4, 1}));
  for (PlannedStep settings : {step_of(8), scaled, clipped, low, shards, budget}) {
    const Mesh mesh = choose_mesh(deep_model(8)->graph(), settings, slow_link).mesh;
    EXPECT_NO_THROW(attach(deep_model(8), settings, mesh)) << name_of(mesh);
    EXPECT_THROWS(Status::invalid_argument, "needs 8 devices; found 4",
                  estimate_mesh(deep_model(8)->graph(), settings, slow_link, {8, 1, 1}));
  }
  EXPECT_EQ(choose_mesh(deep_model(8)->graph(), shards, slow_link).mesh, (Mesh{4, 1, 1}));
}

}  // namespace
}  // namespace troika
