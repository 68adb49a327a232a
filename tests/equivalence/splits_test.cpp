// Properties of every mesh: recomputation changes no bit, two runs compute the same bits, and mixed
// precision works in pipelines.
#include <gtest/gtest.h>

#include "core/text.h"
#include "equivalence/runs.h"

namespace troika {
namespace {

struct Split {
  int data, layer, channel;
  int64_t micro_batches = 1, logical_shards = 0;

  int devices() const { return data * layer * channel; }
  TrainerOptions options() const {
    TrainerOptions options = momentum_options();
    options.mesh = {data, layer, channel};
    options.micro_batches = micro_batches;
    options.logical_shards = logical_shards;
    options.deadline_ms = 60000;
    return options;
  }
};

const std::vector<Split>& all_splits() {
  static const std::vector<Split> splits = {{1, 1, 1, 3}, {2, 1, 1, 2}, {4, 1, 1, 1, 8}, {1, 2, 1, 4}, {1, 1, 2},
                                            {2, 2, 1, 2}, {2, 1, 2},    {1, 2, 2, 2},    {2, 2, 2, 2}};
  return splits;
}

class Splits : public ::testing::TestWithParam<size_t> {
 protected:
  const Split split = all_splits()[GetParam()];
};

TEST_P(Splits, RecomputeWithoutAnotherBit) {
  const auto batches = make_batches({16, 13, 5, 16});
  for (const auto& net : {conv_net, dropout_net, batch_norm_net}) {
    if (net == batch_norm_net && split.channel * split.layer > 4) continue;
    const Trained kept = train(net(), test_devices(split.devices()), split.options(), batches);
    for (bool by_layer : {false, true}) {
      TrainerOptions options = split.options();
      if (by_layer)
        options.recompute.layers = {net == conv_net ? "conv*" : net == dropout_net ? "drop*" : "bn*"};
      else
        options.recompute.segments = 3;
      EXPECT_TRUE(train(net(), test_devices(split.devices()), options, batches) == kept)
          << (by_layer ? "by layer" : "by segment");
    }
  }
}

TEST_P(Splits, GiveTheSameBitsTwice) {
  const auto batches = make_batches(4, 16);
  const Trained first = train(dropout_net(), test_devices(split.devices()), split.options(), batches);
  EXPECT_TRUE(train(dropout_net(), test_devices(split.devices()), split.options(), batches) == first);
}

TEST(Bf16, GoesThroughPipelinesAndMicroBatches) {  // channels_test.cpp has the splits by channel
  const auto batches = make_batches(3, 16);
  TrainerOptions one = momentum_options();
  one.compute = DType::bf16;
  const Trained oracle = train(conv_net(), test_devices(1), one, batches);
  for (const Split& split : all_splits()) {
    if (split.channel > 1) continue;
    TrainerOptions options = split.options();
    options.compute = DType::bf16;
    const Trained found = train(conv_net(), test_devices(split.devices()), options, batches);
    for (size_t i = 0; i < batches.size(); ++i) EXPECT_NEAR(oracle.losses[i], found.losses[i], 0.02 * oracle.losses[i]);
    expect_near(oracle.parameters, found.parameters, 0.02, text(split.data, " x ", split.layer, ", parameter"));
  }
}

INSTANTIATE_TEST_SUITE_P(Meshes, Splits, ::testing::Range(size_t{0}, all_splits().size()), [](const auto& info) {
  const Split& s = all_splits()[info.param];
  return text("Data", s.data, "Layer", s.layer, "Channel", s.channel, "Parts", s.micro_batches, "Shards",
              s.logical_shards);
});

}  // namespace
}  // namespace troika
