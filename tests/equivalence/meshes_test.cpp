// Every mesh (data x layer x channel) of 1, 2, 4 and 8 devices computes the same as one device.
// With BatchNorm, the one device uses as many micro-batches as the mesh has parts of the batch; if
// statistics are synchronised, it uses the whole batch.
#include <gtest/gtest.h>

#include "core/text.h"
#include "equivalence/runs.h"
#include "models/layers.h"

namespace troika {
namespace {

constexpr double kTolerance = 2e-5, kNormalizedTolerance = 1e-4;

// Returns a model with at least eight layers, for eight stages, and at least eight channels, for
// eight parts. Few of them divide evenly.
std::shared_ptr<Model> plain_net() {
  auto model = std::make_shared<Model>("plain_net");
  ValueId x =
      add_relu(*model, "relu1", add_conv2d(*model, "conv1", model->add_input("x", {1, 8, 7}), {9, square(3), 1, true}));
  x = add_max_pool2d(*model, "pool", add_conv2d(*model, "conv2", x, {11, square(3, 1, 1), 1, true}), square(2, 2));
  x = add_relu(*model, "relu3", add_conv2d(*model, "conv3", x, {10, square(2), 1, true}));
  x = add_relu(*model, "relu4", add_linear(*model, "fc1", add_flatten(*model, "flatten", x), 13, true));
  return finished(model, add_linear(*model, "fc2", x, 8, true));
}

std::shared_ptr<Model> normalized_net() {
  auto model = std::make_shared<Model>("normalized_net");
  ValueId x = add_conv2d(*model, "conv1", model->add_input("x", {1, 8, 7}), {9, square(3, 2), 1, false});
  x = add_relu(*model, "relu1", add_batch_norm2d(*model, "bn1", x));
  ValueId y = add_batch_norm2d(*model, "bn2", add_conv2d(*model, "conv2", x, {9, square(3, 1, 1), 1, false}));
  x = add_relu(*model, "relu2", add_sum(*model, "sum", y, x));
  x = add_batch_norm2d(*model, "bn3", add_conv2d(*model, "conv3", x, {12, square(1), 1, false}));
  return finished(model, add_linear(*model, "fc", add_flatten(*model, "flatten", x), 8, true));
}

class Meshes : public ::testing::TestWithParam<size_t> {
 protected:
  int devices() const { return devices_of(mesh); }
  TrainerOptions options(int64_t micro_batches) const {
    TrainerOptions options = momentum_options();
    options.mesh = mesh;
    options.micro_batches = micro_batches;
    options.deadline_ms = 60000;
    return options;
  }

