// Tests that a trainer and the planner request the same step: both refuse the same settings, their
// graphs are the same, and a trainer's devices allocate what is planned.
#include "plan/step_layout.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <mutex>
#include <random>
#include <sstream>

#include "core/text.h"
#include "models/layers.h"
#include "plan/estimates.h"
#include "support/test_seed.h"
#include "train/fault_backend.h"

namespace troika {
namespace {

constexpr int64_t kBatch = 64;

// Returns a model of two convolutions with BatchNorm, a residual and two linear layers: [1, 6, 6]
// -> 4 classes.
std::shared_ptr<Model> small_net(int units = 12) {
  auto model = std::make_shared<Model>("small");
  ValueId x = model->add_input("x", {1, 6, 6});
  ConvOptions conv;
  conv.out_channels = 8;
  conv.window = {{3, 3}, {1, 1}, {1, 1}, {1, 1}};
  x = add_conv2d(*model, "conv1", x, conv);
  x = add_relu(*model, "relu1", add_batch_norm2d(*model, "bn1", x));
  ValueId y = add_batch_norm2d(*model, "bn2", add_conv2d(*model, "conv2", x, conv));
  x = add_relu(*model, "relu2", add_sum(*model, "sum", x, y));
  x = add_linear(*model, "fc1", add_flatten(*model, "flatten", x), units, true);
  model->set_output(add_linear(*model, "fc2", add_relu(*model, "relu3", x), 4, true));
  return model;
}

struct Draw {
  PlannedStep step;
  int devices = 1;
  int units = 12;  // of small_net; with 2, the second share's slots take more bytes than the first's
};

std::string text_of(const ParameterGroup& group) {
  std::string result = text(group.pattern, group.is_frozen ? " frozen" : "");
  for (const Setting setting : {Setting::learning_rate, Setting::weight_decay})
    if (group.settings.has(setting)) result += text(' ', group.settings[setting]);
  return result;
}

// Returns every option that is drawn.
std::string text_of(const StepSpec& step) {
  std::vector<std::string> groups;
  for (const ParameterGroup& group : step.groups) groups.push_back(text_of(group));
  const auto setting = [&](Setting s) { return step.settings.has(s) ? text(step.settings[s]) : "unset"; };
  return text("mesh ", name_of(step.mesh), ", loss ", static_cast<int>(step.loss), ", reduction ",
              static_cast<int>(step.reduction), ", ignored ", step.labels.ignored ? text(*step.labels.ignored) : "none",
              ", smoothing ", step.labels.smoothing, ", ", name_of(step.compute), ", tf32 ", step.allow_tf32, ", fuse ",
              step.fuse, ", ", step.optimizer->name, ", momentum ", setting(Setting::momentum), ", decay ",
              setting(Setting::weight_decay), ", groups {", join(groups, ", "), "}, decays one axis ",
              step.decays_one_axis, ", average ", step.average_decay, ", scaled ", step.conditioning.is_scaled,
              " every ", step.conditioning.scale_interval, ", clip ", step.conditioning.max_norm, ", buckets ",
              step.bucket_bytes, ", micro-batches ", step.micro_batches, ", shards ", step.logical_shards,
              ", schedule ", static_cast<int>(step.pipeline_schedule), ", chunks ", step.pipeline_chunks, ", cuts {",
              join(step.layer_cuts, ", "), "}, recompute ", step.recompute.segments, " {",
              join(step.recompute.layers, ", "), "} budget ", step.recompute.budget_bytes, ", sync ",
              step.syncs_statistics, ", sharded ", step.shards_optimizer, ", compressed ", step.compresses_gradients,
              ", late ", step.updates_late);
}

using Below = std::function<int(int)>;  // Returns a number from 0 to n - 1

void draw_loss(PlannedStep& step, const Below& below) {
  step.reduction = below(3) == 0 ? Reduction::sum : Reduction::mean;
  if (below(3) == 0) {
    step.loss = Loss::mean_squared_error;
    return;
  }
  if (below(3) == 0) step.labels.smoothing = 0.125 * (1 + below(3));
  if (below(3) == 0) step.labels.ignored = below(5) - 1;
}

void draw_update(PlannedStep& step, const Below& below) {
  const auto& optimizers = all_optimizers();
  step.optimizer = optimizers[static_cast<size_t>(below(static_cast<int>(optimizers.size())))];
  if (step.optimizer->reads(Setting::momentum)) step.settings[Setting::momentum] = below(2) == 0 ? 0.9 : 0;
  step.average_decay = below(3) == 0 ? 0.99 : 0;
  step.decays_one_axis = below(3) != 0;
  step.settings[Setting::weight_decay] = below(2) == 0 ? 1e-3 : 0;
  step.conditioning.max_norm = below(4) == 0 ? 1 : 0;
  step.conditioning.scale_interval = below(2) == 0 ? 100 : 2000;
  if (below(3) == 0) step.groups.push_back({below(4) == 0 ? "nothing*" : "conv1*", true});
  if (below(3) == 0)
    step.groups.push_back({"*.bias", false, {{Setting::learning_rate, 0.05}, {Setting::weight_decay, 0.0}}});
  if (below(30) == 0) step.groups.push_back({"*", true});
}

void draw_layers(PlannedStep& step, const Below& below) {
  const PipelineSchedule schedules[] = {PipelineSchedule::gpipe, PipelineSchedule::one_f_one_b,
                                        PipelineSchedule::interleaved};
  step.pipeline_schedule = schedules[below(3)];
  if (below(4) == 0) step.pipeline_chunks = 2;
  if (below(4) == 0 && (step.mesh.layer > 1 || below(8) == 0)) step.layer_cuts = {below(3) == 0 ? "no layer" : "fc1"};
  if (below(5) == 0) {  // without segments and layers, which users cannot combine with a budget
    step.recompute.budget_bytes = int64_t{1} << (12 + below(8));
    return;
  }
  if (below(3) == 0) step.recompute.segments = 2 + below(2);
  if (below(6) == 0) step.recompute.layers = {below(3) == 0 ? "no*" : "conv*"};
}

// Draws settings. Most draws are valid; some settings of each kind are not.
Draw draw_step(std::mt19937& random) {
  const Below below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  Draw draw;
  PlannedStep& step = draw.step;
  const Mesh meshes[] = {{1, 1, 1}, {2, 1, 1}, {4, 1, 1}, {1, 2, 1}, {1, 3, 1},
                         {1, 1, 2}, {2, 2, 1}, {2, 1, 2}, {1, 2, 2}, {2, 2, 2}};
  step.mesh = meshes[below(10)];
  draw.devices = RankMap(step.mesh).size();
  if (below(12) == 0) draw.devices += draw.devices < 8 ? 1 : -1;  // FaultBackend has 8
  if (below(2) == 0) draw.units = 2;
  step.batch = kBatch;
  step.micro_batches = 1 << below(3);
  if (below(5) == 0) step.logical_shards = below(3) == 0 ? 6 : 8;
  step.syncs_statistics = below(4) == 0;
  step.shards_optimizer = below(2) == 0;
  step.compresses_gradients = below(4) == 0;
  step.updates_late = below(8) == 0;
  step.fuse = below(4) != 0;
  step.allow_tf32 = below(4) == 0;
  step.bucket_bytes = int64_t{1} << below(16);
  const DType precisions[] = {DType::f32, DType::bf16, DType::f16};
  step.compute = precisions[below(3)];
  step.conditioning.is_scaled = step.compute == DType::f16;
  draw_loss(step, below);
  draw_update(step, below);
  draw_layers(step, below);
  return draw;
}

std::string without_function(std::string message) {
  const std::string function = "troika_model_attach: options.";
  if (message.starts_with(function)) message.erase(0, function.size());
  return message;
}

// Returns the error of `work`, or an empty text. A budget that is too small for one sample per rank
// is refused when the trainer is attached, before the batch is known.
template <typename Work>
std::string refusal(Work work) {
  try {
    work();
  } catch (const Error& e) {
    return e.status() == Status::out_of_memory ? "out of memory" : without_function(e.what());
  }
  return {};
}

// ---- the step ----

// Returns the first line in which the texts differ, of both.
std::string first_difference(const std::string& a, const std::string& b) {
  std::istringstream lines_of_a(a), lines_of_b(b);
  std::string of_a, of_b;
  do {
    of_a = of_b = "(end)";
    std::getline(lines_of_a, of_a);
    std::getline(lines_of_b, of_b);
  } while (of_a == of_b && lines_of_a && lines_of_b);
  return of_a == of_b ? "" : text('\n', of_a, '\n', of_b);
}

// A bucket is closed when it has the bytes that the options ask for.
void expect_buckets(const CompileRequest& request, const StepLayout& layout, int part) {
  const auto enough = static_cast<size_t>(request.spec.bucket_bytes);
  for (size_t b = 0; b < request.buckets.size(); ++b) {
    const Bucket& bucket = request.buckets[b];
    const size_t last = layout.type_of(bucket.parameters.back(), part).bytes();
    EXPECT_TRUE(b + 1 == request.buckets.size() || bucket.bytes >= enough) << bucket.bytes;
    EXPECT_TRUE(bucket.parameters.size() == 1 || bucket.bytes - last < enough) << bucket.bytes;
  }
}

// Compares what the planner estimates at each position of the pipeline with what the trainer's rank
// there compiles, and both with the options that were drawn.
void expect_planned_step(const Draw& draw, const Graph& model, const MeshEstimate& planned, const StepLayout& trained) {
  const StepLayout layout = planned_layout(model, draw.step, machine_of(draw.devices), draw.step.mesh);
  const RankMap& ranks = trained.ranks();
  StepSpec wanted = draw.step;
  wanted.shards_optimizer = wanted.shards_optimizer && ranks.shares() > 1;
  ASSERT_EQ(planned.devices.size(), static_cast<size_t>(ranks.positions()));
  for (int position = 0; position < ranks.positions(); ++position) {
    const int part = ranks.part_at(position, 0);
    const CompileRequest estimated = planned_request(layout, draw.step.batch, position),
                         compiled = trained.request(Mode::train, draw.step.batch, ranks.rank_of(0, part));
    EXPECT_EQ(text_of(estimated.spec), text_of(wanted));
    EXPECT_EQ(text_of(compiled.spec), text_of(wanted));
    expect_buckets(compiled, trained, part);
    const Graph graph = build_graph(compiled, Log());
    EXPECT_EQ(first_difference(print_graph(build_graph(estimated, Log())), print_graph(graph)), "");
    EXPECT_EQ(planned.devices[static_cast<size_t>(position)].activation_bytes, activation_bytes(graph));
  }
}

// ---- the memory ----

// Remembers what devices have allocated last, by device and purpose.
class HeldMemory {
 public:
  HeldMemory() {
    hooks_->before_allocation = [this](int device, size_t bytes, const std::string& purpose) {
      std::lock_guard lock(mutex_);
      bytes_[{device, purpose}] = bytes;
    };
  }

