// Tests of cutting a batch into micro-batches.
#include "parallel/micro_batches.h"

#include <gtest/gtest.h>

#include "ops/op_def.h"

namespace troika {
namespace {

std::vector<Range> ranges_of(const std::vector<MicroBatch>& parts) {
  std::vector<Range> ranges;
  for (const MicroBatch& part : parts) ranges.push_back(part.samples);
  return ranges;
}

TEST(MicroBatches, CutARanksSamplesInOrder) {
  EXPECT_EQ(ranges_of(cut_micro_batches(3, {10, 18})), (std::vector<Range>{{10, 13}, {13, 16}, {16, 18}}));
  EXPECT_EQ(ranges_of(cut_micro_batches(4, {5, 7})), (std::vector<Range>{{5, 6}, {6, 7}}));
  EXPECT_EQ(ranges_of(cut_micro_batches(1, {0, 7})), (std::vector<Range>{{0, 7}}));
  EXPECT_TRUE(cut_micro_batches(2, {7, 7}).empty());
}

TEST(LogicalShards, AreTheSameForAnyNumberOfRanks) {
  for (int64_t global : {1, 5, 8, 31}) {
    const auto whole = cut_logical_shards(8, global, 1, 0);
    for (int64_t ranks : {2, 4, 8}) {
      std::vector<MicroBatch> all;
      for (int64_t rank = 0; rank < ranks; ++rank)
        for (const MicroBatch& part : cut_logical_shards(8, global, ranks, rank)) {
          all.push_back(part);
          const Range own = samples_of_shards(8, global, ranks, rank);
          EXPECT_TRUE(own.begin <= part.samples.begin && part.samples.end <= own.end);
        }
      EXPECT_EQ(ranges_of(all), ranges_of(whole)) << global << " samples on " << ranks << " ranks";
      for (size_t i = 0; i < all.size(); ++i) EXPECT_EQ(all[i].tracks_statistics, i == 0);
    }
  }
}

TEST(StopTracking, TakesRunningStatisticsFromBatchNormAlone) {
  Graph graph("net");
  const TensorType channel{DType::f32, {3}};
  std::vector<ValueId> inputs = {graph.add_value("x", {DType::f32, {2, 3, 4, 4}}, Role::input)};
  for (const char* name : {"bn.weight", "bn.bias"}) inputs.push_back(graph.add_value(name, channel, Role::parameter));
  for (const char* name : {"bn.running_mean", "bn.running_var"})
    inputs.push_back(graph.add_value(name, channel, Role::buffer));
  inputs.push_back(graph.add_value("bn.num_batches_tracked", {DType::i64, {}}, Role::buffer));
  inputs.push_back(kNoValue);
  graph.outputs = {
      append_node(graph, batch_norm2d_op, "bn", inputs, {{"eps", 1e-5}, {"momentum", 0.1}, {"relu", int64_t{0}}})[0]};
  stop_tracking(graph);
  verify(graph);
  const std::vector<ValueId>& left = graph.nodes()[0].inputs;
  EXPECT_EQ((std::vector<ValueId>{left[0], left[1], left[2]}), (std::vector<ValueId>{inputs[0], inputs[1], inputs[2]}));
  for (size_t i : {3, 4, 5}) EXPECT_EQ(left[i], kNoValue);
}

}  // namespace
}  // namespace troika
