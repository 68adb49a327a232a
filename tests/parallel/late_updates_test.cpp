// Tests of late updates: the new places of updates and sums.
#include "parallel/late_updates.h"

#include <gtest/gtest.h>

#include "core/text.h"
#include "ops/op_def.h"
#include "passes/graph_text.h"
#include "passes/passes.h"
#include "support/throws.h"

namespace troika {
namespace {

// Two layers, whose gradients stand for those of a backward pass. That of the bias is 0.
constexpr const char* kStep = R"(
graph "net" {
  %0 : f32[2,3] samples "x"
  %1 : f32[3,3] parameter "a.weight"
  %2 : f32[3,3] parameter "b.weight"
  %3 : f32[3] parameter "b.bias"
  %4 : f32[1,3] settings "settings"
  (%6 : f32[2,3]) = linear(%0, %1, _) "a"
  (%7 : f32[2,3]) = linear(%6, %2, %3) "b"
  (%8 : f32[3,3] gradient "b.weight") = relu(%7) "b"
  (%5 : f32[3] gradient "b.bias") = fill_all() "biases" {sizes=[3] value=0.0}
  () = all_reduce(%8, %5) "bucket0" {bucket=0}
  (%9 : f32[2,3]) = relu(%7) "between"
  (%10 : f32[3,3] gradient "a.weight") = relu(%9) "a"
  () = all_reduce(%10) "bucket1" {bucket=1}
  () = sgd_update(%4, _, _, _, _, %2, %8, %3, %5) "sgd" {row=0 slots=0}
  () = sgd_update(%4, _, _, _, _, %1, %10) "sgd" {row=0 slots=0}
  return %9
})";

// The ops and names of the nodes.
std::string print_order(const Graph& graph) {
  std::string order;
  for (const Node& node : graph.nodes()) {
    order += node.attributes.flag("late") ? "late " : "";
    order += text(node.op, ' ', node.name, "; ");
  }
  return order;
}

Graph delayed(const std::string& step, const std::vector<size_t>& order) {
  Graph graph = parse_graph(step);
  delay_updates(graph, order);
  verify_structure(graph);
  return graph;
}

TEST(DelayUpdates, PlacesEachUpdateBeforeTheFirstReaderOfItsParameters) {
  EXPECT_EQ(print_order(delayed(kStep, {0, 1})),
            "late sgd_update sgd; linear a; late sgd_update sgd; linear b; relu b; fill_all biases; late all_reduce bucket0; "
            "relu between; relu a; late all_reduce bucket1; ");
}

TEST(DelayUpdates, StartsSumsInTheOrderGiven) {
  EXPECT_EQ(print_order(delayed(kStep, {1, 0})),
            "late sgd_update sgd; linear a; late sgd_update sgd; linear b; relu b; fill_all biases; relu between; relu a; "
            "late all_reduce bucket1; late all_reduce bucket0; ");
}

// Returns the step with nodes after the sums.
std::string with_nodes(const char* nodes) {
  std::string step = kStep;
  return step.insert(step.find("  () = sgd_update"), nodes);
}

TEST(DelayUpdates, KeepsTheOrderOfUpdatesThatDependOnEachOther) {
  const std::string step = with_nodes("  () = round_bf16(%8, %5) \"bucket0\"\n  () = round_bf16(%10) \"bucket1\"\n");
  EXPECT_EQ(print_order(delayed(step, {0, 1})),
            "late round_bf16 bucket1; late sgd_update sgd; linear a; late round_bf16 bucket0; late sgd_update sgd; linear b; "
            "relu b; fill_all biases; late all_reduce bucket0; relu between; relu a; late all_reduce bucket1; ");
}

TEST(DelayUpdates, RefusesAResultThatDependsOnASum) {
  std::string step = with_nodes("  (%11 : i32[1]) = check_finite(%8) \"finite\"\n");
  step.replace(step.find("return %9"), 9, "return %11");
  EXPECT_THROWS(Status::internal, "a result depends on sums of gradients", delayed(step, {0, 1}));
}

TEST(DelayUpdates, RefusesAnOrderWithoutABucket) {
  EXPECT_THROWS(Status::internal, "bucket 1 has no place in the order of sums", delayed(kStep, {0}));
}

}  // namespace
}  // namespace troika
