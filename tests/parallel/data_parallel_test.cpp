// Tests of splitting by data: buckets, the places of their all-reduces, and ranks without samples.
#include "parallel/data_parallel.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "models/zoo.h"
#include "passes/graph_text.h"
#include "passes/loss.h"
#include "passes/passes.h"
#include "support/throws.h"

namespace troika {
namespace {

std::vector<NamedBytes> sizes_of(const Graph& graph) {
  std::vector<NamedBytes> sizes;
  for (const Value& value : graph.values())
    if (value.role == Role::parameter) sizes.push_back({value.name, value.type.bytes()});
  return sizes;
}

std::vector<std::vector<std::string>> names_of(const std::vector<Bucket>& buckets) {
  std::vector<std::vector<std::string>> names;
  for (const Bucket& bucket : buckets) names.push_back(bucket.parameters);
  return names;
}

// ---- buckets ----

using Names = std::vector<std::vector<std::string>>;

TEST(MakeBuckets, ClosesABucketOnceItHasReachedTheCap) {
  const std::vector<NamedBytes> parameters = {{"a", 600}, {"b", 500}, {"c", 500}, {"d", 2000}, {"e", 100}};
  EXPECT_EQ(names_of(make_buckets(parameters, 0)), (Names{{"e"}, {"d"}, {"c"}, {"b"}, {"a"}}));
  EXPECT_EQ(names_of(make_buckets(parameters, 1)), (Names{{"e"}, {"d"}, {"c"}, {"b"}, {"a"}}));
  EXPECT_EQ(names_of(make_buckets(parameters, 1000)), (Names{{"e", "d"}, {"c", "b"}, {"a"}}));
  EXPECT_EQ(names_of(make_buckets(parameters, 1024)), (Names{{"e", "d"}, {"c", "b", "a"}}));
  EXPECT_EQ(names_of(make_buckets(parameters, size_t{1} << 30)), (Names{{"e", "d", "c", "b", "a"}}));
}

TEST(MakeBuckets, HoldsEveryParameterOnceFromTheLastToTheFirstWhateverTheCap) {
  for (const char* name : {"d2l_lenet", "d2l_resnet18", "resnet50", "mlp"}) {
    const auto parameters = sizes_of(create_model(name, {})->graph());
    for (size_t cap : {size_t{0}, size_t{1} << 10, size_t{1} << 20, size_t{1} << 30}) {
      const std::vector<Bucket> buckets = make_buckets(parameters, cap);
      auto expected = parameters.rbegin();
      for (const Bucket& bucket : buckets) {
        size_t bytes = 0;
        for (const std::string& parameter : bucket.parameters) {
          ASSERT_NE(expected, parameters.rend());
          EXPECT_EQ(parameter, expected->name);
          bytes += (expected++)->bytes;
        }
        EXPECT_EQ(bucket.bytes, bytes);
        EXPECT_TRUE(bytes >= cap || &bucket == &buckets.back())
            << name << ": a bucket of " << bytes << " bytes is closed early";
      }
      EXPECT_EQ(expected, parameters.rend()) << name;
      if (cap == 0) {
        EXPECT_EQ(buckets.size(), parameters.size());
      }
      if (cap == size_t{1} << 30) {
        EXPECT_EQ(buckets.size(), 1u);
      }
    }
  }
}

TEST(MakeBuckets, MakesNoneOfNoParameters) { EXPECT_TRUE(make_buckets({}, 1024).empty()); }

// ---- all-reduces ----

constexpr const char* kBackward = R"(
graph "net" {
  %0 : f32[2] samples "x"
  (%1 : f32[2] gradient "c") = relu(%0) "c"
  (%2 : f32[2]) = relu(%0) "between"
  (%3 : f32[2] gradient "b") = relu(%2) "b"
  (%4 : f32[2] gradient "a") = relu(%2) "a"
  (%5 : f32[2]) = relu(%2) "last"
  return %5
})";

Graph with_all_reduces(const std::vector<std::vector<std::string>>& names) {
  Graph graph = parse_graph(kBackward);
  std::vector<Bucket> buckets;
  for (const auto& parameters : names) buckets.push_back({parameters, 8 * parameters.size()});
  insert_all_reduces(graph, buckets);
  verify(graph);
  return graph;
}

TEST(InsertAllReduces, StartsEachBucketRightBehindItsLastGradient) {
  EXPECT_GRAPH(with_all_reduces({{"c"}, {"b", "a"}}), R"(
graph "net" {
  %0 : f32[2] samples "x"
  (%1 : f32[2] gradient "c") = relu(%0) "c"
  () = all_reduce(%1) "bucket0" {bucket=0}
  (%2 : f32[2]) = relu(%0) "between"
  (%3 : f32[2] gradient "b") = relu(%2) "b"
  (%4 : f32[2] gradient "a") = relu(%2) "a"
  () = all_reduce(%3, %4) "bucket1" {bucket=1}
  (%5 : f32[2]) = relu(%2) "last"
  return %5
})");
}

// The backward pass may compute gradients in another order than the buckets'. The all-reduces still
// start in the order of the buckets.
TEST(InsertAllReduces, StartsBucketsInTheirOrder) {
  EXPECT_GRAPH(with_all_reduces({{"b"}, {"c"}, {"a"}}), R"(
graph "net" {
  %0 : f32[2] samples "x"
  (%1 : f32[2] gradient "c") = relu(%0) "c"
  (%2 : f32[2]) = relu(%0) "between"
  (%3 : f32[2] gradient "b") = relu(%2) "b"
  () = all_reduce(%3) "bucket0" {bucket=0}
  () = all_reduce(%1) "bucket1" {bucket=1}
  (%4 : f32[2] gradient "a") = relu(%2) "a"
  () = all_reduce(%4) "bucket2" {bucket=2}
  (%5 : f32[2]) = relu(%2) "last"
  return %5
})");
}

TEST(InsertAllReduces, NamesAParameterWithoutAGradient) {
  EXPECT_THROWS(Status::internal, "bucket 0: parameter 'frozen' has no gradient", with_all_reduces({{"frozen"}}));
}

// ---- sharded updates ----

TEST(CompressGradients, RoundsBeforeEachSumAndBehindTheLast) {
  Graph graph = with_all_reduces({{"c"}, {"b", "a"}});
  compress_gradients(graph);
  verify(graph);
  EXPECT_GRAPH(graph, R"(
graph "net" {
  %0 : f32[2] samples "x"
  (%1 : f32[2] gradient "c") = relu(%0) "c"
  () = round_bf16(%1) "bucket0"
  () = all_reduce(%1) "bucket0" {bucket=0}
  (%2 : f32[2]) = relu(%0) "between"
  (%3 : f32[2] gradient "b") = relu(%2) "b"
  (%4 : f32[2] gradient "a") = relu(%2) "a"
  () = round_bf16(%3, %4) "bucket1"
  () = all_reduce(%3, %4) "bucket1" {bucket=1}
  (%5 : f32[2]) = relu(%2) "last"
  () = round_bf16(%1) "bucket0"
  () = round_bf16(%3, %4) "bucket1"
  return %5
})");
}

// This rank updates "c" and "a"; another rank updates "b".
TEST(InsertAllGathers, StartsEachBucketBehindItsLastUpdate) {
  const std::string sums = R"(
graph "net" {
  %0 : f32[1, 4] settings "settings"
  %1 : f32[2] parameter "a"
  %2 : f32[2] parameter "b"
  %3 : f32[2] parameter "c"
  (%4 : f32[2] gradient "c") = fill() "c" {shape=[2], value=0.0}
  (%5 : f32[2] gradient "b") = fill() "b" {shape=[2], value=0.0}
  (%6 : f32[2] gradient "a") = fill() "a" {shape=[2], value=0.0}
  () = all_reduce(%4, %5) "bucket0" {bucket=0}
  () = all_reduce(%6) "bucket1" {bucket=1}
)",
                    update_c = "() = sgd_update(%0, _, _, _, _, %3, %4) \"sgd\" {row=0, slots=0} ",
                    update_a = "() = sgd_update(%0, _, _, _, _, %1, %6) \"sgd\" {row=0, slots=0} ";
  Graph graph = parse_graph(sums + update_c + update_a + "return }");
  insert_all_gathers(graph, {{{"c", "b"}, 16}, {{"a"}, 8}});
  verify(graph);
  EXPECT_GRAPH(graph, sums + update_c + "() = all_gather(%3, %2) \"bucket0\" {bucket=0} " + update_a +
                          "() = all_gather(%1) \"bucket1\" {bucket=1} return }");
}

TEST(AssignOwners, GivesTheLargestToWhoHasLeast) {
  const std::map<std::string, int> owners = assign_owners({{"a", 10}, {"b", 40}, {"c", 30}, {"d", 25}, {"e", 10}}, 2);
  EXPECT_EQ(owners, (std::map<std::string, int>{{"b", 0}, {"c", 1}, {"d", 1}, {"a", 0}, {"e", 0}}));
  EXPECT_EQ(assign_owners({{"a", 1}}, 3).at("a"), 0);
}

// ---- ranks without samples ----

constexpr const char* kModel = R"(
graph "net" {
  %0 : f32[1, 3] samples "x"
  %1 : f32[4, 3] parameter "fc1.weight"
  %2 : f32[5, 4] parameter "fc2.weight"
  (%3 : f32[1, 4]) = linear(%0, %1, _) "fc1"
  (%4 : f32[1, 5]) = linear(%3, %2, _) "fc2"
  return %4
})";

