// A network that is split by layer over a pipeline of devices computes the same as one device with
// as many micro-batches.
#include <gtest/gtest.h>

#include <utility>

#include "core/text.h"
#include "equivalence/runs.h"
#include "models/initializer.h"
#include "models/layers.h"
#include "models/zoo.h"
#include "support/throws.h"
#include "train/checkpoint.h"
#include "train/state_reader.h"

namespace troika {
namespace {

constexpr double kTolerance = 5e-6;  // as between devices

TrainerOptions split(int layer, int64_t micro_batches, PipelineSchedule schedule = PipelineSchedule::one_f_one_b,
                     int chunks = 1) {
  TrainerOptions options = momentum_options();
  options.mesh.layer = layer;
  options.micro_batches = micro_batches;
  options.pipeline_schedule = schedule;
  options.pipeline_chunks = chunks;
  options.deadline_ms = 60000;
  return options;
}

TEST(Layers, EqualOneDevice) {
  for (int64_t samples : {1, 7, 16, 31}) {
    const auto batches = make_batches(4, samples);
    for (const auto& net : {conv_net, dropout_net}) {
      const Trained oracle = train(net(), test_devices(1), momentum_options(), batches);
      for (int layer : {2, 3, 4})
        for (int64_t micro_batches : {1, 3, 4})
          for (auto schedule : {PipelineSchedule::gpipe, PipelineSchedule::one_f_one_b})
            expect_near(oracle, train(net(), test_devices(layer), split(layer, micro_batches, schedule), batches),
                        kTolerance, text(samples, " samples in ", micro_batches, " parts over ", layer, " devices"));
    }
  }
}

TEST(Layers, EqualOneDeviceTogetherWithASplitByData) {
  for (int64_t samples : {1, 3, 16, 31}) {  // with the fewest samples, some pipelines have none
    const auto batches = make_batches(4, samples);
    const Trained oracle = train(conv_net(), test_devices(1), momentum_options(), batches);
    for (auto [data, layer] : {std::pair{2, 2}, {4, 2}, {2, 4}, {2, 3}})
      expect_near(oracle, train(conv_net(), test_devices(data * layer), split(layer, 2), batches), kTolerance,
                  text(data, " x ", layer));
  }
}

TEST(Layers, EqualOneDeviceInInterleavedOrder) {
  for (int64_t samples : {16, 13, 3}) {  // the last too small for the schedule
    const auto batches = make_batches(3, samples);
    const Trained oracle = train(conv_net(), test_devices(1), momentum_options(), batches);
    for (auto [layer, chunks] : {std::pair{2, 2}, {2, 3}, {3, 2}})
      expect_near(oracle,
                  train(conv_net(), test_devices(layer), split(layer, 2 * layer, PipelineSchedule::interleaved, chunks),
                        batches),
                  kTolerance, text(layer, " devices with ", chunks, " stages each"));
  }
}

TEST(Layers, NormaliseMicroBatchesAsOneDeviceDoes) {
  for (int64_t samples : {16, 31})
    for (int parts : {1, 2, 4}) {
      const auto batches = make_batches(4, samples);
      TrainerOptions one = momentum_options();
      one.micro_batches = parts;
      Trained oracle = train(batch_norm_net(), test_devices(1), one, batches);
      for (int layer : {2, 4}) {
        Trained found = train(batch_norm_net(), test_devices(layer), split(layer, parts), batches);
        for (Trained* run : {&oracle, &found})  // BatchNorm cancels this bias: its gradient is only rounding
          forget(*run, "conv2.bias");
        expect_near(oracle, found, 2e-5, text(parts, " parts over ", layer, " devices"));
      }
    }
}

TEST(Layers, GiveTheSameBitsByEverySchedule) {
  const auto batches = make_batches(4, 24);
  for (const auto& net : {conv_net, batch_norm_net, dropout_net}) {
    const Trained first = train(net(), test_devices(2), split(2, 4, PipelineSchedule::gpipe), batches);
    EXPECT_TRUE(train(net(), test_devices(2), split(2, 4, PipelineSchedule::one_f_one_b), batches) == first);
  }
  // With these cuts into four stages, no value skips a stage. On two devices, such a value would
  // return to the device that sent it, in another layout.
  for (const auto& [net, cuts] : std::vector<std::pair<std::shared_ptr<Model> (*)(), std::vector<std::string>>>{
           {conv_net, {"pool", "conv2", "fc"}}, {dropout_net, {"fc1", "drop2", "fc2"}}}) {
    TrainerOptions four = split(4, 4, PipelineSchedule::gpipe), two = split(2, 4, PipelineSchedule::interleaved, 2);
    four.layer_cuts = two.layer_cuts = cuts;
    const Trained of_four = train(net(), test_devices(4), four, batches, one_thread_context());
    EXPECT_TRUE(train(net(), test_devices(2), two, batches, one_thread_context()) == of_four);
  }
}

// Cuts before every layer, which includes cuts
// - between a BatchNorm and the residual or the ReLU that one device would fuse with it,
// - at values that recomputation drops,
// - at values that are split over a channel group.
TEST(Layers, MayBeCutBeforeAnyLayer) {
  const auto batches = make_batches(3, 16);
  for (const auto& net : {conv_net, batch_norm_net, dropout_net}) {
    TrainerOptions one = momentum_options();
    one.micro_batches = 4;
    Trained oracle = train(net(), test_devices(1), one, batches);
    const auto model = net();
    std::string before = model->graph().nodes()[0].name;
    for (const Node& node : model->graph().nodes()) {
      if (std::exchange(before, node.name) == node.name) continue;
      for (int channel : {1, 2})
        for (int segments : {0, 3}) {
          TrainerOptions options = split(2, 4);
          options.mesh.channel = channel;
          options.layer_cuts = {node.name};
          options.recompute.segments = segments;
          options.deadline_ms = 20000;
          Trained found = train(net(), test_devices(2 * channel), options, batches);
          if (net == batch_norm_net)  // BatchNorm cancels this bias: its gradient is only rounding
            for (Trained* run : {&oracle, &found}) forget(*run, "conv2.bias");
          expect_near(oracle, found, 5e-5,
                      text("cut before ", node.name, ", channel ", channel, ", segments ", segments));
        }
    }
  }
}

TEST(Layers, HoldTheirOwnParametersAlone) {
  const auto model = conv_net();
  TrainerOptions options = split(2, 2);
  options.layer_cuts = {"conv2"};
  Trainer trainer(test_context(), model, test_devices(2), options);
  StepResult result;
  trainer.step(make_batches(1, 8)[0], result);
  const size_t first = trainer.state().table_of(0).segment_bytes(Segment::parameters),
               second = trainer.state().table_of(1).segment_bytes(Segment::parameters);
  EXPECT_EQ(trainer.state().table_of(0).entries().size(), 2u);
  EXPECT_EQ(trainer.state().table_of(1).entries().size(), 4u);
  Trainer whole(test_context(), conv_net(), test_devices(1), momentum_options());
  whole.step(make_batches(1, 8)[0], result);
  EXPECT_EQ(first + second, whole.state().table_of(0).segment_bytes(Segment::parameters));
  std::vector<float> weight(4 * 9);
  read_parameter(trainer, "conv1.weight", test_devices(2)[0], weight.data(), weight.size() * sizeof(float));
  const auto [own, other] = std::pair(test_devices(2)[0], test_devices(2)[1]);
  if (own == other) return;
  EXPECT_THROWS(Status::not_on_device, text("parameter 'conv1.weight' is not on ", other, "; it is on ", own),
                read_parameter(trainer, "conv1.weight", other, weight.data(), weight.size() * sizeof(float)));
}

TEST(Layers, PredictAndEvaluateAsOne) {
  const Batch batch = make_batches(1, 13)[0];
  Trainer one(test_context(), batch_norm_net(), test_devices(1), momentum_options());
  for (auto [data, layer] : {std::pair{1, 2}, {1, 4}, {2, 2}}) {
    Trainer many(test_context(), batch_norm_net(), test_devices(data * layer), split(layer, 2));
    std::vector<float> expected, found;
    predict(one, batch, expected);
    predict(many, batch, found);
    EXPECT_LE(difference(expected, found), kTolerance);
    Loader loader(std::make_shared<ArrayDataset>(Shape{1, 8, 7}, batch.inputs, batch.labels),
                  {.batch = 4, .prefetch = 0});
    Metrics a, b;
    one.evaluate(loader, nullptr, a);
    many.evaluate(loader, nullptr, b);
    EXPECT_EQ(a.correct, b.correct);
    EXPECT_NEAR(a.loss, b.loss, 1e-6 * a.loss);
    const DeviceId device = test_device();
    EXPECT_THROWS(Status::unsupported, "is split over", many.evaluate(loader, &device, b));
  }
}

TEST(Layers, GoOnFromAFileOnAnyOtherMesh) {
  const auto batches = make_batches(6, 12);
  const Trained whole = train(conv_net(), test_devices(1), momentum_options(), batches);
  const std::string path = testing::TempDir() + "layers.safetensors";
  size_t next = 0;
  for (auto [data, layer] : {std::pair{1, 4}, {2, 2}, {1, 1}}) {
    Trainer trainer(test_context(), conv_net(), test_devices(data * layer), split(layer, 2));
    if (next > 0) load_checkpoint(trainer, path);
    StepResult result;
    for (int i = 0; i < 2; ++i) trainer.step(batches[next++], result);
    save_checkpoint(trainer, path);
    if (next < batches.size()) continue;
    const Trained found = look_at(trainer);
    expect_near(whole.parameters, found.parameters, kTolerance, "parameter");
    expect_near(whole.slots, found.slots, kTolerance, "slots");
  }
}

TEST(Layers, OfAResNetEqualOneDevice) {
  ZooOptions zoo;
  zoo.input_channels = 1, zoo.input_height = zoo.input_width = 32, zoo.classes = 5;
  auto net = [&] {
    std::shared_ptr<Model> model = create_model("resnet18", zoo);
    initialize_default(*model, 3, false);
    return model;
  };
  // One step only: with so few values to normalise, a change of 1e-7 in the inputs grows a
  // thousandfold in each step.
  auto batches = make_batches(1, 16 * 32 * 32 / 56);  // samples of 1 x 8 x 7: enough numbers
  batches[0].shape = {16, 1, 32, 32};
  batches[0].inputs.resize(static_cast<size_t>(batches[0].shape.elements()));
  batches[0].labels.resize(16);
  TrainerOptions one = momentum_options();
  one.micro_batches = 2;
  const Trained oracle = train(net(), test_devices(1), one, batches);
  for (int layer : {2, 4}) {
    const Trained found = train(net(), test_devices(layer), split(layer, 2), batches);
    EXPECT_NEAR(oracle.losses[0], found.losses[0], 1e-5 * oracle.losses[0]);
    expect_near(oracle.buffers, found.buffers, 1e-4, "buffer");
    // Stages may choose other layouts, and so sum in another order. A number that is nearly 0 may
    // then fall on the other side of a ReLU. In 18 of 120 runs with kernels of three instruction
    // sets, this changed gradients by up to 0.025 of their norm.
    for (const auto& [name, gradient] : oracle.gradients)
      EXPECT_LE(norm_of_difference(gradient, found.gradients.at(name)), name.starts_with("fc") ? 1e-5 : 0.1) << name;
  }
}

// A shortcut also reads the input. The crop and the cast of the input belong to no layer; the first
// stage computes them.
TEST(Layers, MayReadTheInputInSeveralStages) {
  auto net = [] {
    auto model = std::make_shared<Model>("net");
    const ValueId x = model->add_input("x", {1, 8, 7});
    ValueId y = add_conv2d(*model, "conv1", x, {4, square(2, 3), 1, true});
    y = add_relu(*model, "relu", add_conv2d(*model, "conv2", y, {5, square(1), 1, true}));
    y = add_sum(*model, "sum", add_conv2d(*model, "shortcut", x, {5, square(2, 3), 1, false}), y);
    return finished(model, add_linear(*model, "fc", add_flatten(*model, "flatten", y), 5, true));
  };
  const auto batches = make_batches(3, 16);
  for (DType compute : {DType::f32, DType::bf16})
    for (const char* cut : {"conv2", "shortcut", "fc"}) {
      TrainerOptions one = momentum_options(), options = split(2, 2);
      options.layer_cuts = {cut};
      one.compute = options.compute = compute;
      one.groups = options.groups = {{"conv1.*", true}};  // frozen, so that no gradient reads the input there
      const double tolerance = compute == DType::f32 ? kTolerance : 0.02;
      expect_near(train(net(), test_devices(1), one, batches).parameters,
                  train(net(), test_devices(2), options, batches).parameters, tolerance, cut);
      std::vector<float> expected, found;
      predict(Trainer(test_context(), net(), test_devices(1), one), batches[0], expected);
      predict(Trainer(test_context(), net(), test_devices(2), options), batches[0], found);
      EXPECT_LE(difference(expected, found), tolerance) << cut;
    }
}

TEST(Layers, RefuseAMeshThatCannotWork) {
  auto attach = [](int devices, const TrainerOptions& options) {
    Trainer(test_context(), conv_net(), test_devices(devices), options);
  };
  EXPECT_THROWS(Status::invalid_argument, "model 'conv_net' has 7 layers, cannot be cut into 8 stages",
                attach(8, split(8, 1)));
  EXPECT_THROWS(Status::invalid_argument,
                "mesh: data is 0, layer is 2 and channel is 1, needs a multiple of 2 devices; found 3",
                attach(3, split(2, 1)));
  TrainerOptions options = split(2, 2);
  options.mesh.data = 2;
  EXPECT_THROWS(Status::invalid_argument, "mesh: data is 2, layer is 2 and channel is 1, needs 4 devices; found 2",
                attach(2, options));
  options = split(2, 2);
  options.layer_cuts = {"conv9"};
  EXPECT_THROWS(Status::not_found, "layer_cuts: model 'conv_net' has no layer 'conv9'", attach(2, options));
  options.layer_cuts = {"conv1"};
  EXPECT_THROWS(Status::invalid_argument, "layer_cuts: layer 'conv1' leaves the stage before it empty",
                attach(2, options));
  options.layer_cuts = {"conv2", "fc"};
  EXPECT_THROWS(Status::invalid_argument, "layer_cuts names 2 layers, 2 stages need 1", attach(2, options));
  EXPECT_THROWS(Status::invalid_argument,
                "troika_model_attach: options.layer_chunks is 2, needs options.layer_schedule",
                attach(2, split(2, 2, PipelineSchedule::gpipe, 2)));
  options = split(2, 2);
  options.logical_shards = 2;
  options.micro_batches = 1;
  EXPECT_THROWS(Status::unsupported,
                "troika_model_attach: options.mesh.layer is 2, which does not go together with logical_shards yet",
                attach(2, options));
}

}  // namespace
}  // namespace troika
