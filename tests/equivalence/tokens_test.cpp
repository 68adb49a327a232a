// Tokens and labels per position: char_lstm computes the same as PyTorch on any mesh, and epochs
// over tokens compute the same as batches.
#include <set>

#include "core/text.h"
#include "data/token_dataset.h"
#include "equivalence/golden.h"
#include "equivalence/runs.h"
#include "models/layers.h"
#include "models/zoo.h"
#include "support/throws.h"

namespace troika {
namespace {

constexpr int64_t kSteps = 12, kWords = 11;
constexpr int32_t kIgnored = 3;

std::vector<int32_t> tokens(uint32_t t, int64_t count) { return golden::integers(t, count, kWords); }

Batch token_batch(uint32_t step, int64_t samples = 7) {
  Batch batch;
  batch.shape = {samples, kSteps};
  batch.dtype = DType::i32;
  batch.tokens = tokens(1000 + step, samples * kSteps);
  batch.labels = tokens(2000 + step, samples * kSteps);
  batch.label_size = kSteps;
  return batch;
}

// Returns the model of tests/golden/layers/char_lstm.py.
std::shared_ptr<Model> golden_net() {
  std::shared_ptr<Model> model = create_model("char_lstm", {.classes = kWords, .hidden = 8, .steps = kSteps});
  golden::set_parameters(*model);
  return model;
}

TrainerOptions golden_options(bool has_ignored) {
  TrainerOptions options;
  options.settings[Setting::learning_rate] = 0.5;
  options.settings[Setting::momentum] = 0.9;
  if (has_ignored) options.labels = {kIgnored, 0.1};
  options.deadline_ms = 60000;
  return options;
}

std::vector<Batch> golden_batches(bool has_ignored) {
  std::vector<Batch> batches;
  for (uint32_t step = 0; step < 5; ++step) batches.push_back(token_batch(step));
  if (has_ignored) std::fill(batches[2].labels.begin() + 3 * kSteps, batches[2].labels.end(), kIgnored);
  return batches;
}

TEST(Tokens, FollowPyTorchOnAnyMesh) {
  const auto file = golden::read_file("char_lstm.json");
  for (bool has_ignored : {false, true}) {
    const auto& expected = file.at(has_ignored ? "ignored" : "plain");
    const auto batches = golden_batches(has_ignored);
    const auto check = [&](const TrainerOptions& options, int devices, const std::string& what) {
      const Trained first = train(golden_net(), test_devices(devices), options, {batches[0]});
      expect_near(expected.at("gradients").get<Named>(), first.gradients, 1e-5, what + ", gradient");
      const Trained found = train(golden_net(), test_devices(devices), options, batches);
      for (size_t i = 0; i < batches.size(); ++i)
        EXPECT_NEAR(expected.at("losses").at(i).get<double>(), found.losses[i], 1e-5) << what << ", step " << i;
      EXPECT_EQ(expected.at("corrects").get<std::vector<int64_t>>(), found.correct) << what;
      expect_near(expected.at("parameters").get<Named>(), found.parameters, 1e-5, what + ", parameter");
    };
    for (auto [data, layer, channel, micro_batches] : {std::array{1, 1, 1, 1},
                                                       {1, 1, 1, 3},
                                                       {2, 1, 1, 1},
                                                       {3, 1, 1, 2},
                                                       {1, 2, 1, 1},
                                                       {1, 3, 1, 3},
                                                       {1, 1, 2, 1},
                                                       {1, 1, 3, 1},
                                                       {2, 2, 2, 2}}) {
      TrainerOptions options = golden_options(has_ignored);
      options.mesh.layer = layer;
      options.mesh.channel = channel;
      options.micro_batches = micro_batches;
      check(options, data * layer * channel,
            text(has_ignored ? "ignored" : "plain", " on ", data, " x ", layer, " x ", channel, " in ", micro_batches));
    }
    TrainerOptions options = golden_options(has_ignored);
    options.fuse = false;
    check(options, 1, "not fused");
    options = golden_options(has_ignored);
    options.logical_shards = 4;
    check(options, 2, "logical shards");
    options.logical_shards = 0;
    options.recompute.segments = 2;
    check(options, 1, "recomputed");
  }
}

// A loss scale is a power of two, so f32 gradients lose no precision.
TEST(Tokens, KeepTheirWeightUnderALossScale) {
  const auto batches = golden_batches(true);
  const Trained plain = train(golden_net(), test_devices(2), golden_options(true), batches);
  TrainerOptions options = golden_options(true);
  options.conditioning.is_scaled = true;
  options.loss_scale = 1024;
  expect_near(plain, train(golden_net(), test_devices(2), options, batches), 1e-6, "scaled");
}

TEST(Tokens, AreTrainedInSixteenBitsToNearlyTheSame) {
  const auto batches = golden_batches(true);
  const Trained exact = train(golden_net(), test_devices(1), golden_options(true), batches);
  for (DType compute : {DType::bf16, DType::f16}) {
    TrainerOptions options = golden_options(true);
    options.compute = compute;
    const Trained found = train(golden_net(), test_devices(1), options, batches);
    for (size_t i = 0; i < batches.size(); ++i)
      EXPECT_NEAR(exact.losses[i], found.losses[i], 1e-2) << name_of(compute) << ", step " << i;
  }
}

TEST(Tokens, TeachNothingIfAllLabelsAreIgnored) {
  Batch batch = token_batch(0);
  std::fill(batch.labels.begin(), batch.labels.end(), kIgnored);
  Trainer trainer(test_context(), golden_net(), test_devices(2), golden_options(true));
  StepResult result;
  trainer.step(batch, result);
  EXPECT_EQ(result.loss, 0);
  EXPECT_EQ(result.labels, 0);
  EXPECT_EQ(look_at(trainer).parameters, parameters_of(*golden_net(), false));
}

TEST(Tokens, AreRefusedIfTheModelHasNoSuchWordOrLabel) {
  Trainer trainer(test_context(), golden_net(), test_devices(1), golden_options(true));
  StepResult result;
  const auto refuse = [&](const char* message, auto spoil) {
    Batch batch = token_batch(0);
    spoil(batch);
    EXPECT_THROWS(Status::invalid_argument, message, trainer.step(batch, result));
  };
  refuse("batch: token 2 of sample 1 is 11, model 'char_lstm' has words 0 to 10",
         [](Batch& b) { b.tokens[kSteps + 2] = kWords; });
  refuse("batch: token 0 of sample 0 is -1, model 'char_lstm' has words 0 to 10", [](Batch& b) { b.tokens[0] = -1; });
  refuse("batch: label of sample 2 at position 1 is -100, model 'char_lstm' has classes 0 to 10",
         [](Batch& b) { b.labels[2 * kSteps + 1] = -100; });
  refuse("batch: has 1 label per sample, model 'char_lstm' needs 12", [](Batch& b) {
    b.labels.resize(7);
    b.label_size = 1;
  });
  refuse("batch: inputs are f32, model 'char_lstm' needs i32", [](Batch& b) {
    b.dtype = DType::f32;
    b.inputs.assign(b.tokens.begin(), b.tokens.end());
  });
}

// ---- epochs ----

constexpr int64_t kSamples = 19, kBatch = 5;

std::shared_ptr<const Dataset> labelled_tokens() {
  std::vector<int32_t> labels = tokens(2, kSamples * kSteps);
  for (size_t i = 0; i < labels.size(); i += 4) labels[i] = -7;
  return std::make_shared<const TokenDataset>(tokens(1, kSamples * kSteps), kSteps, std::move(labels), kSteps, -7);
}

std::shared_ptr<const Dataset> byte_stream() {
  std::vector<uint8_t> bytes;
  for (int32_t token : tokens(1, kSamples * kSteps + 5)) bytes.push_back(static_cast<uint8_t>(token));
  return std::make_shared<const TokenDataset>(std::move(bytes), kSteps);
}

// GPUs gather batches from a dataset in their memory, and the host counts the labels. CPUs get
// batches from the host.
TEST(Tokens, OfAnEpochTrainAsTheirBatchesDo) {
  for (bool is_stream : {false, true})
    for (bool shuffles : {false, true}) {
      const auto dataset = is_stream ? byte_stream() : labelled_tokens();
      TrainerOptions options = golden_options(false);
      options.labels.ignored = -7;
      LoaderOptions loader_options;
      loader_options.batch = kBatch;
      loader_options.shuffle = shuffles;
      loader_options.seed = 3;
      Loader loader(dataset, loader_options), again(dataset, loader_options);
      Trainer epochs(test_context(), golden_net(), test_devices(2), options);
      Trainer steps(test_context(), golden_net(), test_devices(2), options);
      Metrics metrics, evaluated;
      double loss = 0;
      int64_t labels = 0, correct = 0;
      for (int epoch = 0; epoch < 2; ++epoch) {
        EXPECT_TRUE(epochs.train_epoch(loader, metrics));
        loss = 0;
        labels = correct = 0;
        while (const Batch* batch = again.next()) {
          StepResult result;
          steps.step(*batch, result);
          loss += result.loss * static_cast<double>(result.labels);
          labels += result.labels;
          correct += result.correct;
        }
      }
      EXPECT_EQ(metrics.samples, kSamples);
      EXPECT_EQ(metrics.labels, labels);
      EXPECT_EQ(labels, is_stream ? kSamples * kSteps : kSamples * kSteps * 3 / 4);
      EXPECT_EQ(metrics.correct, correct);
      EXPECT_NEAR(metrics.loss, loss / static_cast<double>(labels), 1e-12);
      EXPECT_EQ(look_at(epochs).parameters, look_at(steps).parameters);
      EXPECT_TRUE(epochs.evaluate(loader, nullptr, evaluated));
      EXPECT_EQ(evaluated.labels, labels);
    }
}

TEST(Tokens, OfAByteStreamAreWindowsWhoseLabelsAreTheNextTokens) {
  const TokenDataset dataset(std::vector<uint8_t>{9, 8, 7, 250, 5, 4, 3, 2}, 3);
  EXPECT_EQ(dataset.size(), 2);
  EXPECT_EQ(dataset.form().words, 251);
  EXPECT_EQ(dataset.classes(), 251);
  const int64_t indices[] = {1, 0};
  std::vector<int32_t> inputs(6), labels(6);
  dataset.read(indices, 2, inputs.data(), labels.data(), nullptr);
  EXPECT_EQ(inputs, (std::vector<int32_t>{250, 5, 4, 9, 8, 7}));
  EXPECT_EQ(labels, (std::vector<int32_t>{5, 4, 3, 8, 7, 250}));
}

// ---- labels per pixel, and other layers of sequences ----

// Splits a model with labels of [batch, classes, h, w] by layer and by channel.
TEST(Tokens, AreNotNeededForALabelPerPixel) {
  auto make = [] {
    auto model = std::make_shared<Model>("pixels");
    ValueId x = model->add_input("x", {2, 4, 3});
    x = add_relu(*model, "relu", add_conv2d(*model, "conv1", x, {6, square(3, 1, 1), 1, true}));
    return finished(model, add_conv2d(*model, "conv2", x, {5, square(1), 1, true}));
  };
  std::vector<Batch> batches;
  for (uint32_t step = 0; step < 3; ++step) {
    Batch& batch = batches.emplace_back();
    batch.shape = {7, 2, 4, 3};
    batch.inputs = golden::units(step, 7 * 24);
    batch.labels = golden::integers(50 + step, 7 * 12, 5);
    batch.label_size = 12;
  }
  TrainerOptions options = golden_options(true);
  const Trained oracle = train(make(), test_devices(1), options, batches);
  for (auto [data, layer, channel] : {std::array{2, 1, 1}, {1, 2, 1}, {1, 1, 2}}) {
    options.mesh.layer = layer;
    options.mesh.channel = channel;
    expect_near(oracle, train(make(), test_devices(2), options, batches), 5e-6,
                text(data, " x ", layer, " x ", channel));
  }
}

// Channels on the last axis: an embedding, whose features a linear layer per position reads in
// parts, and a sequence that is flattened in parts.
TEST(Tokens, SplitByChannelBetweenLayersPerPosition) {
  auto make = [](bool flattens) {
    auto model = std::make_shared<Model>("net");
    ValueId x = add_embedding(*model, "embedding", model->add_input("x", {kSteps}, DType::i32), kWords, 7);
    x = add_relu(*model, "relu", add_linear(*model, "fc1", x, 9, true, true));
    x = add_linear(*model, "fc2", x, 5, true, true);
    if (flattens)
      x = add_linear(*model, "fc3", add_flatten(*model, "flatten", add_relu(*model, "relu2", x)), kWords, true);
    return finished(model, x);
  };
  for (bool flattens : {false, true}) {
    std::vector<Batch> batches;
    for (uint32_t step = 0; step < 3; ++step) {
      Batch& batch = batches.emplace_back(token_batch(step));
      for (int32_t& label : batch.labels) label %= 5;
      if (flattens) batch.labels.resize(7), batch.label_size = 1;
    }
    TrainerOptions options = golden_options(false);
    options.settings[Setting::learning_rate] = 0.1;
    const Trained oracle = train(make(flattens), test_devices(1), options, batches);
    for (int devices : {2, 3}) {
      options.mesh.channel = devices;
      expect_near(oracle, train(make(flattens), test_devices(devices), options, batches), 5e-6,
                  text(devices, " channels, ", flattens));
    }
  }
}

// A model that reads tokens, and one that reads the same tokens as numbers of a row: in 16 bits,
// too, every word is found, though bf16 holds whole numbers up to 256 only.
TEST(Tokens, MayBeNumbersOfARow) {
  constexpr int64_t kMany = 5000, kTokens = 6;
  const auto net = [](bool is_row) {
    auto model = std::make_shared<Model>("net");
    ValueId x = is_row ? model->add_input("x", {kTokens + 2}) : model->add_input("x", {kTokens}, DType::i32);
    if (is_row) {
      x = add_slice(*model, "words", x, 1, 1, kTokens + 1);
      x = add_reshape(*model, "pairs", x, {2, 3});
    }
    x = add_embedding(*model, "table", x, kMany, 4);
    x = add_flatten(*model, "flatten", x);
    return finished(model, add_linear(*model, "fc", x, 3, true, false));
  };
  std::vector<Batch> of_tokens, of_rows;
  for (uint32_t step = 0; step < 4; ++step) {
    Batch batch;
    batch.shape = {7, kTokens};
    batch.dtype = DType::i32;
    batch.tokens = golden::integers(500 + step, 7 * kTokens, kMany);
    batch.labels = golden::integers(600 + step, 7, 3);
    Batch row = batch;
    row.shape = {7, kTokens + 2};
    row.dtype = DType::f32;
    for (int64_t n = 0; n < 7; ++n) {
      row.inputs.push_back(0.5f);
      for (int64_t k = 0; k < kTokens; ++k) row.inputs.push_back(static_cast<float>(batch.tokens[n * kTokens + k]));
      row.inputs.push_back(-3.0f);
    }
    row.tokens.clear();
    of_tokens.push_back(batch);
    of_rows.push_back(row);
  }
  for (DType compute : {DType::f32, DType::bf16})
    for (const Mesh& mesh : {Mesh{1, 1, 1}, Mesh{2, 1, 1}, Mesh{1, 2, 1}, Mesh{1, 1, 2}}) {
      TrainerOptions options = golden_options(false);
      options.compute = compute;
      options.mesh = mesh;
      const auto devices = test_devices(devices_of(mesh));
      const Trained expected = train(net(false), devices, options, of_tokens);
      const Trained found = train(net(true), devices, options, of_rows);
      const std::string what = text(name_of(compute), ", ", mesh.data, "x", mesh.layer, "x", mesh.channel);
      if (compute == DType::f32) expect_near(expected, found, 1e-6, what);
      for (size_t i = 0; i < of_rows.size(); ++i)  // another word would change a loss by more than a tenth
        EXPECT_NEAR(expected.losses[i], found.losses[i], 1e-2) << what << ", step " << i;
    }
}

// Also if a layer in 16 bits reads the same value, and if the tokens are computed from the input.
TEST(Tokens, AreNotRoundedOnTheirWay) {
  constexpr int64_t kMany = 2000;
  const std::vector<std::pair<const char*, std::function<ValueId(Model&, ValueId)>>> ways = {
      {"read twice",
       [](Model& m, ValueId x) {
         const ValueId both = add_reshape(m, "pairs", x, {2, 2});
         const ValueId words = add_flatten(m, "words", add_embedding(m, "table", both, kMany, 3));
         const ValueId direct = add_flatten(m, "direct", add_linear(m, "low", both, 3, true, true));
         return add_concat(m, "joined", {words, direct}, 1);
       }},
      {"relu", [](Model& m, ValueId x) { return add_flatten(m, "words", add_embedding(m, "table", add_relu(m, "r", x), kMany, 3)); }},
      {"sum", [](Model& m, ValueId x) {
         const ValueId sum = add_sum(m, "s", add_slice(m, "a", x, 1, 0, 2), add_slice(m, "b", x, 1, 2, 4));
         return add_flatten(m, "words", add_embedding(m, "table", sum, kMany, 3));
       }}};
  Batch batch;
  batch.shape = {1, 4};
  batch.inputs = {257, 1001, 1259, 515};
  batch.labels = {1};
  for (const auto& [name, way] : ways)
    for (const DType compute : {DType::f32, DType::bf16, DType::f16}) {
      auto model = std::make_shared<Model>("net");
      finished(model, add_linear(*model, "fc", way(*model, model->add_input("x", {4})), 3, true, false));
      const std::vector<float> before = parameters_of(*model, false).at("table.weight");
      TrainerOptions options = golden_options(false);
      options.compute = compute;
      const std::vector<float> after = train(model, test_devices(1), options, {batch}).parameters.at("table.weight");
      std::set<size_t> rows;
      for (size_t i = 0; i < after.size(); ++i)
        if (after[i] != before[i]) rows.insert(i / 3);
      EXPECT_EQ(rows, std::string(name) == "sum" ? (std::set<size_t>{1516}) : (std::set<size_t>{257, 515, 1001, 1259}))
          << name << ", " << name_of(compute);
    }
}

// Sentences of words, [batch, sentences, words]: their features are not on the axis that an image
// has for channels.
TEST(Tokens, MayHaveTwoAxes) {
  const auto net = [] {
    auto model = std::make_shared<Model>("net");
    const ValueId x = add_embedding(*model, "table", model->add_input("x", {2, 3}, DType::i32), kWords, 8);
    return finished(model, add_linear(*model, "fc", add_flatten(*model, "flatten", x), 8, true, false));
  };
  Batch batch;
  batch.shape = {8, 2, 3};
  batch.dtype = DType::i32;
  batch.tokens = tokens(800, 8 * 6);
  batch.labels = golden::integers(801, 8, 8);
  const std::vector<Batch> batches(3, batch);
  TrainerOptions options = golden_options(false);
  const Trained one = train(net(), test_devices(1), options, batches);
  for (const Mesh& mesh : {Mesh{2, 1, 1}, Mesh{1, 2, 1}, Mesh{1, 1, 2}, Mesh{1, 1, 8}, Mesh{2, 2, 2}}) {
    options.mesh = mesh;
    expect_near(one, train(net(), test_devices(devices_of(mesh)), options, batches), 1e-5,
                text(mesh.data, "x", mesh.layer, "x", mesh.channel));
  }
}

// Tokens of one input next to numbers: any mesh computes what one device computes. A number that is
// no word, such as -1, has a row of zeros.
TEST(Tokens, StandNextToNumbers) {
  const auto net = [] {
    auto model = std::make_shared<Model>("net");
    const ValueId x = model->add_input("x", {7});
    const ValueId words = add_slice(*model, "words", x, 1, 0, 4), facts = add_slice(*model, "facts", x, 1, 4, 7);
    const ValueId rows = add_flatten(*model, "flatten", add_embedding(*model, "table", words, 9, 8));
    const ValueId both = add_concat(*model, "both", {rows, add_linear(*model, "wide", facts, 8, true, false)}, 1);
    return finished(model, add_linear(*model, "fc", add_relu(*model, "relu", both), 8, true, false));
  };
  Batch batch;
  batch.shape = {8, 7};
  batch.labels = golden::integers(700, 8, 3);
  const std::vector<int32_t> words = golden::integers(701, 8 * 4, 10);
  for (int64_t n = 0; n < 8; ++n) {
    for (int64_t k = 0; k < 4; ++k) batch.inputs.push_back(static_cast<float>(words[n * 4 + k] - 1));
    for (int64_t k = 0; k < 3; ++k) batch.inputs.push_back(0.1f * static_cast<float>(n - 2 * k));
  }
  const std::vector<Batch> batches(5, batch);
  TrainerOptions options = golden_options(false);
  const Trained one = train(net(), test_devices(1), options, batches);
  EXPECT_LT(one.losses.back(), 0.5 * one.losses.front());
  for (const Mesh& mesh : all_meshes()) {
    options.mesh = mesh;
    expect_near(one, train(net(), test_devices(devices_of(mesh)), options, batches), 1e-5,
                text(mesh.data, "x", mesh.layer, "x", mesh.channel));
  }
}

}  // namespace
}  // namespace troika
