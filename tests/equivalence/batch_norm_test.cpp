// BatchNorm over several devices: each device normalises its own shard, gradients are weighted by
// samples, and the running statistics are those of the first device.
#include <gtest/gtest.h>

#include "core/split.h"
#include "core/text.h"
#include "equivalence/runs.h"
#include "support/throws.h"

namespace troika {
namespace {

constexpr double kTolerance = 2e-5;  // BatchNorm divides by deviations of few samples

void set_values(Model& model, const Named& parameters, const Named& buffers) {
  ParameterStore& store = *model.parameters();
  for (size_t i = 0; i < store.size(); ++i) {
    const Parameter& p = store.entry(i);
    const std::vector<float>& values = (p.is_buffer ? buffers : parameters).at(p.name);
    const auto count = static_cast<int64_t>(values[0]);
    store.write(i, p.type.dtype == DType::i64 ? static_cast<const void*>(&count) : values.data(), p.type.bytes());
  }
}

TEST(BatchNorm, NormalisesEachShardByItself) {
  for (int n : {2, 3, 4}) {
    // Without momentum, so that every step can be computed from the parameters before the step.
    TrainerOptions options;
    const auto model = batch_norm_net();
    Trainer trainer(test_context(), model, test_devices(n), options);
    for (const Batch& batch : make_batches({16, 7, 31, 16})) {
      const Named parameters = parameters_of(*model, false), buffers = parameters_of(*model, true);
      StepResult result;
      ASSERT_TRUE(trainer.step(batch, result));
      Trained found = look_at(trainer);

      // The oracle: each shard on a separate trainer with one device.
      Named gradients;
      double loss = 0;
      for (int rank = 0; rank < n; ++rank) {
        const Range range = balanced_split(batch.size(), n, rank);
        const auto alone = batch_norm_net();
        set_values(*alone, parameters, buffers);
        const Trained run = train(alone, test_devices(1), options, {slice(batch, range.begin, range.end)});
        const double weight = static_cast<double>(range.size()) / static_cast<double>(batch.size());
        loss += weight * run.losses[0];
        for (const auto& [name, gradient] : run.gradients) {
          gradients[name].resize(gradient.size());
          for (size_t i = 0; i < gradient.size(); ++i) gradients[name][i] += static_cast<float>(weight * gradient[i]);
        }
        if (rank == 0) expect_near(run.buffers, found.buffers, 1e-6, "running statistics of the first device");
      }
      EXPECT_NEAR(result.loss, loss, 1e-5 * loss);
      Named updated = parameters;
      for (auto& [name, gradient] : gradients) {
        for (size_t i = 0; i < gradient.size(); ++i) updated[name][i] -= 0.1f * gradient[i];
        if (name == "conv2.bias") continue;  // BatchNorm cancels this bias: its gradient is only rounding
        EXPECT_LE(difference(gradient, found.gradients[name]), kTolerance) << name;
      }
      expect_near(updated, found.parameters, kTolerance, text(n, " devices, parameter"));
    }
  }
}

TEST(BatchNorm, CountsBatchesOnceWhateverTheNumberOfDevices) {
  for (int n : {1, 3})
    EXPECT_EQ(train(batch_norm_net(), test_devices(n), {}, make_batches(4, 16)).buffers.at("bn1.num_batches_tracked"),
              std::vector<float>{4})
        << n;
}

TEST(BatchNorm, EvaluatesByTheFirstDevicesStatisticsEverywhere) {
  const auto model = batch_norm_net();
  Trainer trainer(test_context(), model, test_devices(3), momentum_options());
  StepResult result;
  for (const Batch& batch : make_batches(3, 31)) trainer.step(batch, result);
  const Batch test = make_batches(1, 31, 9)[0];
  Loader loader(std::make_shared<ArrayDataset>(Shape{1, 8, 7}, test.inputs, test.labels), {.batch = 16, .prefetch = 0});
  Metrics everywhere;
  trainer.evaluate(loader, nullptr, everywhere);
  for (const DeviceId& device : test_devices(3)) {
    Metrics here;
    trainer.evaluate(loader, &device, here);
    EXPECT_EQ(here.correct, everywhere.correct) << device;
    EXPECT_NEAR(here.loss, everywhere.loss, 1e-6 * here.loss) << device;
  }
}

TEST(BatchNorm, TrainsWithDevicesThatHaveNoSamples) {
  const auto batches = make_batches({3, 16, 1});
  const Trained run = train(batch_norm_net(), test_devices(kMostTestDevices), momentum_options(), batches);
  EXPECT_EQ(run.losses.size(), 3u);
}

}  // namespace
}  // namespace troika