  const std::shared_ptr<Context>& context() const { return context_; }
  void forget() { bytes_.clear(); }
  size_t parameters(int device) const { return bytes_.at({device, "memory for parameters"}); }
  size_t gradients(int device) const { return bytes_.at({device, "memory for gradients"}); }
  size_t optimizer(int device) const { return bytes_.at({device, "memory for optimizer state"}); }

 private:
  std::mutex mutex_;
  std::map<std::pair<int, std::string>, size_t> bytes_;
  const std::shared_ptr<FaultHooks> hooks_ = std::make_shared<FaultHooks>();
  const std::shared_ptr<Context> context_ = fault_context(hooks_);
};

// Returns the padding of kernels' layouts, which plans do not count, in the entries that `counts`.
template <typename Counts>
size_t padding_of(const StateTable& state, Counts counts) {
  constexpr size_t kLine = 64;
  const auto in_lines = [](size_t bytes) { return (bytes + kLine - 1) / kLine * kLine; };
  size_t padding = 0;
  for (const StateEntry& entry : state.entries())
    if (counts(entry)) padding += in_lines(entry.bytes) - in_lines(entry.type.bytes());
  return padding;
}

// Compares the estimate with the memory that the devices of a trainer have allocated. The first
// rank of a channel group has the most channels.
void expect_planned_state(const MeshEstimate& planned, const Trainer& trainer, const HeldMemory& held) {
  const RankMap& ranks = trainer.layout().ranks();
  const size_t slots = trainer.layout().spec().slots().size();
  std::vector<size_t> most_slots(planned.devices.size());
  for (int rank : ranks.all()) {
    const auto position = static_cast<size_t>(ranks.position_of(rank));
    const StateTable& state = trainer.state().table_of(rank);
    const DeviceEstimate& device = planned.devices[position];
    const size_t parameters = held.parameters(rank) - padding_of(state, [](const StateEntry&) { return true; });
    const size_t gradients =
        held.gradients(rank) - padding_of(state, [](const auto& entry) { return entry.bucket >= 0; });
    if (ranks.channel_of(rank) > 0) {
      EXPECT_GE(device.parameter_bytes, parameters) << rank;
      EXPECT_GE(device.gradient_bytes, gradients) << rank;
      continue;
    }
    EXPECT_EQ(device.parameter_bytes, parameters) << rank;
    EXPECT_EQ(device.gradient_bytes, gradients) << rank;
    const auto has_slots = [&](const StateEntry& entry) {
      return entry.bucket >= 0 && (entry.owner < 0 || entry.owner == ranks.share_of(rank));
    };
    most_slots[position] = std::max(most_slots[position], held.optimizer(rank) - slots * padding_of(state, has_slots));
  }
  for (size_t position = 0; position < most_slots.size(); ++position)
    EXPECT_EQ(planned.devices[position].optimizer_bytes, most_slots[position]) << position;
}

TEST(StepLayout, PlansTheStepThatATrainerRunsOrRefusesTheSame) {
  constexpr int kDraws = 400, kMostDevices = 4;  // of a trainer that compiles and allocates
  const uint64_t seed = test_seed();
  std::mt19937 random(static_cast<uint32_t>(seed));
  HeldMemory held;
  int refused = 0, planned = 0, allocated = 0;
  for (int i = 0; i < kDraws; ++i) {
    const Draw draw = draw_step(random);
    SCOPED_TRACE(text("TROIKA_TEST_SEED=", seed, ", draw ", i, " on ", draw.devices, " devices, ", draw.units,
                      " units: ", text_of(draw.step)));
    const auto model = small_net(draw.units);
    TrainerOptions options;
    static_cast<StepSpec&>(options) = draw.step;
    if (draw.step.conditioning.is_scaled) options.loss_scale = 1024;
    std::vector<DeviceId> devices;
    for (int d = 0; d < draw.devices; ++d) devices.push_back({DeviceKind::cuda, d});
    held.forget();
    const bool allocates = draw.devices <= kMostDevices;
    std::unique_ptr<Trainer> trainer;
    const std::string trainer_refusal = refusal([&] {
      trainer = std::make_unique<Trainer>(held.context(), model, devices, options);
      if (allocates)
        trainer->explain(kBatch);
      else
        build_graph(trainer->layout().request(Mode::train, kBatch, 0), Log());
    });
    MeshEstimate estimate;
    const std::string plan_refusal =
        refusal([&] { estimate = estimate_mesh(model->graph(), draw.step, machine_of(draw.devices), draw.step.mesh); });
    EXPECT_EQ(trainer_refusal, plan_refusal);
    if (!trainer_refusal.empty() || !plan_refusal.empty()) {
      ++refused;
      continue;
    }
    ++planned;
    expect_planned_step(draw, model->graph(), estimate, trainer->layout());
    if (!allocates) continue;
    ++allocated;
    expect_planned_state(estimate, *trainer, held);
  }
  EXPECT_GT(refused, kDraws / 20);
  EXPECT_GT(planned, kDraws / 4);
  EXPECT_GT(allocated, kDraws / 5);
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
