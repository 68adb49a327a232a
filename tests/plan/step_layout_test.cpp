// Tests that a trainer and the planner request the same step: both refuse the same settings, and
// the trainer's state is as planned.
#include "plan/step_layout.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "core/text.h"
#include "plan/estimates.h"

namespace troika {
namespace {

constexpr int64_t kBatch = 64;

// Returns a model of two convolutions with BatchNorm, a residual and two linear layers: [1, 6, 6]
// -> 4 classes.
std::shared_ptr<Model> small_net() {
  auto model = std::make_shared<Model>("small");
  ValueId x = model->add_input("x", {1, 6, 6});
  ConvOptions conv;
  conv.out_channels = 8;
  conv.window = {{3, 3}, {1, 1}, {1, 1}, {1, 1}};
  x = model->add_conv2d("conv1", x, conv);
  x = model->add_relu("relu1", model->add_batch_norm2d("bn1", x));
  ValueId y = model->add_batch_norm2d("bn2", model->add_conv2d("conv2", x, conv));
  x = model->add_relu("relu2", model->add_sum("sum", x, y));
  x = model->add_linear("fc1", model->add_flatten("flatten", x), 12, true);
  model->set_output(model->add_linear("fc2", model->add_relu("relu3", x), 4, true));
  return model;
}

struct Draw {
  PlannedStep step;
  int devices = 1;
  std::string text;
};

// Draws settings. Most draws are valid; some settings of each kind are not.
Draw draw_step(std::mt19937& random) {
  auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  auto one_in = [&](int n) { return below(n) == 0; };
  Draw draw;
  PlannedStep& step = draw.step;
  const Mesh meshes[] = {{1, 1, 1}, {2, 1, 1}, {4, 1, 1}, {1, 2, 1}, {1, 3, 1},
                         {1, 1, 2}, {2, 2, 1}, {2, 1, 2}, {1, 2, 2}};
  step.mesh = meshes[below(9)];
  draw.devices = step.mesh.data * step.mesh.layer * step.mesh.channel + (one_in(12) ? 1 : 0);
  step.batch = kBatch;
  step.micro_batches = 1 << below(3);
  if (one_in(5)) step.logical_shards = one_in(3) ? 6 : 8;
  step.syncs_statistics = one_in(4);
  step.shards_optimizer = one_in(3);
  step.compresses_gradients = one_in(4);
  step.fuse = !one_in(4);
  step.bucket_bytes = int64_t{1} << below(16);
  const auto& optimizers = all_optimizers();
  step.optimizer = optimizers[static_cast<size_t>(below(static_cast<int>(optimizers.size())))];
  if (step.optimizer->reads(Setting::momentum)) step.settings[Setting::momentum] = one_in(2) ? 0.9 : 0;
  step.average_decay = one_in(3) ? 0.99 : 0;
  step.decays_one_axis = !one_in(3);
  step.settings[Setting::weight_decay] = one_in(2) ? 1e-3 : 0;
  step.conditioning.max_norm = one_in(4) ? 1 : 0;
  const DType precisions[] = {DType::f32, DType::bf16, DType::f16};
  step.compute = precisions[below(3)];
  step.conditioning.is_scaled = step.compute == DType::f16;
  if (one_in(3)) step.groups.push_back({one_in(4) ? "nothing*" : "conv1*", true});
  if (one_in(3))
    step.groups.push_back({"*.bias", false, {{Setting::learning_rate, 0.05}, {Setting::weight_decay, 0.0}}});
  if (one_in(30)) step.groups.push_back({"*", true});
  const PipelineSchedule schedules[] = {PipelineSchedule::gpipe, PipelineSchedule::one_f_one_b,
                                        PipelineSchedule::interleaved};
  step.pipeline_schedule = schedules[below(3)];
  if (one_in(4)) step.pipeline_chunks = 2;
  if (one_in(4)) step.layer_cuts = {one_in(3) ? "no layer" : "fc1"};
  if (one_in(3)) step.recompute.segments = 2;
  if (one_in(6)) step.recompute.layers = {one_in(3) ? "no*" : "conv*"};
  draw.text =
      text("mesh ", name_of(step.mesh), " on ", draw.devices, ", micro-batches ", step.micro_batches, ", shards ",
           step.logical_shards, ", sync ", step.syncs_statistics, ", sharded ", step.shards_optimizer, ", compressed ",
           step.compresses_gradients, ", fuse ", step.fuse, ", buckets ", step.bucket_bytes, ", ", step.optimizer->name,
           ", momentum ", step.settings[Setting::momentum], ", average ", step.average_decay, ", ", name_of(step.compute), ", groups ", step.groups.size(),
           ", schedule ", static_cast<int>(step.pipeline_schedule), ", chunks ", step.pipeline_chunks, ", cuts ",
           join(step.layer_cuts, ","), ", recompute ", step.recompute.segments);
  return draw;
}

std::string without_function(std::string message) {
  const std::string function = "troika_model_attach: options.";
  if (message.starts_with(function)) message.erase(0, function.size());
  return message;
}

// Returns the padding of kernels' layouts, which plans do not count.
size_t padding_of(const StateTable& state, bool with_buffers) {
  constexpr size_t kLine = 64;
  const auto in_lines = [](size_t bytes) { return (bytes + kLine - 1) / kLine * kLine; };
  size_t padding = 0;
  for (const StateEntry& entry : state.entries())
    if (with_buffers || entry.bucket >= 0) padding += in_lines(entry.bytes) - in_lines(entry.type.bytes());
  return padding;
}

void expect_planned_state(const MeshEstimate& planned, Trainer& trainer) {
  const size_t slots = trainer.layout().spec().slots().size();
  const RankMap& ranks = trainer.layout().ranks();
  for (int position = 0; position < ranks.positions(); ++position) {
    const int part = ranks.part_at(position, 0);
    const StateTable& state = trainer.state().table_of(ranks.rank_of(0, part));
    const DeviceEstimate& device = planned.devices[static_cast<size_t>(position)];
    EXPECT_EQ(device.parameter_bytes, state.segment_bytes(Segment::parameters) - padding_of(state, true));
    EXPECT_EQ(device.gradient_bytes, state.segment_bytes(Segment::gradients) - padding_of(state, false));
    size_t most = 0;
    for (int share = 0; share < ranks.shares(); ++share)
      most = std::max(most, state.segment_bytes(Segment::optimizer, share));
    EXPECT_LE(device.optimizer_bytes, most);
    EXPECT_GE(device.optimizer_bytes + slots * padding_of(state, false), most);
  }
}

TEST(StepLayout, RefusesTheSameForTrainersAndPlansAndHoldsTheStateThatIsPlanned) {
  constexpr int kDraws = 150;
  std::mt19937 random(std::random_device{}());
  static const auto context = std::make_shared<Context>(ContextOptions{});
  int refused = 0, planned = 0;
  for (int i = 0; i < kDraws; ++i) {
    const Draw draw = draw_step(random);
    SCOPED_TRACE(draw.text);
    const auto model = small_net();
    TrainerOptions options;
    static_cast<StepSpec&>(options) = draw.step;
    if (draw.step.conditioning.is_scaled) options.loss_scale = 1024;
    std::vector<DeviceId> devices;
    for (int d = 0; d < draw.devices; ++d) devices.push_back({DeviceKind::cpu, d});
    std::string attach_refusal, plan_refusal;
    std::unique_ptr<Trainer> trainer;
    try {
      trainer = std::make_unique<Trainer>(context, model, devices, options);
    } catch (const Error& e) {
      attach_refusal = without_function(e.what());
    }
    MeshEstimate estimate;
    try {
      estimate = estimate_mesh(model->graph(), draw.step, machine_of(draw.devices), draw.step.mesh);
    } catch (const Error& e) {
      plan_refusal = e.what();
    }
    EXPECT_EQ(attach_refusal, plan_refusal);
    if (!trainer || !plan_refusal.empty()) {
      ++refused;
      continue;
    }
    trainer->explain(kBatch);  // decides the layouts of parameters, and places the state
    expect_planned_state(estimate, *trainer);
    ++planned;
  }
  EXPECT_GT(refused, kDraws / 20);
  EXPECT_GT(planned, kDraws / 4);
}

TEST(StepLayout, GivesEveryParameterToThePartsThatHoldIt) {
  const auto model = small_net();
  StepSpec spec;
  spec.mesh = {2, 2, 2};
  const StepLayout layout(model->graph(), spec, 8, "options.");
  for (const std::string& name : layout.trainable()) {
    const std::vector<int> holders = layout.holders_of(name);
    ASSERT_FALSE(holders.empty()) << name;
    for (int part = 0; part < layout.ranks().parts(); ++part) {
      const bool holds = std::find(holders.begin(), holders.end(), part) != holders.end();
      const auto& trained = layout.part(part).trainable;
      EXPECT_EQ(std::find(trained.begin(), trained.end(), name) != trained.end(), holds) << name;
    }
  }
}

}  // namespace
}  // namespace troika