TEST(IdleGraph, GivesGradientsOfZeroForTrainableParameters) {
  const Graph graph = idle_graph(parse_graph(kModel), {"fc2.weight"});
  verify(graph);
  EXPECT_GRAPH(graph, R"(
graph "net" {
  %0 : f32[4, 3] parameter "fc1.weight"
  %1 : f32[5, 4] parameter "fc2.weight"
  (%2 : f32[5, 4] gradient "fc2.weight") = fill() "fc2.weight" {shape=[5, 4], value=-0.0}
  return
})");
}

TEST(UpdateGraph, HasGradientsThatWereComputedEarlier) {
  Graph graph = update_graph(parse_graph(kModel), {"fc2.weight"});
  verify(graph);
  EXPECT_GRAPH(graph, R"(
graph "net" {
  %0 : f32[4, 3] parameter "fc1.weight"
  %1 : f32[5, 4] parameter "fc2.weight"
  %2 : f32[5, 4] gradient "fc2.weight"
  return
})");
  // A rank that updates nothing still gathers what the other ranks have updated.
  insert_all_gathers(graph, make_buckets(sizes_of(parse_graph(kModel)), 0));
  ASSERT_EQ(graph.nodes().size(), 2u);
  for (const Node& node : graph.nodes()) EXPECT_EQ(node.op, &all_gather_op);
}

