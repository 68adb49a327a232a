// A step in pieces computes the bits of a step, with every option. Its gradients can be read,
// replaced and added up, and its loss can be the caller's.
#include <cmath>

#include "core/text.h"
#include "equivalence/runs.h"
#include "models/initializer.h"
#include "models/layers.h"
#include "models/zoo.h"
#include "support/throws.h"
#include "train/state_reader.h"

namespace troika {
namespace {

TrainerOptions deadline_options() {
  TrainerOptions options = momentum_options();
  options.deadline_ms = 60000;
  return options;
}

TrainerOptions on_mesh(const Mesh& mesh) {
  TrainerOptions options = deadline_options();
  options.mesh = mesh;
  return options;
}

TrainerOptions scaled_options(DType compute, double scale, int64_t interval = 2000) {
  TrainerOptions options = deadline_options();
  options.compute = compute;
  options.loss_scale = scale;
  options.conditioning.is_scaled = scale > 0;
  options.conditioning.scale_interval = interval;
  return options;
}

// ---- the bits of a step ----

TEST(Pieces, ComputeTheBitsOfAStepOnUnevenShares) {
  for (int devices : {1, 2, 3})
    for (const auto& net : {conv_net, dropout_net, batch_norm_net})
      for (int64_t micro_batches : {1, 2, 3}) {
        TrainerOptions options = deadline_options();
        options.micro_batches = micro_batches;
        expect_same_in_pieces(net, test_devices(devices), options, make_batches({16, 13, 31, 16}),
                              text(devices, " devices, ", micro_batches, " micro-batches"));
      }
}

TEST(Pieces, ComputeTheBitsOfAStepWhereRanksHaveNoSamples) {
  TrainerOptions options = deadline_options();
  options.bucket_bytes = 0;
  expect_same_in_pieces(conv_net, test_devices(4), options, make_batches({2, 7, 1, 4}), "four devices");
}

TEST(Pieces, ComputeTheBitsOfAStepInLogicalShards) {
  for (int devices : {1, 2, 4}) {
    TrainerOptions options = deadline_options();
    options.logical_shards = 8;
    expect_same_in_pieces(batch_norm_net, test_devices(devices), options, make_batches({31, 16}), text(devices));
  }
}

TEST(Pieces, ComputeTheBitsOfAStepInEveryPipelineSchedule) {
  for (auto schedule : {PipelineSchedule::gpipe, PipelineSchedule::one_f_one_b, PipelineSchedule::interleaved})
    for (int layer : {2, 3}) {
      TrainerOptions options = on_mesh({1, layer, 1});
      options.pipeline_schedule = schedule;
      options.pipeline_chunks = schedule == PipelineSchedule::interleaved ? 2 : 1;
      options.micro_batches = 2 * layer;
      for (const auto& net : {conv_net, dropout_net})
        expect_same_in_pieces(net, test_devices(layer), options, make_batches({16, 3, 13}),
                              text("schedule ", static_cast<int>(schedule), " over ", layer));
    }
}

TEST(Pieces, ComputeTheBitsOfAStepWithEachOption) {
  const auto batches = make_batches({16, 13, 16}, 21);
  for (const Mesh& mesh : {Mesh{1, 1, 1}, Mesh{3, 1, 1}, Mesh{2, 2, 1}, Mesh{2, 1, 2}, Mesh{2, 2, 2}}) {
    const auto devices = test_devices(devices_of(mesh));
    const auto expect = [&](const TrainerOptions& options, const char* what, const auto& net) {
      expect_same_in_pieces(net, devices, options, batches, text(what, " on ", name_of(mesh)));
    };
    TrainerOptions options = on_mesh(mesh);
    options.conditioning.max_norm = 0.5;
    expect(options, "clipping", conv_net);
    options = on_mesh(mesh);
    options.compresses_gradients = true;
    expect(options, "compression", conv_net);
    options = on_mesh(mesh);
    options.recompute.segments = 3;
    options.micro_batches = 2;
    expect(options, "recompute", batch_norm_net);
    options.recompute = {};
    options.recompute.layers = {"*"};
    expect(options, "recompute of all layers", conv_net);
    options = on_mesh(mesh);
    options.average_decay = 0.75;
    options.groups = {{"fc.*", false, {{Setting::learning_rate, 0.01}}}, {"conv1.*", true}};
    expect(options, "averages and groups", conv_net);
    options = on_mesh(mesh);
    options.labels.ignored = 2;
    options.labels.smoothing = 0.25;
    expect(options, "labels", conv_net);
    options.reduction = Reduction::sum;
    options.settings[Setting::learning_rate] = 0.001;
    expect(options, "sums of losses", conv_net);
    options = on_mesh(mesh);
    options.fuse = false;
    expect(options, "without fusing", batch_norm_net);
    for (DType compute : {DType::bf16, DType::f16}) {
      options = scaled_options(compute, 256, 2);
      options.mesh = mesh;
      options.conditioning.max_norm = 1;
      options.micro_batches = 2;
      expect(options, "16 bits", batch_norm_net);
    }
  }
}

TEST(Pieces, ComputeTheBitsOfAStepWithEveryOptimizer) {
  const auto batches = make_batches({16, 13, 16}, 22);
  for (const OptimizerDef* optimizer : all_optimizers())
    for (const Mesh& mesh : {Mesh{1, 1, 1}, Mesh{3, 1, 1}, Mesh{2, 1, 2}})
      for (bool is_sharded : {false, true}) {
        TrainerOptions options;
        options.mesh = mesh;
        options.optimizer = optimizer;
        options.settings[Setting::learning_rate] = 0.01;
        options.shards_optimizer = is_sharded && mesh.data > 1;
        expect_same_in_pieces(conv_net, test_devices(devices_of(mesh)), options, batches, std::string(optimizer->name));
      }
}

// Returns a model over 11 steps of 3 numbers, which are cut into parts, with 5 classes.
std::shared_ptr<Model> sequence_net() {
  auto model = std::make_shared<Model>("sequence_net");
  ValueId x = add_lstm(*model, "rnn1", model->add_input("x", {11, 3}), 7, true);
  x = add_gru(*model, "rnn2", add_dropout(*model, "drop", x, 0.2), 6, true);
  return finished(model, add_linear(*model, "fc", add_select_step(*model, "last", x, -1), 5, true));
}

Batch sequences(int64_t samples) {
  Batch batch;
  batch.shape = {samples, 11, 3};
  for (int64_t i = 0; i < samples * 33; ++i) batch.inputs.push_back(std::sin(static_cast<float>(i * i % 101)));
  for (int64_t i = 0; i < samples; ++i) batch.labels.push_back(static_cast<int32_t>(i % 5));
  return batch;
}

Batch tokens(int64_t samples) {
  Batch batch;
  batch.shape = {samples, 12};
  batch.dtype = DType::i32;
  for (int64_t i = 0; i < samples * 12; ++i) batch.tokens.push_back(static_cast<int32_t>(i * i % 11));
  for (int64_t i = 0; i < samples * 12; ++i) batch.labels.push_back(static_cast<int32_t>(i * i % 7));
  batch.label_size = 12;
  return batch;
}

std::shared_ptr<Model> token_net() {
  std::shared_ptr<Model> model = create_model("char_lstm", {.classes = 11, .hidden = 8, .steps = 12});
  initialize_default(*model, 1, false);
  return model;
}

TEST(Pieces, ComputeTheBitsOfAStepOnSequences) {
  for (const Mesh& mesh : {Mesh{1, 1, 1}, Mesh{3, 1, 1}, Mesh{2, 2, 1}})
    for (int segments : {0, 2}) {
      TrainerOptions options = on_mesh(mesh);
      options.micro_batches = 2;
      options.recompute.segments = segments;
      const auto devices = test_devices(devices_of(mesh));
      expect_same_in_pieces(sequence_net, devices, options, {sequences(7), sequences(10), sequences(1)}, name_of(mesh));
      options.labels.ignored = 3;
      expect_same_in_pieces(token_net, devices, options, {tokens(7), tokens(5)}, name_of(mesh));
    }
}

// The output of a convolution is not stored as the host reads it. Labels are per pixel.
TEST(Pieces, ComputeTheBitsOfAStepOnImages) {
  const auto net = [] {
    auto model = std::make_shared<Model>("image_net");
    ValueId x = add_relu(*model, "relu1",
                         add_conv2d(*model, "conv1", model->add_input("x", {1, 8, 7}), {17, square(3, 1, 1), 1, true}));
    return finished(model, add_conv2d(*model, "conv2", x, {19, square(3, 1, 1), 1, true}));
  };
  auto batches = make_batches({7, 4}, 25);
  for (Batch& batch : batches) {
    batch.label_size = 56;
    batch.labels.clear();
    for (int64_t i = 0; i < batch.size() * 56; ++i) batch.labels.push_back(static_cast<int32_t>(i * i % 19));
  }
  std::vector<float> expected;
  predict(Trainer(test_context(), net(), test_devices(1), deadline_options()), batches[0], expected);
  for (const Mesh& mesh : {Mesh{1, 1, 1}, Mesh{3, 1, 1}, Mesh{1, 2, 1}, Mesh{1, 1, 2}})
    for (DType compute : {DType::f32, DType::bf16}) {
      TrainerOptions options = scaled_options(compute, 0);
      options.mesh = mesh;
      options.micro_batches = 2;
      const auto devices = test_devices(devices_of(mesh));
      expect_same_in_pieces(net, devices, options, batches, name_of(mesh));
      Trainer trainer(test_context(), net(), devices, options);
      for (bool has_own_loss : {false, true}) {
        StepResult result;
        std::vector<float> output;
        trainer.forward(batches[0], {.has_own_loss = has_own_loss}, result, true, &output);
        EXPECT_LE(difference(expected, output), compute == DType::f32 ? 1e-5 : 5e-2) << name_of(mesh);
      }
    }
}

// More shares than parameters: some ranks update nothing.
TEST(Pieces, ComputeTheBitsOfAStepWhereRanksOwnNoParameter) {
  const auto net = [] {
    auto model = std::make_shared<Model>("linear_net");
    return finished(
        model, add_linear(*model, "fc", add_flatten(*model, "flatten", model->add_input("x", {1, 8, 7})), 5, true));
  };
  TrainerOptions options = deadline_options();
  options.shards_optimizer = true;
  expect_same_in_pieces(net, test_devices(4), options, make_batches({16, 3, 9}), "four devices");
}

// Learning rates follow the steps, and a step that is skipped changes nothing but the loss scale.
TEST(Pieces, SkipAndCountAsStepsDo) {
  auto batches = make_batches({16, 13, 16, 16}, 23);
  batches[1].inputs[5] = INFINITY;
  for (int devices : {1, 2}) {
    TrainerOptions options = scaled_options(DType::f16, 1024);
    options.schedule.kind = ScheduleKind::step;
    options.schedule.period = 1;
    options.schedule.gamma = 0.5;
    Trainer whole(test_context(), conv_net(), test_devices(devices), options);
    Trainer pieces(test_context(), conv_net(), test_devices(devices), options);
    for (const Batch& batch : batches) {
      StepResult expected, forward;
      whole.step(batch, expected);
      pieces.forward(batch, {}, forward, true, nullptr);
      pieces.backward({}, nullptr);
      const StepResult found = pieces.apply(true);
      EXPECT_EQ(found.is_skipped, &batch == &batches[1]);
      EXPECT_EQ(found.is_skipped, expected.is_skipped);
      EXPECT_EQ(found.step, expected.step);
      EXPECT_EQ(found.learning_rate, expected.learning_rate);
      EXPECT_EQ(found.loss_scale, expected.loss_scale);
      EXPECT_EQ(found.gradient_norm, expected.gradient_norm);
      EXPECT_EQ(forward.correct, expected.correct);
    }
    EXPECT_TRUE(look_at(whole).parameters == look_at(pieces).parameters);
    EXPECT_TRUE(whole.training_state().loss_scale == pieces.training_state().loss_scale);
    EXPECT_EQ(whole.training_state().updates, pieces.training_state().updates);
  }
}

TEST(Pieces, MixWithStepsOfOneTrainer) {
  const auto batches = make_batches({16, 13, 16, 5, 16, 13}, 24);
  for (int devices : {1, 3}) {
    const Trained expected = train(batch_norm_net(), test_devices(devices), deadline_options(), batches);
    Trainer mixed(test_context(), batch_norm_net(), test_devices(devices), deadline_options());
    for (size_t i = 0; i < batches.size(); ++i) {
      StepResult result;
      if (i % 2) {
        mixed.step(batches[i], result);
        continue;
      }
      mixed.forward(batches[i], {}, result, true, nullptr);
      mixed.backward({}, nullptr);
      mixed.apply(false);
    }
    EXPECT_TRUE(look_at(mixed).parameters == expected.parameters);
    EXPECT_TRUE(look_at(mixed).buffers == expected.buffers);
  }
}

// ---- gradients between the pieces ----

Named gradients_of(Trainer& trainer) {
  Named gradients;
  for (const std::string& name : trainer.trainable()) {
    ParameterStore& store = *trainer.model()->parameters();
    auto& values = gradients[name];
    values.resize(static_cast<size_t>(store.entry(store.index_of(name)).type.shape.elements()));
    read_gradient(trainer, name, values.data(), values.size() * sizeof(float));
  }
  return gradients;
}

void pass(Trainer& trainer, const Batch& batch) {
  StepResult result;
  trainer.forward(batch, {}, result, true, nullptr);
  trainer.backward({}, nullptr);
}

// g1 + g2, then + g3: the order in which a host would add them.
TEST(Pieces, AddUpGradientsUntilApply) {
  const auto batches = make_batches({16, 5, 13}, 31);
  for (const Mesh& mesh : {Mesh{1, 1, 1}, Mesh{3, 1, 1}, Mesh{2, 2, 1}, Mesh{2, 1, 2}, Mesh{2, 2, 2}})
    for (bool compresses : {false, true})
      for (double scale : {0.0, 64.0}) {
        TrainerOptions options = scaled_options(scale > 0 ? DType::f16 : DType::f32, scale);
        options.mesh = mesh;
        options.compresses_gradients = compresses;
        const auto devices = test_devices(devices_of(mesh));
        Named sums;
        for (const Batch& batch : batches) {
          Trainer one(test_context(), conv_net(), devices, options);
          pass(one, batch);
          for (const auto& [name, values] : gradients_of(one)) {
            auto [sum, is_first] = sums.try_emplace(name, values);
            for (size_t i = 0; !is_first && i < values.size(); ++i) sum->second[i] += values[i];
          }
        }
        Trainer trainer(test_context(), conv_net(), devices, options);
        for (const Batch& batch : batches) pass(trainer, batch);
        EXPECT_TRUE(gradients_of(trainer) == sums) << name_of(mesh) << (compresses ? " compressed " : " ") << scale;
        trainer.apply(true);
        trainer.check_replicas();
      }
}

// Passes over parts of any size, weighed by their shares of the labels, add up to the gradient of
// the mean over all.
TEST(Pieces, AddUpToTheMeanIfTheyAreWeighed) {
  const Batch batch = make_batches(1, 24, 33)[0];
  const int64_t sizes[] = {5, 16, 3};
  for (const Mesh& mesh : {Mesh{1, 1, 1}, Mesh{3, 1, 1}, Mesh{2, 2, 1}, Mesh{2, 1, 2}})
    for (const bool ignores : {false, true})
      for (const double scale : {0.0, 64.0}) {
        TrainerOptions options = scaled_options(DType::f32, scale);
        options.mesh = mesh;
        if (ignores) options.labels.ignored = 2;
        const auto devices = test_devices(devices_of(mesh));
        Trainer whole(test_context(), conv_net(), devices, options);
        Trainer parts(test_context(), conv_net(), devices, options);
        StepResult of_whole;
        whole.forward(batch, {}, of_whole, true, nullptr);
        whole.backward({}, nullptr);
        double loss = 0;
        int64_t first = 0;
        for (const int64_t size : sizes) {
          const Batch part = slice(batch, first, first + size);
          first += size;
          const auto counted = ignores ? size - std::count(part.labels.begin(), part.labels.end(), 2)
                                       : static_cast<std::ptrdiff_t>(size);
          const double weight = static_cast<double>(counted) / static_cast<double>(of_whole.labels);
          StepResult result;
          parts.forward(part, {.weight = weight}, result, true, nullptr);
          EXPECT_EQ(result.labels, counted);
          loss += weight * result.loss;  // the loss is reported without the weight
          parts.backward({}, nullptr);
        }
        EXPECT_NEAR(loss, of_whole.loss, 1e-6);
        const Named expected = gradients_of(whole), found = gradients_of(parts);
        for (const auto& [name, values] : expected)
          EXPECT_LE(difference(values, found.at(name)), 1e-6) << name << " on " << name_of(mesh);
        EXPECT_FALSE(expected == Named());
      }
}

// The weight of a pass is a factor of the gradients, whatever the loss.
TEST(Pieces, WeighALossOfValues) {
  Batch batch = make_batches(1, 9, 35)[0];
  batch.labels.clear();
  batch.label_size = 0;
  batch.value_size = 5;
  for (int i = 0; i < 45; ++i) batch.values.push_back(static_cast<float>(i % 7) / 4);
  TrainerOptions options = deadline_options();
  options.loss = Loss::mean_squared_error;
  Trainer whole(test_context(), conv_net(), test_devices(2), options);
  Trainer quarter(test_context(), conv_net(), test_devices(2), options);
  StepResult result;
  whole.forward(batch, {}, result, true, nullptr);
  whole.backward({}, nullptr);
  quarter.forward(batch, {.weight = 0.25}, result, true, nullptr);
  quarter.backward({}, nullptr);
  Named expected = gradients_of(whole);
  for (auto& [name, values] : expected)
    for (float& value : values) value /= 4;
  EXPECT_FALSE(expected.empty());
  expect_near(expected, gradients_of(quarter), 1e-6, "gradient");
}

// Two passes of half a batch each are a step of the whole batch, if the loss is a sum.
TEST(Pieces, AddUpToTheStepOfALargerBatch) {
  TrainerOptions options = deadline_options();
  options.reduction = Reduction::sum;
  options.settings[Setting::learning_rate] = 0.003;
  const Batch batch = make_batches(1, 24, 32)[0];
  for (int devices : {1, 2}) {
    Trainer whole(test_context(), conv_net(), test_devices(devices), options);
    Trainer halves(test_context(), conv_net(), test_devices(devices), options);
    StepResult result;
    whole.step(batch, result);
    pass(halves, slice(batch, 0, 11));
    pass(halves, slice(batch, 11, 24));
    EXPECT_EQ(halves.apply(true).step, 1);
    expect_near(look_at(whole).parameters, look_at(halves).parameters, 1e-5, "halves");
  }
}

TEST(Pieces, UpdateWithTheGradientsThatWereSet) {
  const Batch batch = make_batches(1, 13, 33)[0];
  for (const Mesh& mesh : {Mesh{1, 1, 1}, Mesh{3, 1, 1}, Mesh{1, 3, 1}, Mesh{2, 1, 2}, Mesh{2, 2, 2}})
    for (double scale : {0.0, 64.0}) {
      TrainerOptions options;  // w - lr g
      options.settings[Setting::learning_rate] = 0.125;
      options.mesh = mesh;
      options.shards_optimizer = mesh.data > 1;
      options.loss_scale = scale;
      options.conditioning.is_scaled = scale > 0;
      Trainer trainer(test_context(), conv_net(), test_devices(devices_of(mesh)), options);
      const Named before = parameters_of(*trainer.model(), false);
      pass(trainer, batch);
      Named expected = before;
      float number = 0;
      for (auto& [name, values] : expected) {
        std::vector<float> gradient(values.size());
        for (size_t i = 0; i < values.size(); ++i) {
          gradient[i] = std::sin(number += 1);
          values[i] -= 0.125f * gradient[i];
        }
        write_gradient(trainer, name, gradient.data(), gradient.size() * sizeof(float));
        EXPECT_EQ(gradients_of(trainer).at(name), gradient) << name;
      }
      trainer.apply(true);
      trainer.check_replicas();
      EXPECT_EQ(parameters_of(*trainer.model(), false), expected) << name_of(mesh) << ' ' << scale;
    }
}

// A gradient of 0 that no pass computes, of a bias before BatchNorm, can be set and added to too.
TEST(Pieces, KeepWhatWasSetUntilTheNextBackward) {
  const Batch batch = make_batches(1, 13, 34)[0];
  Trainer trainer(test_context(), batch_norm_net(), test_devices(2), deadline_options());
  pass(trainer, batch);
  const std::vector<float> ones(4, 1.0f);
  write_gradient(trainer, "conv2.bias", ones.data(), sizeof(float) * 4);
  StepResult result;
  trainer.forward(batch, {}, result, true, nullptr);
  EXPECT_EQ(gradients_of(trainer).at("conv2.bias"), ones);
  trainer.backward({}, nullptr);
  EXPECT_EQ(gradients_of(trainer).at("conv2.bias"), ones);
}

// ---- the caller's loss ----

// Returns the gradient of the mean of cross-entropy, or of the mean squared error against `values`.
std::vector<float> cross_entropy_gradient(const std::vector<float>& logits, const Batch& batch) {
  const auto n = static_cast<size_t>(batch.size()), classes = logits.size() / n;
  std::vector<float> gradient(logits.size());
  for (size_t i = 0; i < n; ++i) {
    double most = -INFINITY, sum = 0;
    for (size_t c = 0; c < classes; ++c) most = std::max(most, static_cast<double>(logits[i * classes + c]));
    for (size_t c = 0; c < classes; ++c) sum += std::exp(static_cast<double>(logits[i * classes + c]) - most);
    for (size_t c = 0; c < classes; ++c) {
      const double p = std::exp(static_cast<double>(logits[i * classes + c]) - most) / sum;
      gradient[i * classes + c] =
          static_cast<float>((p - (static_cast<size_t>(batch.labels[i]) == c)) / static_cast<double>(n));
    }
  }
  return gradient;
}

TEST(Pieces, TrainOnTheCallersCrossEntropy) {
  const auto batches = make_batches({16, 13, 2, 16}, 41);
  for (const Mesh& mesh : {Mesh{1, 1, 1}, Mesh{3, 1, 1}, Mesh{1, 2, 1}, Mesh{1, 1, 2}, Mesh{2, 2, 2}})
    for (bool is_low : {false, true}) {
      TrainerOptions options = scaled_options(is_low ? DType::f16 : DType::f32, is_low ? 128 : 0);
      options.mesh = mesh;
      options.micro_batches = 2;
      options.recompute.segments = 2;
      const auto devices = test_devices(devices_of(mesh));
      const Trained expected = train(conv_net(), devices, options, batches);
      Trainer own(test_context(), conv_net(), devices, options);
      for (const Batch& batch : batches) {
        Batch inputs = batch;
        inputs.labels.clear();
        StepResult result;
        std::vector<float> output;
        own.forward(inputs, {.has_own_loss = true}, result, false, &output);
        EXPECT_EQ(result.samples, batch.size());
        const std::vector<float> gradient = cross_entropy_gradient(output, batch);
        own.backward({DType::f32, {batch.size(), 5}}, gradient.data());
        own.apply(true);
      }
      expect_near(expected.parameters, look_at(own).parameters, is_low ? 2e-2 : 1e-5, name_of(mesh));
      expect_near(expected.gradients, look_at(own).gradients, is_low ? 5e-2 : 1e-4, name_of(mesh));
    }
}

// 2 (x - target) / (k n), in the order of the trainer's own kernel.
TEST(Pieces, TrainOnTheCallersSquaredError) {
  Batch batch = make_batches(1, 16, 43)[0];
  batch.labels.clear();
  batch.value_size = 5;
  for (int i = 0; i < 16 * 5; ++i) batch.values.push_back(std::sin(static_cast<float>(i)));
  for (int devices : {1, 2, 3}) {
    TrainerOptions options = deadline_options();
    options.loss = Loss::mean_squared_error;
    Trainer whole(test_context(), conv_net(), test_devices(devices), options);
    Trainer own(test_context(), conv_net(), test_devices(devices), options);
    for (int step = 0; step < 3; ++step) {
      StepResult result;
      whole.step(batch, result);
      std::vector<float> output;
      own.forward(batch, {.has_own_loss = true}, result, true, &output);
      for (size_t i = 0; i < output.size(); ++i)
        output[i] = static_cast<float>(2.0 / (16 * 5) * (static_cast<double>(output[i]) - batch.values[i]));
      own.backward({DType::f32, {16, 5}}, output.data());
      own.apply(false);
    }
    expect_near(look_at(whole).parameters, look_at(own).parameters, 1e-6, text(devices));
    expect_near(look_at(whole).gradients, look_at(own).gradients, 1e-5, text(devices));
  }
}

// The output that forward returns is that of the network in training.
TEST(Pieces, ReturnTheOutputInTheOrderOfTheBatch) {
  const Batch batch = make_batches(1, 13, 42)[0];
  std::vector<float> expected;
  Trainer one(test_context(), conv_net(), test_devices(1), deadline_options());
  predict(one, batch, expected);
  for (const Mesh& mesh : all_meshes()) {
    if (mesh.layer > 4 || mesh.channel > 4) continue;
    TrainerOptions options = on_mesh(mesh);
    options.micro_batches = 2;
    Trainer trainer(test_context(), conv_net(), test_devices(devices_of(mesh)), options);
    StepResult result;
    for (bool has_own_loss : {false, true}) {
      std::vector<float> output;
      trainer.forward(batch, {.has_own_loss = has_own_loss}, result, true, &output);
      EXPECT_LE(difference(expected, output), 1e-6) << name_of(mesh);
    }
  }
}

// ---- the gradient of the inputs ----

// Returns the mean loss that an evaluation of the batch finds.
double loss_of(Trainer& trainer, const Batch& batch) {
  StepResult result;
  trainer.forward(batch, {}, result, true, nullptr);
  return result.loss;
}

TEST(Pieces, ComputeTheGradientOfTheInputs) {
  const Batch batch = make_batches(1, 7, 51)[0];
  std::vector<float> expected;
  for (const Mesh& mesh : {Mesh{1, 1, 1}, Mesh{3, 1, 1}, Mesh{1, 2, 1}, Mesh{1, 1, 2}, Mesh{2, 2, 2}})
    for (double scale : {0.0, 256.0}) {
      TrainerOptions options = on_mesh(mesh);
      options.micro_batches = 2;
      options.loss_scale = scale;
      options.conditioning.is_scaled = scale > 0;
      Trainer trainer(test_context(), conv_net(), test_devices(devices_of(mesh)), options);
      StepResult result;
      trainer.forward(batch, {.has_input_gradient = true}, result, true, nullptr);
      trainer.backward({}, nullptr);
      const std::vector<float> found = trainer.pieces().input_gradient();
      ASSERT_EQ(found.size(), batch.inputs.size());
      if (expected.empty()) {
        expected = found;
        for (size_t i = 3; i < found.size(); i += 29) {
          Batch shifted = batch;
          shifted.inputs[i] += 0.01f;
          const double above = loss_of(trainer, shifted);
          shifted.inputs[i] -= 0.02f;
          EXPECT_NEAR(found[i], (above - loss_of(trainer, shifted)) / 0.02, 1e-4) << i;
        }
      }
      EXPECT_LE(difference(expected, found), 1e-5) << name_of(mesh) << ' ' << scale;
    }
}

// Rows and columns that no layer reads have the gradient 0, and the other bits are those of a step.
TEST(Pieces, ComputeTheGradientOfCroppedInputs) {
  const auto net = [] {
    auto model = std::make_shared<Model>("cropped");
    ValueId x = add_relu(*model, "relu",
                         add_conv2d(*model, "conv", model->add_input("x", {1, 8, 7}), {4, square(3, 2), 1, true}));
    x = add_max_pool2d(*model, "pool", x, square(2, 2));
    return finished(model, add_linear(*model, "fc", add_flatten(*model, "flatten", x), 5, true));
  };
  const Batch batch = make_batches(1, 5, 52)[0];
  for (int devices : {1, 2}) {
    Trainer trainer(test_context(), net(), test_devices(devices), deadline_options());
    Trainer whole(test_context(), net(), test_devices(devices), deadline_options());
    StepResult result;
    trainer.forward(batch, {.has_input_gradient = true}, result, true, nullptr);
    trainer.backward({}, nullptr);
    const std::vector<float> found = trainer.pieces().input_gradient();
    ASSERT_EQ(found.size(), batch.inputs.size());
    const Named gradients = gradients_of(trainer);
    whole.step(batch, result);
    EXPECT_TRUE(gradients == gradients_of(whole));
    for (size_t i = 0; i < found.size(); i += 3) {
      Batch shifted = batch;
      shifted.inputs[i] += 0.01f;
      const double above = loss_of(trainer, shifted);
      shifted.inputs[i] -= 0.02f;
      EXPECT_NEAR(found[i], (above - loss_of(trainer, shifted)) / 0.02, 2e-4) << i;
    }
  }
}

TEST(Pieces, ComputeTheGradientOfSequences) {
  const Batch batch = sequences(5);
  const auto net = [] {
    auto model = std::make_shared<Model>("net");
    const ValueId x = add_lstm(*model, "rnn1", model->add_input("x", {11, 3}), 7, true);
    return finished(model, add_linear(*model, "fc", add_select_step(*model, "last", x, -1), 5, true));
  };
  for (int devices : {1, 2}) {
    Trainer trainer(test_context(), net(), test_devices(devices), deadline_options());
    StepResult result;
    trainer.forward(batch, {.has_input_gradient = true}, result, true, nullptr);
    trainer.backward({}, nullptr);
    const std::vector<float> found = trainer.pieces().input_gradient();
    ASSERT_EQ(found.size(), batch.inputs.size());
    for (size_t i = 1; i < found.size(); i += 17) {
      Batch shifted = batch;
      shifted.inputs[i] += 0.01f;
      const double above = loss_of(trainer, shifted);
      shifted.inputs[i] -= 0.02f;
      EXPECT_NEAR(found[i], (above - loss_of(trainer, shifted)) / 0.02, 1e-4) << i;
    }
  }
}

// The caller's loss has an output per position: [batch, steps, classes].
TEST(Pieces, TakeTheGradientOfEveryPosition) {
  Batch batch = tokens(5);
  batch.labels.clear();
  const std::vector<float> gradient(5 * 12 * 11, 0.01f);
  Named expected;
  for (const Mesh& mesh : {Mesh{1, 1, 1}, Mesh{2, 1, 1}, Mesh{1, 2, 1}}) {
    Trainer trainer(test_context(), token_net(), test_devices(devices_of(mesh)), on_mesh(mesh));
    StepResult result;
    std::vector<float> output;
    trainer.forward(batch, {.has_own_loss = true}, result, true, &output);
    EXPECT_EQ(output.size(), gradient.size());
    trainer.backward({DType::f32, {5, 12, 11}}, gradient.data());
    if (expected.empty()) expected = gradients_of(trainer);
    expect_near(expected, gradients_of(trainer), 1e-5, name_of(mesh));
  }
}

TEST(Pieces, RefuseTheGradientOfTokens) {
  Trainer trainer(test_context(), token_net(), test_devices(1), deadline_options());
  StepResult result;
  EXPECT_THROWS(Status::invalid_argument, "have no gradient",
                trainer.forward(tokens(2), {.has_input_gradient = true}, result, true, nullptr));
  EXPECT_TRUE(trainer.forward(tokens(2), {}, result, true, nullptr));
}

}  // namespace
}  // namespace troika
