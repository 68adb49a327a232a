// Gradient clipping by the norm of all gradients together, after the reduction. Compared with an
// oracle that clips by hand, and with wrong ways of clipping.
#include <cmath>
#include <functional>
#include <limits>

#include "core/split.h"
#include "core/text.h"
#include "equivalence/runs.h"
#include "support/temp_directory.h"
#include "support/throws.h"
#include "train/checkpoint.h"

namespace troika {
namespace {

constexpr double kTolerance = 5e-6;  // as between devices
constexpr double kMaxNorm = 0.7;     // the tests have steps with norms above and below

TrainerOptions clipped(double max_norm = kMaxNorm) {
  TrainerOptions options = momentum_options();
  options.conditioning.max_norm = max_norm;
  return options;
}

struct ClippedRun {
  Trained trained;
  std::vector<double> norms;  // per step

  bool operator==(const ClippedRun&) const = default;
};

ClippedRun run(const std::shared_ptr<Model>& model, int devices, const TrainerOptions& options,
               const std::vector<Batch>& batches) {
  Trainer trainer(test_context(), model, test_devices(devices), options);
  ClippedRun out;
  for (const Batch& batch : batches) {
    StepResult result;
    trainer.step(batch, result);
    out.norms.push_back(result.gradient_norm);
  }
  out.trained = look_at(trainer);
  return out;
}

void expect_runs_near(const ClippedRun& expected, const ClippedRun& found, double tolerance, const std::string& what) {
  ASSERT_EQ(expected.norms.size(), found.norms.size()) << what;
  for (size_t i = 0; i < expected.norms.size(); ++i)
    EXPECT_NEAR(expected.norms[i], found.norms[i], tolerance * expected.norms[i]) << what << ", step " << i;
  expect_near(expected.trained, found.trained, tolerance, what);
}

double norm_of(const Named& gradients) {
  double squares = 0;
  for (const auto& [name, values] : gradients)
    for (float v : values) squares += static_cast<double>(v) * static_cast<double>(v);
  return std::sqrt(squares);
}

void multiply(Named& gradients, double factor) {
  for (auto& [name, values] : gradients)
    for (float& v : values) v = static_cast<float>(static_cast<double>(v) * factor);
}

// Clips as torch.nn.utils.clip_grad_norm_ does. Returns the norm.
double clip(Named& gradients) {
  const double norm = norm_of(gradients);
  multiply(gradients, std::min(1.0, kMaxNorm / (norm + 1e-6)));
  return norm;
}

// Returns the gradients of a batch. Does not change the model's parameters, because the learning
// rate is 0.
Named gradients_of(const std::shared_ptr<Model>& model, const Batch& batch) {
  TrainerOptions options;
  options.settings[Setting::learning_rate] = 0;
  Trainer trainer(test_context(), model, test_devices(1), options);
  StepResult result;
  trainer.step(batch, result);
  return look_at(trainer).gradients;
}

// Trains by hand with the settings of momentum_options(). `gradients` computes the gradients for
// the optimizer.
Trained train_by_hand(const std::vector<Batch>& batches,
                      const std::function<Named(const std::shared_ptr<Model>&, const Batch&)>& gradients) {
  const auto model = conv_net();
  const TrainerOptions options = momentum_options();
  Trained run;
  run.parameters = parameters_of(*model, false);
  for (const Batch& batch : batches) {
    const Named step = gradients(model, batch);
    for (auto& [name, p] : run.parameters) {
      const std::vector<float>& g = step.at(name);
      std::vector<float>& m = run.slots[slot_name("momentum", name)];
      m.resize(p.size());
      for (size_t i = 0; i < p.size(); ++i) {
        const auto d = static_cast<float>(options.settings[Setting::weight_decay]) * p[i] + g[i];
        m[i] = static_cast<float>(options.settings[Setting::momentum]) * m[i] + d;
        p[i] -= static_cast<float>(options.settings[Setting::learning_rate]) * m[i];
      }
      model->parameters()->write(model->parameters()->index_of(name), p.data(), p.size() * sizeof(float));
    }
  }
  return run;
}

// Trains with the sum of the gradients of two devices' shares, each of which `clip_share` changes
// before the sum.
Trained train_in_shares(const std::vector<Batch>& batches, const std::function<void(Named&)>& clip_share) {
  return train_by_hand(batches, [&](const std::shared_ptr<Model>& model, const Batch& batch) {
    Named sum;
    for (int64_t rank = 0; rank < 2; ++rank) {
      const Range share = balanced_split(batch.size(), 2, rank);
      if (share.size() == 0) continue;
      Named gradients = gradients_of(model, slice(batch, share.begin, share.end));
      multiply(gradients, static_cast<double>(share.size()) / static_cast<double>(batch.size()));
      clip_share(gradients);
      for (const auto& [name, values] : gradients) {
        sum[name].resize(values.size());
        for (size_t i = 0; i < values.size(); ++i) sum[name][i] += values[i];
      }
    }
    return sum;
  });
}

double largest_difference(const Named& a, const Named& b) {
  double most = 0;
  for (const auto& [name, values] : a) most = std::max(most, difference(values, b.at(name)));
  return most;
}

constexpr int kMostDevices = 4;

const std::vector<int64_t> kUneven = {7, 16, 3, 1, 10, 5};

TEST(Clipping, OnAnyNumberOfDevicesIsThatOfOne) {
  const auto batches = make_batches(kUneven, 21);
  const ClippedRun one = run(conv_net(), 1, clipped(), batches);
  for (int n = 2; n <= kMostDevices; ++n)
    expect_runs_near(one, run(conv_net(), n, clipped(), batches), kTolerance, text(n, " devices"));
}

TEST(Clipping, IsThatOfAnOracleThatClipsTheReducedGradientsByHand) {
  const auto batches = make_batches(kUneven, 22);
  std::vector<double> norms;
  const Trained oracle = train_by_hand(batches, [&](const std::shared_ptr<Model>& model, const Batch& batch) {
    Named gradients = gradients_of(model, batch);
    norms.push_back(clip(gradients));
    return gradients;
  });
  // Some steps must be clipped and some not; otherwise the test would not distinguish the two.
  EXPECT_GT(*std::max_element(norms.begin(), norms.end()), 1.2 * kMaxNorm);
  EXPECT_LT(*std::min_element(norms.begin(), norms.end()), 0.9 * kMaxNorm);
  for (int n = 1; n <= kMostDevices; ++n) {
    const ClippedRun found = run(conv_net(), n, clipped(), batches);
    for (size_t i = 0; i < norms.size(); ++i)
      EXPECT_NEAR(found.norms[i], norms[i], kTolerance * norms[i]) << n << " devices";
    expect_near(oracle.parameters, found.trained.parameters, kTolerance, text(n, " devices, parameter"));
    expect_near(oracle.slots, found.trained.slots, kTolerance, text(n, " devices, slots"));
  }
}

TEST(Clipping, BeforeTheReductionOrByParameterIsAnotherTraining) {
  const auto batches = make_batches(kUneven, 22);
  const Named found = run(conv_net(), 2, clipped(), batches).trained.parameters;
  // Without clipping, the shares sum up to the gradients of the whole batch. So differences below
  // come only from the place of the clipping.
  expect_near(train(conv_net(), test_devices(2), momentum_options(), batches).parameters,
              train_in_shares(batches, [](Named&) {}).parameters, kTolerance, "shares");
  const Trained before = train_in_shares(batches, [](Named& gradients) { clip(gradients); });
  EXPECT_GT(largest_difference(before.parameters, found), 1000 * kTolerance);
  const Trained by_parameter = train_by_hand(batches, [](const std::shared_ptr<Model>& model, const Batch& batch) {
    Named gradients = gradients_of(model, batch);
    for (auto& [name, values] : gradients) {
      Named one = {{name, values}};
      clip(one);
      values = one.at(name);
    }
    return gradients;
  });
  EXPECT_GT(largest_difference(by_parameter.parameters, found), 1000 * kTolerance);
}

TEST(Clipping, GivesTheNormOfTheGradientsThatAreReadByName) {
  TrainerOptions frozen = clipped(), scaled = clipped(), sum = clipped();
  frozen.groups = {{"conv1.*", true},
                   {"fc.bias", false, {{Setting::learning_rate, 0.01}, {Setting::weight_decay, 0.0}}}};
  scaled.conditioning.is_scaled = true;
  scaled.loss_scale = 1000;  // not a power of two
  sum.reduction = Reduction::sum;
  for (const TrainerOptions& options : {clipped(), frozen, scaled, sum})
    for (int n = 1; n <= kMostDevices; ++n) {
      Trainer trainer(test_context(), conv_net(), test_devices(n), options);
      for (const Batch& batch : make_batches(kUneven, 23)) {
        StepResult result;
        trainer.step(batch, result);
        const double norm = norm_of(look_at(trainer).gradients);
        EXPECT_NEAR(result.gradient_norm, norm, 1e-6 * norm) << n << " devices";
      }
    }
}

TEST(Clipping, ByMoreThanAnyNormChangesNoBit) {
  const auto batches = make_batches(kUneven, 24);
  for (int n : {1, 3}) {
    const ClippedRun without = run(conv_net(), n, momentum_options(), batches),
                     with = run(conv_net(), n, clipped(1e6), batches);
    EXPECT_TRUE(without.trained == with.trained) << n << " devices";
    EXPECT_EQ(without.norms, std::vector<double>(batches.size(), 0.0));
    for (double norm : with.norms) EXPECT_GT(norm, 0);
  }
}

TEST(Clipping, OfMicroBatchesIsThatOfTheWholeBatch) {
  const auto batches = make_batches(kUneven, 25);
  const ClippedRun whole = run(conv_net(), 1, clipped(), batches);
  for (int n : {1, 2, 3}) {
    TrainerOptions options = clipped();
    options.micro_batches = 3;
    expect_runs_near(whole, run(conv_net(), n, options, batches), kTolerance, text(n, " devices"));
  }
}

TEST(Clipping, OfLogicalShardsGivesTheSameBitsOnAnyNumberOfDevices) {
  TrainerOptions options = clipped();
  options.logical_shards = 8;
  const auto batches = make_batches({16, 31, 24, 19, 17, 3, 1}, 26);
  const ClippedRun one = run(conv_net(), 1, options, batches);
  for (int n : {2, 4, 8}) EXPECT_TRUE(run(conv_net(), n, options, batches) == one) << n << " devices";
}

TEST(Clipping, TakesTheLossScaleOutFirst) {
  const auto batches = make_batches(kUneven, 27);
  TrainerOptions scaled = clipped();
  scaled.conditioning.is_scaled = true;
  scaled.loss_scale = 1024;  // powers of two round nothing
  scaled.conditioning.scale_interval = 2;
  for (int n : {1, 2})
    EXPECT_TRUE(run(conv_net(), n, clipped(), batches) == run(conv_net(), n, scaled, batches)) << n << " devices";
}

TEST(Clipping, LeavesASkippedStepSkippedAndItsNormNotFinite) {
  for (int n : {1, 2, 3}) {
    TrainerOptions options = clipped();
    options.conditioning.is_scaled = true;
    options.loss_scale = 1024;
    auto batches = make_batches(3, 6, 28);
    batches[1].inputs.back() = std::numeric_limits<float>::infinity();  // in the last rank's share
    Trainer trainer(test_context(), conv_net(), test_devices(n), options);
    StepResult result;
    trainer.step(batches[0], result);
    const Trained before = look_at(trainer);
    trainer.step(batches[1], result);
    EXPECT_TRUE(result.is_skipped);
    EXPECT_FALSE(std::isfinite(result.gradient_norm));
    const Trained after = look_at(trainer);
    EXPECT_EQ(before.parameters, after.parameters);
    EXPECT_EQ(before.slots, after.slots);
    trainer.step(batches[2], result);
    EXPECT_FALSE(result.is_skipped);
    const double norm = norm_of(look_at(trainer).gradients);
    EXPECT_NEAR(result.gradient_norm, norm, 1e-6 * norm);
  }
}

TEST(Clipping, HidesNoGradientThatIsNotANumber) {
  auto batches = make_batches(1, 6, 29);
  batches[0].inputs[3] = std::numeric_limits<float>::quiet_NaN();
  Trainer trainer(test_context(), conv_net(), test_devices(2), clipped());
  StepResult result;
  trainer.step(batches[0], result);
  EXPECT_TRUE(std::isnan(result.gradient_norm));
  for (const auto& [name, values] : parameters_of(*trainer.model(), false)) EXPECT_TRUE(std::isnan(values[0])) << name;
}

TEST(Clipping, IsPartOfTheTrainingState) {
  const TempDirectory folder;
  auto save = [&](const std::string& name, const TrainerOptions& options) {
    const std::string path = (folder.path() / name).string();
    Trainer trainer(test_context(), conv_net(), test_devices(1), options);
    StepResult result;
    trainer.step(make_batches(1, 6)[0], result);
    save_checkpoint(trainer, path);
    return path;
  };
  const std::string with = save("with", clipped()), without = save("without", momentum_options());
  Trainer clips(test_context(), conv_net(), test_devices(2), clipped()),
      clips_more(test_context(), conv_net(), test_devices(2), clipped(0.25)),
      never(test_context(), conv_net(), test_devices(2), momentum_options());
  load_checkpoint(clips, with);
  load_checkpoint(never, without);
  EXPECT_THROWS(Status::mismatch, "max_gradient_norm is '0.7', the trainer has '0.25'",
                load_checkpoint(clips_more, with));
  EXPECT_THROWS(Status::mismatch, "max_gradient_norm is '0.7', the trainer has none", load_checkpoint(never, with));
  EXPECT_THROWS(Status::mismatch, "has no max_gradient_norm, the trainer has '0.7'", load_checkpoint(clips, without));
}

}  // namespace
}  // namespace troika
