// Tests of estimates: against the memory that trainers allocate, and against bytes and times
// computed by hand.
#include "plan/estimate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "core/text.h"
#include "plan/estimates.h"
#include "plan/memory_plan.h"
#include "support/planned_memory.h"
#include "support/throws.h"

namespace troika {
namespace {

// ---- memory, against trainers ----

constexpr Mesh kMeshes[] = {{1, 1, 1}, {2, 1, 1}, {1, 2, 1}, {1, 1, 2}, {2, 2, 1},
                            {1, 2, 2}, {1, 4, 1}, {1, 1, 4}, {2, 2, 2}};

// Returns the bytes that blocked layouts add to parameters. They depend on the CPU's vectors and
// are not estimated.
size_t padding_of(const StateTable& state, bool with_buffers) {
  constexpr size_t kLine = 64;
  const auto in_lines = [](size_t bytes) { return (bytes + kLine - 1) / kLine * kLine; };
  size_t padding = 0;
  for (const StateEntry& entry : state.entries())
    if (with_buffers || !entry.is_buffer) padding += in_lines(entry.bytes) - in_lines(entry.type.bytes());
  return padding;
}

// Compares the state of every rank with the estimate for the rank's place in the pipeline.
void expect_state(const MeshEstimate& found, const Trainer& trainer) {
  const auto channels = static_cast<size_t>(found.mesh.channel);
  ASSERT_EQ(found.devices.size(), static_cast<size_t>(found.mesh.layer));
  for (size_t r = 0; r < trainer.ranks().size(); ++r) {
    const DeviceEstimate& device = found.devices[r / channels % found.devices.size()];
    const StateTable& state = trainer.state().table_of(r);
    const size_t parameters = state.segment_bytes(Segment::parameters) - padding_of(state, true),
                 padding = padding_of(state, false), gradients = state.segment_bytes(Segment::gradients) - padding,
                 optimizer = state.segment_bytes(Segment::optimizer);
    if (r % channels == 0) {
      EXPECT_EQ(device.parameter_bytes, parameters) << r;
      EXPECT_EQ(device.gradient_bytes, gradients) << r;
      EXPECT_EQ(device.optimizer_bytes, optimizer ? optimizer - padding : 0) << r;
    } else {  // has at most as many channels as the first rank
      EXPECT_GE(device.parameter_bytes, parameters) << r;
      EXPECT_GE(device.gradient_bytes, gradients) << r;
    }
  }
}

TEST(EstimateMesh, GivesTheStateThatATrainerAllocates) {
  auto compare = [](const auto& net, const PlannedStep& settings, const Mesh& mesh) {
    SCOPED_TRACE(text(net()->name(), " on ", name_of(mesh), ", momentum ", settings.settings[Setting::momentum]));
    const auto trainer = attach(net(), settings, mesh);
    trainer->explain(8);  // decides the layouts of parameters
    expect_state(estimate(*net(), settings, mesh), *trainer);
  };
  for (const Mesh& mesh : kMeshes)
    for (double momentum : {0.0, 0.9}) compare(small_model, step_of(8, 2, momentum), mesh);
  for (const Mesh& mesh : {Mesh{1, 2, 1}, Mesh{2, 1, 2}, Mesh{1, 2, 2}})
    compare(small_resnet, step_of(8, 1, 0.9), mesh);
  PlannedStep scaled = step_of(8);
  scaled.compute = DType::f16;
  scaled.conditioning.is_scaled = true;
  compare(small_model, scaled, {2, 1, 1});
}

TEST(EstimateMesh, LeavesOutThePaddingOfLayouts) {
  for (const Mesh& mesh : {Mesh{1, 1, 1}, Mesh{1, 2, 1}}) {
    const auto trainer = attach(lenet(), step_of(8), mesh);  // lenet has 20 and 50 channels
    trainer->explain(8);
    const MeshEstimate found = estimate(*lenet(), step_of(8), mesh);
    for (size_t r = 0; r < found.devices.size(); ++r) {
      const size_t bytes = trainer->state().table_of(r).segment_bytes(Segment::parameters);
      const size_t padding = padding_of(trainer->state().table_of(r), true);
      EXPECT_EQ(bytes - padding, found.devices[r].parameter_bytes);
    }
  }
}

// Compares the peak bytes of the network's values on a device with the estimate.
void expect_activations(const Trainer& trainer, size_t replica, size_t estimated, const std::string& where) {
  // Padding of gradients of few units, which micro-batches add up.
  constexpr size_t kPadding = 16 << 10;
  const size_t bytes = PlannedMemory(trainer.ranks().at(replica).current_plan()).value_bytes(kArenaAlignment);
  EXPECT_LE(bytes, estimated + kPadding) << where;
  EXPECT_GE(bytes * 5 / 4 + kArenaAlignment, estimated) << where << ": an estimate has the gaps of an arena";
}

TEST(EstimateMesh, GivesTheActivationsThatADeviceHolds) {
  for (const auto& net : {small_model, even_net})
    for (int64_t micro_batches : {1, 4})
      for (const Mesh& mesh : kMeshes) {
        const PlannedStep settings = step_of(64, micro_batches);
        const MeshEstimate found = estimate(*net(), settings, mesh);
        const auto trainer = attach(net(), settings, mesh);
        trainer->explain(64);
        for (size_t place = 0; place < found.devices.size(); ++place)
          expect_activations(*trainer, place * static_cast<size_t>(mesh.channel), found.devices[place].activation_bytes,
                             text(net()->name(), " on ", name_of(mesh), ", ", micro_batches, " parts, ", place));
      }
}

// ---- recompute ----

TEST(EstimateMesh, CountsTheActivationsThatRecomputeLeaves) {
  PlannedStep settings = step_of(256);
  for (const Mesh& mesh : {Mesh{1, 1, 1}, Mesh{2, 1, 1}, Mesh{1, 2, 1}, Mesh{1, 1, 2}}) {
    settings.recompute = {};
    const MeshEstimate whole = estimate(*deep_model(16), settings, mesh);
    for (const RecomputeSettings& recompute :
         {RecomputeSettings{4, {}, 0}, RecomputeSettings{0, {"fc2", "fc3", "fc?1"}, 0}}) {
      settings.recompute = recompute;
      const MeshEstimate found = estimate(*deep_model(16), settings, mesh);
      const auto trainer = attach(deep_model(16), settings, mesh);
      trainer->explain(256);
      EXPECT_LT(found.devices[0].activation_bytes, whole.devices[0].activation_bytes) << name_of(mesh);
      EXPECT_GT(found.seconds, whole.seconds) << name_of(mesh);
      expect_activations(*trainer, 0, found.devices[0].activation_bytes, name_of(mesh));
    }
  }
}

TEST(EstimateMesh, TakesTheTimeOfOperationsThatAreRepeated) {
  const auto model = deep_model(4);
  Machine machine{1, 1, 1e6, kFast, kFast, 0};
  PlannedStep settings = step_of(8);
  const double once = estimate_mesh(model->graph(), settings, machine, {}).seconds;
  settings.recompute = {0, {"fc1", "fc2"}, 0};
  EXPECT_NEAR(estimate_mesh(model->graph(), settings, machine, {}).seconds - once, 2 * 2.0 * 8 * 64 * 64 / 1e6, 1e-9);
  settings.recompute = {0, {"fc9"}, 0};
  EXPECT_THROWS(Status::not_found, "recompute_layers 'fc9': no layer of model 'deep'",
                estimate_mesh(model->graph(), settings, machine, {}));
}

TEST(EstimateMesh, KeepsToAnActivationBudgetOrSaysWhatItTakes) {
  const auto model = small_resnet();
  PlannedStep settings = step_of(64);
  const size_t whole = estimate(*model, settings, {2, 1, 1}).devices[0].activation_bytes;
  settings.recompute.budget_bytes = static_cast<int64_t>(whole * 3 / 4);
  EXPECT_LE(estimate(*model, settings, {2, 1, 1}).devices[0].activation_bytes, whole * 3 / 4);
  int kept = 0;
  for (size_t percent = 70; percent > 0; --percent) {  // down to the smallest budget that is possible
    settings.recompute.budget_bytes = static_cast<int64_t>(whole * percent / 100);
    try {
      EXPECT_LE(estimate(*model, settings, {2, 1, 1}).devices[0].activation_bytes, whole * percent / 100) << percent;
      ++kept;
    } catch (const Error& error) {
      EXPECT_EQ(error.status(), Status::out_of_memory) << error.what();
      break;
    }
  }
  EXPECT_GT(kept, 5);
  for (const Mesh& mesh : {Mesh{1, 2, 1}, Mesh{1, 1, 2}}) {  // compares the devices that need most
    settings.recompute.budget_bytes = 0;
    size_t split = 0;
    for (const DeviceEstimate& device : estimate(*model, settings, mesh).devices)
      split = std::max(split, device.activation_bytes);
    settings.recompute.budget_bytes = static_cast<int64_t>(split * 3 / 4);
    for (const DeviceEstimate& device : estimate(*model, settings, mesh).devices)
      EXPECT_LE(device.activation_bytes, split * 3 / 4) << name_of(mesh);
  }
  settings.recompute.budget_bytes = 1000;
  EXPECT_THROWS(Status::out_of_memory, "activation_budget_bytes is 1000; allow more",
                estimate(*model, settings, {2, 1, 1}));
  EXPECT_THROWS(Status::not_found,
                "works on no mesh of 2 devices; mesh 2x1x1: model 'd2l_resnet18': activations of a batch",
                choose_mesh(model->graph(), settings, machine_of(2)));
}

TEST(EstimateMesh, CutsTheBatchIntoLogicalShards) {
  const auto model = even_net();
  PlannedStep settings = step_of(64), parts = step_of(64, 4);
  settings.logical_shards = 8;
  const DeviceEstimate found = estimate(*model, settings, {2, 1, 1}).devices[0];
  EXPECT_EQ(found.activation_bytes, estimate(*model, parts, {2, 1, 1}).devices[0].activation_bytes);
  const auto trainer = attach(even_net(), settings, {2, 1, 1});
  trainer->explain(64);
  expect_activations(*trainer, 0, found.activation_bytes, "8 shards on 2 devices");
  EXPECT_THROWS(Status::invalid_argument, "logical_shards is 8, needs 1, 2, 4 ... 8 devices; found 3",
                estimate(*model, settings, {3, 1, 1}));
  EXPECT_THROWS(Status::unsupported, "mesh.channel is 2, which does not go together with logical_shards yet",
                estimate(*model, settings, {1, 1, 2}));
  settings.logical_shards = 6;
  EXPECT_THROWS(Status::invalid_argument, "logical_shards is 6, need a power of 2",
                estimate(*model, settings, {2, 1, 1}));
}

// ---- sharded optimizer state, compressed gradients ----

TEST(EstimateMesh, SharesTheOptimizersStateByWholeParameters) {
  PlannedStep settings = step_of(8, 1, 0.9);
  settings.shards_optimizer = true;
  const auto model = small_model();  // parameters of 512, 32, 96 and 12 bytes
  constexpr size_t kGradients = 4 * (128 + 8 + 24 + 3), kLines = 512 + 64 + 128 + 64;
  const DeviceEstimate one = estimate(*model, settings, {1, 1, 1}).devices[0];
  EXPECT_EQ(one.optimizer_bytes, kLines);
  EXPECT_EQ(one.sent_bytes(), 0u);
  for (int n : {2, 4}) {
    const DeviceEstimate device = estimate(*model, settings, {n, 1, 1}).devices[0];
    EXPECT_EQ(device.optimizer_bytes, 512u) << "one rank has only the largest parameter";
    EXPECT_EQ(device.gradient_bytes, kLines);
    const auto others = static_cast<size_t>(n - 1);
    EXPECT_EQ(device.data_bytes, 2 * others * kGradients / static_cast<size_t>(n) + others * 512);
  }
  const auto deep = deep_model(8);  // equal layers: each of 4 ranks has 2
  const DeviceEstimate quarter = estimate(*deep, settings, {4, 1, 1}).devices[0];
  EXPECT_EQ(quarter.optimizer_bytes, 2u * 16384);
  EXPECT_EQ(quarter.data_bytes, (2 * 3 + 3) * size_t{8 * 16384} / 4)
      << "2 (n - 1) / n of gradients, (n - 1) / n of parameters";
  settings.settings[Setting::momentum] = 0;
  EXPECT_EQ(estimate(*deep, settings, {4, 1, 1}).devices[0].optimizer_bytes, 0u);
}

TEST(EstimateMesh, SharesTheUpdateAndGathersBehindIt) {
  const auto model = deep_model(8);
  PlannedStep settings = step_of(64, 1, 0.9);
  Machine machine{4, 1, kFast, 1e6, kFast, 0};  // only memory takes time
  const double whole = estimate_mesh(model->graph(), settings, machine, {}).seconds;
  settings.shards_optimizer = true;
  // The update reads gradients, and reads and writes parameters and momentum: for 2 layers instead
  // of 8. It also reads the learning rate.
  EXPECT_NEAR(whole - estimate_mesh(model->graph(), settings, machine, {}).seconds, 5 * 6 * 16384 / 1e6, 1e-5);
  machine = {4, 1, kFast, kFast, 1e6, 1e-3};  // only the link takes time
  settings.shards_optimizer = false;
  const double sums = estimate_mesh(model->graph(), settings, machine, {}).seconds;
  settings.shards_optimizer = true;
  EXPECT_NEAR(estimate_mesh(model->graph(), settings, machine, {}).seconds - sums, 3 * (1e-3 + 2 * 16384 / 1e6), 1e-9);
}

TEST(EstimateMesh, SendsHalfTheBytesOfCompressedGradients) {
  const auto model = deep_model(8);
  PlannedStep settings = step_of(64);
  Machine machine{4, 1, kFast, kFast, 1e6, 0};
  const MeshEstimate whole = estimate_mesh(model->graph(), settings, machine, {});
  settings.compresses_gradients = true;
  const MeshEstimate half = estimate_mesh(model->graph(), settings, machine, {});
  EXPECT_EQ(2 * half.sent_bytes(), whole.sent_bytes());
  EXPECT_EQ(half.devices[0].gradient_bytes, whole.devices[0].gradient_bytes);
  EXPECT_NEAR(2 * half.seconds, whole.seconds, 1e-9);
  // Activations are not compressed.
  EXPECT_EQ(estimate(*model, settings, {1, 2, 2}).sent_bytes(), estimate(*model, step_of(64), {1, 2, 2}).sent_bytes());
}

// ---- bytes sent ----

TEST(EstimateMesh, CountsWhatDevicesSend) {
  const auto model = small_model();
  auto devices = [&](const Mesh& mesh, int64_t micro_batches = 1) {
    return estimate(*model, step_of(8, micro_batches), mesh).devices;
  };
  EXPECT_EQ(devices({1, 1, 1})[0].sent_bytes(), 0u);
  constexpr size_t kGradients = 4 * (128 + 8 + 24 + 3);
  EXPECT_EQ(devices({2, 1, 1})[0].data_bytes, kGradients);
  EXPECT_EQ(devices({4, 1, 1})[0].data_bytes, 2 * 3 * kGradients / 4);
  EXPECT_EQ(devices({4, 1, 1}, 2)[0].sent_bytes(), 2 * 3 * kGradients / 4);  // sums of all micro-batches are sent once
  // The output of fc1 and its gradient, for 8 samples and 8 units.
  for (int64_t micro_batches : {1, 4})
    for (const DeviceEstimate& device : devices({1, 2, 1}, micro_batches)) {
      EXPECT_EQ(device.layer_bytes, 4u * 8 * 8);
      EXPECT_EQ(device.sent_bytes(), device.layer_bytes);
    }
  // One sum: the output of fc2, for 8 samples and 3 classes. The first layer's input needs no
  // gradient.
  EXPECT_EQ(devices({1, 1, 2})[0].channel_bytes, 4u * 8 * 3);
  EXPECT_EQ(devices({1, 1, 3})[0].channel_bytes, 2u * 2 * (4 * 8 * 3) / 3);
  // Each pipeline has 4 samples. Each device sums the gradients of its own layer.
  const auto both = devices({2, 2, 1});
  EXPECT_EQ(both[0].layer_bytes, 4u * 4 * 8);
  EXPECT_EQ(both[0].data_bytes, 4u * (128 + 8));
  EXPECT_EQ(both[1].data_bytes, 4u * (24 + 3));
  EXPECT_EQ(both[0].sent_bytes(), 4u * 4 * 8 + 4 * (128 + 8));
}

// ---- time ----

TEST(EstimateMesh, TakesTheTimeOfItsOperations) {
  Machine machine{1, 1, 1e6, kFast, kFast, 0};
  // Products: forward, the gradients of both weights, and the gradient of fc2's input. ReLU is
  // fused. Its gradient takes one operation per unit, and the loss one per number of its outputs.
  const double operations = 2.0 * 8 * (128 + 24) * 2 + 2.0 * 8 * 24 + 8 * 8 + (2 + 8 * 3) + 8 * 3;
  EXPECT_NEAR(estimate_mesh(small_model()->graph(), step_of(8), machine, {}).seconds, operations / 1e6, 1e-9);
}

TEST(EstimateMesh, TakesTheTimeOfItsMemory) {
  const auto model = small_model();
  Machine machine{1, 1, kFast, 1e6, kFast, 0};
  const double parameters = 128 + 8 + 24 + 3;
  const double once = estimate_mesh(model->graph(), step_of(8), machine, {}).seconds;
  // Momentum is read and written with each update.
  EXPECT_NEAR(estimate_mesh(model->graph(), step_of(8, 1, 0.9), machine, {}).seconds - once, 2 * 4 * parameters / 1e6,
              1e-9);
  // Clipping reads each gradient once more, after its sum.
  PlannedStep clipped = step_of(8);
  clipped.conditioning.max_norm = 1;
  const double reading = 4 * parameters / 1e6;
  EXPECT_NEAR(estimate_mesh(model->graph(), clipped, machine, {}).seconds - once, reading, 0.05 * reading);
  machine = {2, 1, kFast, 1e6, 1e3, 0};  // sums take longer than the backward pass
  const double summed = estimate_mesh(model->graph(), step_of(8), machine, {}).seconds;
  EXPECT_NEAR(estimate_mesh(model->graph(), clipped, machine, {}).seconds - summed, reading, 0.05 * reading);
  machine = {1, 1, kFast, 1e6, kFast, 0};
  // Twice the samples take twice the time, except for work on values of the parameters' size.
  const double twice = estimate_mesh(model->graph(), step_of(16), machine, {}).seconds;
  EXPECT_GT(twice, 1.2 * once);
  EXPECT_LT(twice, 2 * once);
}

TEST(EstimateMesh, AddsTheSumsThatNothingHides) {
  Machine machine{2, 1, kFast, kFast, 1e6, 1e-3};
  PlannedStep settings = step_of(8);
  // One bucket per parameter: four times two messages of half a gradient.
  settings.bucket_bytes = 0;
  EXPECT_NEAR(estimate_mesh(small_model()->graph(), settings, machine, {}).seconds, 4 * 2 * 1e-3 + 4 * 163 / 1e6, 1e-9);
  settings.bucket_bytes = 1 << 20;
  EXPECT_NEAR(estimate_mesh(small_model()->graph(), settings, machine, {}).seconds, 2 * 1e-3 + 4 * 163 / 1e6, 1e-9);
  // The output's sum over two devices, which nothing hides.
  EXPECT_NEAR(estimate_mesh(small_model()->graph(), settings, machine, {1, 1, 2}).seconds, 2 * 1e-3 + 4 * 24 / 1e6,
              1e-9);
  // The output of fc1 and its gradient, for 8 samples and 8 units.
  EXPECT_NEAR(estimate_mesh(small_model()->graph(), settings, machine, {1, 2, 1}).seconds, 2 * (1e-3 + 4 * 64 / 1e6),
              1e-9);
}

TEST(EstimateMesh, HidesSumsBehindTheBackwardPass) {
  const auto model = deep_model(16);
  Machine machine{2, 1, 1e9, kFast, 1e6, 0};
  PlannedStep settings = step_of(64);
  settings.bucket_bytes = 0;
  const double alone = estimate_mesh(model->graph(), step_of(32), {1, 1, 1e9, kFast, kFast, 0}, {}).seconds;
  // A product takes 2.6e-4 s, and sending a gradient of 16 KiB takes 1.6e-2 s. Sums begin after the
  // last layer's first backward product, and hide the 30 products that follow.
  const double product = 2.0 * 32 * 64 * 64 / 1e9;
  EXPECT_NEAR(estimate_mesh(model->graph(), settings, machine, {}).seconds, alone + 16 * 16384 / 1e6 - 30 * product,
              1e-8);
  machine.link_bandwidth = 1e9;  // now 1.6e-5 s: only the first layer's sum is not hidden
  EXPECT_NEAR(estimate_mesh(model->graph(), settings, machine, {}).seconds, alone + 16384 / 1e9, 1e-7);
}

TEST(EstimateMesh, HasThePublishedBubbleWhereStagesAreEqual) {
  const auto model = deep_model(64);
  for (auto schedule : {PipelineSchedule::gpipe, PipelineSchedule::one_f_one_b})
    for (int p : {1, 2, 4})
      for (int m : {1, 4, 8}) {
        PlannedStep settings = step_of(32 * m, m);
        settings.pipeline_schedule = schedule;
        const Machine machine{p, 1, 1e9, kFast, kFast, 0};
        const double bubble = estimate_mesh(model->graph(), settings, machine, {1, p, 1}).bubble;
        // All layers are equal, except the first, whose input needs no gradient, and the loss.
        EXPECT_NEAR(bubble, (p - 1.0) / (m + p - 1), 0.02) << p << " ranks, " << m << " micro-batches";
        if (p == 1) {
          EXPECT_EQ(bubble, 0);
        }
      }
  PlannedStep settings = step_of(256, 8);
  settings.pipeline_schedule = PipelineSchedule::interleaved;
  settings.pipeline_chunks = 2;
  const Machine machine{4, 1, 1e9, kFast, kFast, 0};
  EXPECT_NEAR(estimate_mesh(model->graph(), settings, machine, {1, 4, 1}).bubble, 3.0 / (2 * 8 + 3), 0.03);
}

// ---- sizes ----

TEST(EstimateMesh, NeedsLessMemoryTheMoreLayersAndChannelsAreSplit) {
  const auto model = small_resnet();
  for (bool by_layer : {true, false}) {
    DeviceEstimate last = estimate(*model, step_of(64, 4, 0.9), {1, 1, 1}).fullest();
    for (int n : {2, 4, 8}) {
      const DeviceEstimate now =
          estimate(*model, step_of(64, 4, 0.9), {1, by_layer ? n : 1, by_layer ? 1 : n}).fullest();
      EXPECT_LT(now.memory_bytes(), last.memory_bytes()) << n;
      if (!by_layer) {
        EXPECT_LT(now.parameter_bytes, last.parameter_bytes * 6 / 10) << n;
      }
      last = now;
    }
  }
}

TEST(EstimateMesh, NeedsLessForActivationsIn16Bits) {
  const auto model = small_resnet();
  PlannedStep settings = step_of(256);
  const DeviceEstimate whole = estimate(*model, settings, {1, 1, 1}).devices[0];
  for (DType dtype : {DType::bf16, DType::f16})
    for (const Mesh& mesh : kMeshes) {
      settings.compute = dtype;
      settings.conditioning.is_scaled = dtype == DType::f16;
      const MeshEstimate found = estimate(*model, settings, mesh);
      EXPECT_LT(found.fullest().activation_bytes, whole.activation_bytes) << name_of(mesh);
    }
}

}  // namespace
}  // namespace troika
