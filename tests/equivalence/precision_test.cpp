// 16-bit training and dynamic loss scaling: N devices compute the same as one device, and an
// infinity on one device skips the step on all devices.
#include <cmath>
#include <limits>
#include <random>

#include "equivalence/runs.h"
#include "models/layers.h"
#include "support/temp_directory.h"
#include "support/throws.h"
#include "train/checkpoint.h"
#include "train/predict_rows.h"

namespace troika {
namespace {

TrainerOptions scaled_options(DType compute, double scale, int64_t interval = 2000) {
  TrainerOptions options = momentum_options();
  options.compute = compute;
  options.loss_scale = scale;
  options.conditioning.is_scaled = scale > 0;
  options.conditioning.scale_interval = interval;
  return options;
}

TEST(Precision, LowTrainsAsOneDeviceOnAnyNumberOfDevices) {
  for (DType compute : {DType::bf16, DType::f16}) {
    const TrainerOptions options = scaled_options(compute, compute == DType::f16 ? 256 : 0);
    const auto batches = make_batches({7, 16, 3}, 11);
    const Trained one = train(conv_net(), test_devices(1), options, batches);
    // Sums over other parts of a batch round at other points, to a unit of the type's last place.
    for (int n : {2, 3, kMostTestDevices})
      expect_near(one, train(conv_net(), test_devices(n), options, batches), compute == DType::f16 ? 1e-2 : 6e-2,
                  std::string(name_of(compute)) + " on " + std::to_string(n));
  }
}

TEST(Precision, LowComesNearF32AndIsNotF32) {
  const auto batches = make_batches({16, 16}, 12);
  const Trained exact = train(conv_net(), test_devices(1), momentum_options(), batches);
  for (DType compute : {DType::bf16, DType::f16}) {
    const Trained low = train(conv_net(), test_devices(2), scaled_options(compute, 0), batches);
    // Compares parameters: gradients of single steps differ more, if a ReLU or a maximum falls on
    // the other side.
    const double tolerance = compute == DType::f16 ? 2e-2 : 5e-2;
    expect_near(exact.parameters, low.parameters, tolerance, std::string(name_of(compute)));
    for (size_t i = 0; i < exact.losses.size(); ++i) EXPECT_NEAR(low.losses[i], exact.losses[i], tolerance);
    EXPECT_NE(exact.losses, low.losses) << name_of(compute);
  }
}

// Writes the numbers of another model into a model.
void write_parameters(Model& model, const Named& parameters) {
  for (const auto& [name, values] : parameters)
    model.parameters()->write(model.parameters()->index_of(name), values.data(), values.size() * sizeof(float));
}

// Returns how many launches of the last step cast parameters.
int casts_of(Trainer& trainer) {
  const std::string trace = trainer.trace();
  int casts = 0;
  for (size_t at = 0; (at = trace.find("cast_all parameters", at)) != std::string::npos; ++at) ++casts;
  return casts;
}

// On a GPU, an update also writes the parameters in 16 bits, which the next step reads.
TEST(Precision, LowReadsParametersThatTheHostHasWritten) {
  for (DType compute : {DType::bf16, DType::f16})
    for (int n : {1, 2}) {
      TrainerOptions options = scaled_options(compute, 0);
      options.settings[Setting::momentum] = 0;  // no state but the parameters
      options.collect_trace = true;
      const auto batches = make_batches({6, 6, 9, 6, 9}, 13);
      const auto model = conv_net(), other = conv_net();
      const Named written = train(conv_net(), test_devices(1), momentum_options(), make_batches(3, 7)).parameters;
      Trainer trainer(test_context(), model, test_devices(n), options);
      StepResult result;
      std::vector<int> casts;
      for (size_t i = 0; i < 2; ++i) {
        trainer.step(batches[i], result);
        casts.push_back(casts_of(trainer));
      }
      write_parameters(*model, written);
      write_parameters(*other, written);
      Trainer fresh(test_context(), other, test_devices(n), options);
      for (size_t i = 2; i < batches.size(); ++i) {
        StepResult expected;
        trainer.step(batches[i], result);
        fresh.step(batches[i], expected);
        casts.push_back(casts_of(trainer));
        EXPECT_EQ(result.loss, expected.loss) << name_of(compute) << " on " << n << ", step " << i;
      }
      EXPECT_EQ(look_at(trainer).parameters, look_at(fresh).parameters) << name_of(compute) << " on " << n;
      // After a change by the host, and in no other step, whatever the batch.
      if (!is_on_cpu()) EXPECT_EQ(casts, (std::vector<int>{n, 0, n, 0, 0}));
    }
}

// Plans that keep no copies change parameters, too: those of a step in pieces, and those of a rank
// without samples.
TEST(Precision, LowReadsParametersThatOtherPlansHaveChanged) {
  TrainerOptions options = scaled_options(DType::bf16, 0);
  options.settings[Setting::momentum] = 0;
  for (const bool in_pieces : {true, false}) {
    const int devices = in_pieces ? 1 : 2;
    const auto batches = make_batches({6, in_pieces ? 6 : 1, 6}, 15);
    Trainer trainer(test_context(), conv_net(), test_devices(devices), options);
    StepResult result, expected;
    trainer.step(batches[0], result);
    if (in_pieces) {
      trainer.forward(batches[1], {}, result, true, nullptr);
      trainer.backward({}, nullptr);
      trainer.apply(true);
    } else {
      trainer.step(batches[1], result);
    }
    const auto model = conv_net();
    write_parameters(*model, look_at(trainer).parameters);
    Trainer fresh(test_context(), model, test_devices(devices), options);
    trainer.step(batches[2], result);
    fresh.step(batches[2], expected);
    EXPECT_EQ(result.loss, expected.loss) << in_pieces;
    EXPECT_EQ(look_at(trainer).parameters, look_at(fresh).parameters) << in_pieces;
  }
}

TEST(Precision, LowGoesOnAfterAnEvaluationWithAverages) {
  TrainerOptions options = scaled_options(DType::bf16, 0);
  options.average_decay = 0.5;
  const auto batches = make_batches(4, 6, 14);
  const Trained expected = train(conv_net(), test_devices(2), options, batches);
  Trainer trainer(test_context(), conv_net(), test_devices(2), options);
  for (const Batch& batch : batches) {
    StepResult result;
    std::vector<float> output(6 * 5);
    predict(trainer, batch, output);
    trainer.step(batch, result);
  }
  const Trained found = look_at(trainer);
  EXPECT_EQ(found.parameters, expected.parameters);
  EXPECT_EQ(found.slots, expected.slots);
}

// Factors have at most 8 bits, hidden units are integers up to 136, and a sum has at most 23 bits.
// So
// every number is exact in bf16 and every sum in f32, in any order: a difference is a rounding that
// the sums do not need. A third of a batch per device, or half of the hidden units.
TEST(Precision, RoundsNeitherLogitsNorTheirParts) {
  constexpr size_t kSamples = 6, kInputs = 16, kHidden = 32, kClasses = 5;
  std::mt19937 random(1);
  const auto draw = [&](size_t n, int most, float unit) {
    std::vector<float> values(n);
    for (float& v : values) v = static_cast<float>(static_cast<int>(random() % (2 * most + 1)) - most) * unit;
    return values;
  };
  const auto x = draw(kSamples * kInputs, 4, 1), weight1 = draw(kHidden * kInputs, 2, 1), bias1 = draw(kHidden, 8, 1),
             weight2 = draw(kClasses * kHidden, 255, 0x1p-7), bias2 = draw(kClasses, 4000, 0x1p-9);
  const auto layer = [](const std::vector<float>& in, const std::vector<float>& weight, const std::vector<float>& bias,
                        double least) {
    const size_t outputs = bias.size(), inputs = weight.size() / outputs;
    std::vector<float> out;
    for (size_t n = 0; n < kSamples; ++n)
      for (size_t o = 0; o < outputs; ++o) {
        double sum = bias[o];
        for (size_t i = 0; i < inputs; ++i) sum += static_cast<double>(in[n * inputs + i]) * weight[o * inputs + i];
        out.push_back(static_cast<float>(std::max(sum, least)));
      }
    return out;
  };
  const auto expected = layer(layer(x, weight1, bias1, 0), weight2, bias2, -1e9);

  auto model = std::make_shared<Model>("net");
  const ValueId hidden = add_linear(*model, "fc1", model->add_input("x", {kInputs}), kHidden, true);
  finished(model, add_linear(*model, "fc2", add_relu(*model, "relu", hidden), kClasses, true));
  const std::map<std::string, std::vector<float>> parameters = {
      {"fc1.weight", weight1}, {"fc1.bias", bias1}, {"fc2.weight", weight2}, {"fc2.bias", bias2}};
  for (const auto& [name, values] : parameters)
    model->parameters()->write(model->parameters()->index_of(name), values.data(), values.size() * sizeof(float));
  for (DType compute : {DType::bf16, DType::f16})
    for (const auto& [devices, channel] : {std::pair{1, 1}, {3, 1}, {2, 2}}) {
      TrainerOptions options = scaled_options(compute, 0);
      options.mesh.channel = channel;
      Trainer trainer(test_context(), model, test_devices(devices), options);
      std::vector<float> found;
      predict_inputs(trainer, {DType::f32, {kSamples, kInputs}}, x.data(), found);
      EXPECT_EQ(found, expected) << name_of(compute) << " on " << devices << " devices";
    }
}

TEST(LossScaling, ByAPowerOfTwoChangesNoBitInF32) {
  const auto batches = make_batches({7, 16}, 13);
  EXPECT_EQ(train(conv_net(), test_devices(2), momentum_options(), batches),
            train(conv_net(), test_devices(2), scaled_options(DType::f32, 1024), batches));
}

TEST(LossScaling, SkipsTheStepOnAllDevicesWhereOneMeetsAnInfinity) {
  for (int n : {1, 2, 3}) {
    const auto model = conv_net();
    Trainer trainer(test_context(), model, test_devices(n), scaled_options(DType::f32, 1024));
    auto batches = make_batches(3, 6, 14);
    batches[1].inputs[batches[1].inputs.size() - 1] =
        std::numeric_limits<float>::infinity();  // in the last rank's share
    StepResult result;
    trainer.step(batches[0], result);
    EXPECT_FALSE(result.is_skipped);
    EXPECT_EQ(result.loss_scale, 1024);
    const Trained before = look_at(trainer);
    trainer.step(batches[1], result);
    EXPECT_TRUE(result.is_skipped);
    const Trained after = look_at(trainer);
    EXPECT_EQ(before.parameters, after.parameters);
    EXPECT_EQ(before.slots, after.slots);
    trainer.step(batches[2], result);
    EXPECT_FALSE(result.is_skipped);
    EXPECT_EQ(result.loss_scale, 512);
    EXPECT_EQ(result.step, 3);
    EXPECT_NE(look_at(trainer).parameters, after.parameters);
    trainer.check_replicas();
  }
}

TEST(LossScaling, DoublesBehindGoodStepsAndNeverFallsBelowOne) {
  Trainer trainer(test_context(), conv_net(), test_devices(2), scaled_options(DType::f32, 2, 2));
  const auto good = make_batches(5, 6, 15);
  std::vector<double> scales;
  StepResult result;
  for (const Batch& batch : good) {
    trainer.step(batch, result);
    scales.push_back(result.loss_scale);
  }
  EXPECT_EQ(scales, (std::vector<double>{2, 2, 4, 4, 8}));
  Batch bad = good[0];
  bad.inputs[0] = std::numeric_limits<float>::quiet_NaN();
  scales.clear();
  for (int i = 0; i < 5; ++i) {
    trainer.step(bad, result);
    EXPECT_TRUE(result.is_skipped);
    scales.push_back(result.loss_scale);
  }
  EXPECT_EQ(scales, (std::vector<double>{8, 4, 2, 1, 1}));
}

TEST(LossScaling, OfGradientsIsTakenOutWhereTheyAreRead) {
  const auto batches = make_batches({7}, 16);
  const Trained plain = train(conv_net(), test_devices(2), momentum_options(), batches),
                scaled = train(conv_net(), test_devices(2), scaled_options(DType::f32, 4096, 1),
                               batches);  // the scale grows in the step
  EXPECT_EQ(plain.gradients, scaled.gradients);
}

TEST(LossScaling, IsPartOfTheTrainingState) {
  const TempDirectory folder;
  const std::string path = (folder.path() / "state.safetensors").string();
  const auto batches = make_batches(6, 8, 17);
  const TrainerOptions options = scaled_options(DType::f16, 64, 2);
  StepResult result;
  Trainer whole(test_context(), conv_net(), test_devices(2), options);
  for (int i = 0; i < 3; ++i) whole.step(batches[static_cast<size_t>(i)], result);
  save_checkpoint(whole, path);
  for (int i = 3; i < 6; ++i) whole.step(batches[static_cast<size_t>(i)], result);

  Trainer resumed(test_context(), conv_net(), test_devices(2), options);
  load_checkpoint(resumed, path);
  StepResult again;
  for (int i = 3; i < 6; ++i) resumed.step(batches[static_cast<size_t>(i)], again);
  EXPECT_EQ(again.loss_scale, result.loss_scale);
  EXPECT_EQ(look_at(whole), look_at(resumed));

  Trainer other(test_context(), conv_net(), test_devices(2), scaled_options(DType::bf16, 64, 2));
  EXPECT_THROWS(Status::mismatch, "precision is 'f16', the trainer has 'bf16'", load_checkpoint(other, path));
}

}  // namespace
}  // namespace troika