TEST(IdleGraph, StartsTheSameBucketsAsARankWithSamples) {
  const Graph model = parse_graph(kModel);
  const std::vector<std::string> trainable = {"fc1.weight", "fc2.weight"};
  const std::vector<Bucket> buckets = make_buckets(sizes_of(model), 0);
  Graph busy = rebatch(model, 3), idle = idle_graph(model, trainable);
  append_loss(busy, {.kind = Loss::cross_entropy, .scale = 1.0});
  autodiff(busy, trainable);
  auto started = [&](Graph& graph) {
    insert_all_reduces(graph, buckets);
    std::vector<std::pair<int64_t, std::vector<std::string>>> result;
    for (const Node& node : graph.nodes()) {
      if (node.op != &all_reduce_op) continue;
      std::vector<std::string> names;
      for (ValueId id : node.inputs) names.push_back(graph.value(id).name);
      result.push_back({node.attributes.integer("bucket"), names});
    }
    return result;
  };
  const auto expected = started(busy);
  EXPECT_EQ(expected.size(), 2u);
  EXPECT_EQ(started(idle), expected);
}

// ---- dropout ----

TEST(SetSampleOffset, TellsDropoutWhereTheShardBegins) {
  Graph graph = parse_graph(R"(
graph "net" {
  %0 : f32[2, 3] samples "x"
  %1 : i64[2] counter "dropout_counter"
  (%2 : f32[2, 3]) = dropout(%0, %1) "a" {layer=1, probability=0.5, sample_offset=0}
  (%3 : f32[2, 3]) = relu(%2) "relu"
  (%4 : f32[2, 3]) = dropout(%3, %1) "b" {layer=2, probability=0.5, sample_offset=0}
  return %4
})");
  set_sample_offset(graph, 17);
  EXPECT_GRAPH(graph, R"(
graph "net" {
  %0 : f32[2, 3] samples "x"
  %1 : i64[2] counter "dropout_counter"
  (%2 : f32[2, 3]) = dropout(%0, %1) "a" {layer=1, probability=0.5, sample_offset=17}
  (%3 : f32[2, 3]) = relu(%2) "relu"
  (%4 : f32[2, 3]) = dropout(%3, %1) "b" {layer=2, probability=0.5, sample_offset=17}
  return %4
})");
}

}  // namespace
}  // namespace troika