  const Mesh mesh = all_meshes()[GetParam()];
};

TEST_P(Meshes, EqualOneDeviceWithoutBatchNorm) {
  const auto batches = make_batches({16, 13, 5, 16});
  const Trained oracle = train(plain_net(), test_devices(1), momentum_options(), batches);
  for (int64_t micro_batches : {1, 2, 3})
    expect_near(oracle, train(plain_net(), test_devices(devices()), options(micro_batches), batches), kTolerance,
                text(micro_batches, " micro-batches"));
}

// Also if the batch has fewer samples than the mesh has shares, so that some ranks have no samples.
TEST_P(Meshes, ReportTheResultsOfTheWholeBatchOnEveryRank) {
  TrainerOptions one_options = options(2);
  one_options.mesh = {};
  Trainer one(test_context(), plain_net(), test_devices(1), one_options);
  Trainer many(test_context(), plain_net(), test_devices(devices()), options(2));
  const auto expect_everywhere = [&](const std::string& when) {
    const RunResults expected = one.ranks().first().results();
    const RunResults first = many.ranks().first().results();
    EXPECT_NEAR(first.loss, expected.loss, kTolerance * expected.loss) << when;
    EXPECT_EQ(first.correct, expected.correct) << when;
    for (const LocalRank& local : many.ranks()) {
      EXPECT_EQ(local.replica->results().loss, first.loss) << when << ", rank " << local.rank;
      EXPECT_EQ(local.replica->results().correct, first.correct) << when << ", rank " << local.rank;
    }
  };
  for (int64_t samples : {11, 1}) {
    StepResult result;
    for (Trainer* trainer : {&one, &many}) trainer->step(make_batches(1, samples)[0], result);
    expect_everywhere(text("a step of ", samples));
    const Batch batch = make_batches(1, samples)[0];
    Loader loader(std::make_shared<ArrayDataset>(Shape{1, 8, 7}, batch.inputs, batch.labels),
                  {.batch = samples, .prefetch = 0});
    Metrics metrics;
    for (Trainer* trainer : {&one, &many}) trainer->evaluate(loader, nullptr, metrics);
    expect_everywhere(text("an evaluation of ", samples));
    EXPECT_EQ(metrics.correct, many.ranks().first().results().correct);
  }
}

TEST_P(Meshes, NormaliseEachPartAsOneDeviceDoesAMicroBatch) {
  const auto batches = make_batches(3, 32);
  for (int64_t micro_batches : {1, 2}) {
    TrainerOptions one = momentum_options();
    one.micro_batches = mesh.data * micro_batches;
    const Trained oracle = train(normalized_net(), test_devices(1), one, batches);
    Trained found = train(normalized_net(), test_devices(devices()), options(micro_batches), batches);
    // Tracked statistics are those of the first share of samples.
    if (mesh.data > 1) found.buffers = oracle.buffers;
    expect_near(oracle, found, kNormalizedTolerance, text(micro_batches, " micro-batches"));
  }
}

TEST_P(Meshes, NormaliseTheWholeBatchWhereStatisticsAreSynchronised) {
  const auto batches = make_batches({16, 13, 31});
  const Trained oracle = train(normalized_net(), test_devices(1), momentum_options(), batches);
  TrainerOptions synchronised = options(1);
  synchronised.syncs_statistics = true;
  expect_near(oracle, train(normalized_net(), test_devices(devices()), synchronised, batches), kNormalizedTolerance,
              "");
}

TEST_P(Meshes, HoldTheOptimizersStateInPartsWithTheSameBits) {
  const auto batches = make_batches({16, 13, 1});
  TrainerOptions sharded = options(1);
  sharded.shards_optimizer = true;
  EXPECT_TRUE(train(plain_net(), test_devices(devices()), sharded, batches) ==
              train(plain_net(), test_devices(devices()), options(1), batches));
}

TEST_P(Meshes, ComputeTheSameBitsInPieces) {
  const auto batches = make_batches({16, 13, 1, 16});
  for (int64_t micro_batches : {1, 3})
    expect_same_in_pieces(plain_net, test_devices(devices()), options(micro_batches), batches,
                          text(micro_batches, " micro-batches"));
  expect_same_in_pieces(normalized_net, test_devices(devices()), options(2), make_batches(2, 32), "normalised");
  TrainerOptions synchronised = options(2);
  synchronised.syncs_statistics = true;
  expect_same_in_pieces(normalized_net, test_devices(devices()), synchronised, make_batches({16, 31}), "synchronised");
  TrainerOptions sharded = options(1);
  sharded.shards_optimizer = true;
  expect_same_in_pieces(plain_net, test_devices(devices()), sharded, batches, "sharded optimizer");
}

TEST_P(Meshes, PredictAsOneDevice) {
  const Batch batch = make_batches(1, 13)[0];
  for (const auto& net : {plain_net, normalized_net}) {
    std::vector<float> expected, found;
    predict(Trainer(test_context(), net(), test_devices(1), momentum_options()), batch, expected);
    predict(Trainer(test_context(), net(), test_devices(devices()), options(1)), batch, found);
    EXPECT_LE(difference(expected, found), kTolerance);
  }
}

INSTANTIATE_TEST_SUITE_P(All, Meshes, ::testing::Range(size_t{0}, all_meshes().size()),
                         [](const auto& info) { return "Mesh" + name_of(all_meshes()[info.param]); });

}  // namespace
}  // namespace troika
