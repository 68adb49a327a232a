// Layers that are split by channel over a group of devices compute the same as one device. Also in
// combination with the other two splits.
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "core/text.h"
#include "equivalence/runs.h"
#include "models/initializer.h"
#include "models/layers.h"
#include "models/zoo.h"
#include "support/throws.h"
#include "train/checkpoint.h"

namespace troika {
namespace {

constexpr double kTolerance = 1e-5;  // sums over input channels are computed in parts

TrainerOptions split(int layer, int channel, int64_t micro_batches = 1) {
  TrainerOptions options = momentum_options();
  options.mesh.layer = layer;
  options.mesh.channel = channel;
  options.micro_batches = micro_batches;
  options.deadline_ms = 60000;
  return options;
}

TEST(Channels, EqualOneDeviceWhateverTheWidths) {
  for (int64_t samples : {1, 7, 16}) {
    const auto batches = make_batches(4, samples);
    for (const auto& net : {conv_net, dropout_net}) {  // 4, 17, 19 and 5 channels
      const Trained oracle = train(net(), test_devices(1), momentum_options(), batches);
      for (int channel : {2, 3, 4})
        expect_near(oracle, train(net(), test_devices(channel), split(1, channel), batches), kTolerance,
                    text(samples, " samples, ", channel, " devices"));
    }
  }
}

TEST(Channels, NormaliseAsOneDeviceDoes) {
  for (int64_t samples : {4, 16}) {
    const auto batches = make_batches(4, samples);
    Trained oracle = train(batch_norm_net(), test_devices(1), momentum_options(), batches);
    for (int channel : {2, 4}) {
      Trained found = train(batch_norm_net(), test_devices(channel), split(1, channel), batches);
      for (Trained* run : {&oracle, &found})  // BatchNorm cancels this bias: its gradient is only rounding
        forget(*run, "conv2.bias");
      expect_near(oracle, found, 5e-5, text(channel, " devices"));
    }
  }
}

TEST(Channels, EqualOneDeviceTogetherWithDataAndLayers) {
  for (int64_t samples : {1, 13, 16}) {
    const auto batches = make_batches(3, samples);
    const Trained oracle = train(conv_net(), test_devices(1), momentum_options(), batches);
    for (auto [data, layer, channel] :
         {std::array{2, 1, 2}, {1, 2, 2}, {2, 2, 2}, {4, 1, 2}, {1, 4, 2}, {1, 2, 4}, {2, 1, 4}})
      for (int64_t micro_batches : {1, 2})
        expect_near(
            oracle,
            train(conv_net(), test_devices(data * layer * channel), split(layer, channel, micro_batches), batches),
            kTolerance, text(data, " x ", layer, " x ", channel, ", ", samples, " samples in ", micro_batches));
  }
}

TEST(Channels, NormaliseTogetherWithDataAndLayersAsSoManyMicroBatches) {
  const auto batches = make_batches(3, 16);
  TrainerOptions one = momentum_options();
  one.micro_batches = 4;
  Trained oracle = train(batch_norm_net(), test_devices(1), one, batches);
  for (auto [data, layer, micro_batches] : {std::array{2, 1, 2}, {1, 2, 4}, {2, 2, 2}, {4, 1, 1}}) {
    Trained found = train(batch_norm_net(), test_devices(data * layer * 2), split(layer, 2, micro_batches), batches);
    found.buffers = oracle.buffers;  // statistics are those of the first share of samples
    for (Trained* run : {&oracle, &found}) forget(*run, "conv2.bias");
    expect_near(oracle, found, 5e-5, text(data, " x ", layer, " x 2"));
  }
}

TEST(Channels, HoldTheirPartOfTheParameters) {
  auto net = [] {
    ZooOptions zoo;
    zoo.hidden = 768;  // a fourth fills whole blocks of oneDNN's layouts, of 48 or 64 columns
    std::shared_ptr<Model> model = create_model("mlp", zoo);
    initialize_default(*model, 3, false);
    return model;
  };
  auto bytes_of = [&](int channel) {
    const auto model = net();
    Trainer trainer(test_context(), model, test_devices(channel), split(1, channel));
    Batch batch;
    std::vector<int64_t> dims = model->input_shape().dims();
    dims.insert(dims.begin(), 4);
    batch.shape = Shape(dims);
    batch.inputs.assign(static_cast<size_t>(batch.shape.elements()), 0.5f);
    batch.labels = {0, 1, 2, 3};
    StepResult result;
    trainer.step(batch, result);
    return static_cast<double>(trainer.state().table_of(0).segment_bytes(Segment::parameters));
  };
  const double whole = bytes_of(1);
  EXPECT_LT(bytes_of(2), 0.52 * whole);
  EXPECT_LT(bytes_of(4), 0.27 * whole);
}

// Seven channels, flattened to fourteen features, are added to fourteen units. The two are cut in
// different places, so that a rank's features and units do not always match.
TEST(Channels, AddValuesThatAreCutInDifferentPlaces) {
  auto net = [](bool is_by_row) {
    auto model = std::make_shared<Model>("net");
    ValueId x = add_conv2d(*model, "conv", model->add_input("x", {1, 8, 7}), {7, square(3), 1, true});
    x = add_flatten(*model, "flatten", add_adaptive_avg_pool2d(*model, "pool", x, 2, 1));
    ValueId y = is_by_row ? add_linear(*model, "fc1", x, 14, true)
                          : add_linear(*model, "fc1", add_flatten(*model, "flatten_x", 0), 14, true);
    return finished(model, add_linear(*model, "fc2", add_sum(*model, "sum", x, y), 5, true));
  };
  const auto batches = make_batches(3, 6);
  for (bool is_by_row : {false, true}) {
    const Trained oracle = train(net(is_by_row), test_devices(1), momentum_options(), batches);
    for (int channel : {2, 3, 4, 5})
      expect_near(oracle, train(net(is_by_row), test_devices(channel), split(1, channel), batches), kTolerance,
                  text(channel, " devices"));
  }
}

TEST(Channels, PredictAndEvaluateAsOne) {
  const Batch batch = make_batches(1, 13)[0];
  for (const auto& net : {batch_norm_net, dropout_net}) {
    Trainer one(test_context(), net(), test_devices(1), momentum_options());
    for (auto [data, layer, channel] : {std::array{1, 1, 2}, {1, 1, 4}, {2, 2, 2}}) {
      Trainer many(test_context(), net(), test_devices(data * layer * channel), split(layer, channel));
      std::vector<float> expected, found;
      predict(one, batch, expected);
      predict(many, batch, found);
      EXPECT_LE(difference(expected, found), kTolerance);
      Loader loader(std::make_shared<ArrayDataset>(Shape{1, 8, 7}, batch.inputs, batch.labels),
                    {.batch = 4, .prefetch = 0});
      Metrics a, b;
      one.evaluate(loader, nullptr, a);
      many.evaluate(loader, nullptr, b);
      EXPECT_EQ(a.samples, b.samples);
      EXPECT_EQ(a.correct, b.correct);
      EXPECT_NEAR(a.loss, b.loss, 1e-5 * a.loss);
    }
  }
}

TEST(Channels, GoOnFromAFileOnAnyOtherMesh) {
  const auto batches = make_batches(8, 12);
  const Trained whole = train(conv_net(), test_devices(1), momentum_options(), batches);
  const std::string path = testing::TempDir() + "channels.safetensors";
  size_t next = 0;
  for (auto [data, layer, channel] : {std::array{1, 1, 4}, {2, 2, 2}, {1, 1, 1}, {2, 1, 2}}) {
    Trainer trainer(test_context(), conv_net(), test_devices(data * layer * channel), split(layer, channel));
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

std::string file_bytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(Channels, SaveTheSameBytesOnEveryMesh) {
  const std::string path = testing::TempDir() + "first.safetensors", again = testing::TempDir() + "again.safetensors";
  for (const auto& net : {conv_net, batch_norm_net}) {
    {
      Trainer trainer(test_context(), net(), test_devices(1), momentum_options());
      StepResult result;
      for (const Batch& batch : make_batches(3, 12)) trainer.step(batch, result);
      save_checkpoint(trainer, path);
    }
    const std::string expected = file_bytes(path);
    for (auto [data, layer, channel] : {std::array{2, 1, 1}, {1, 4, 1}, {1, 1, 4}, {2, 2, 2}}) {
      Trainer trainer(test_context(), net(), test_devices(data * layer * channel), split(layer, channel));
      load_checkpoint(trainer, path);
      std::vector<float> output;  // predicting copies the state to the devices and back
      const Batch batch = make_batches(1, 4)[0];
      predict(trainer, batch, output);
      save_checkpoint(trainer, again);
      EXPECT_TRUE(file_bytes(again) == expected) << data << " x " << layer << " x " << channel;
    }
  }
}

TEST(Channels, OfAResNetEqualOneDevice) {
  ZooOptions zoo;
  zoo.input_channels = 1, zoo.input_height = 8, zoo.input_width = 7, zoo.classes = 5;
  auto net = [&] {
    std::shared_ptr<Model> model = create_model("d2l_resnet18", zoo);
    initialize_default(*model, 3, false);
    return model;
  };
  const auto batches = make_batches(1, 8);
  const Trained oracle = train(net(), test_devices(1), momentum_options(), batches);
  const Trained found = train(net(), test_devices(2), split(1, 2), batches);
  EXPECT_NEAR(oracle.losses[0], found.losses[0], 1e-4 * oracle.losses[0]);
  expect_near(oracle.buffers, found.buffers, 1e-4, "buffer");
}

// The results are as close to f32 as those of one device. They differ, because devices round
// partial sums, and one device rounds whole sums.
TEST(Channels, ComputeInBf16AndF16AsOneDeviceDoes) {
  const auto batches = make_batches({16, 7, 3});
  const Trained exact = train(conv_net(), test_devices(1), momentum_options(), batches);
  auto error = [&](const Trained& run) {
    double most = 0;
    for (const auto& [name, values] : exact.parameters)
      most = std::max(most, difference(values, run.parameters.at(name)));
    return most;
  };
  for (DType compute : {DType::bf16, DType::f16}) {
    TrainerOptions options = momentum_options();
    options.compute = compute;
    const double alone = error(train(conv_net(), test_devices(1), options, batches));
    EXPECT_GT(alone, 1e-4);
    for (int channel : {2, 3, 4}) {
      TrainerOptions many = split(1, channel);
      many.compute = compute;
      EXPECT_LE(error(train(conv_net(), test_devices(channel), many, batches)), 2 * alone)
          << name_of(compute) << ", " << channel << " devices";
    }
  }
}

TEST(Channels, RefuseAMeshThatCannotWork) {
  auto attach = [](int devices, const TrainerOptions& options) {
    Trainer(test_context(), conv_net(), test_devices(devices), options);
  };
  EXPECT_THROWS(Status::invalid_argument, "conv2d 'conv1' has 4 output channels, cannot be split over 5 devices",
                attach(5, split(1, 5)));
  EXPECT_THROWS(Status::invalid_argument,
                "mesh: data is 0, layer is 1 and channel is 2, needs a multiple of 2 devices; found 3",
                attach(3, split(1, 2)));
}

}  // namespace
}  // namespace troika
