// Tests of the verifier: reports each way in which a graph can be malformed, with the node.
#include <gtest/gtest.h>

#include "graph/graph.h"
#include "ops/op_def.h"
#include "support/throws.h"

namespace troika {
namespace {

void check(const std::string& lines) {
  verify_structure(parse_graph("graph \"g\" {\n %0 : f32[2] input \"x\"\n" + lines + "}"));
}

#define EXPECT_REFUSED(lines, message) EXPECT_THROWS(Status::internal, message, (check(lines), 0))

TEST(Verify, AcceptsNodesThatReadWhatIsThere) {
  EXPECT_NO_THROW(check("(%1 : f32[2]) = relu(%0) \"a\" (%2 : f32[2]) = add(%1, %0) \"b\" return %2, %0"));
}

TEST(Verify, AcceptsAbsentInputs) { EXPECT_NO_THROW(check("(%1 : f32[2]) = fill(_, %0) \"a\" return %1")); }

TEST(Verify, AcceptsAGradientFromItsNodeOn) {
  EXPECT_NO_THROW(check("(%1 : f32[2] gradient \"w.gradient\") = fill(%0) \"a\" () = all_reduce(%1) \"b\" return"));
}

TEST(Verify, AcceptsAGradientOfAnEarlierStep) {
  EXPECT_NO_THROW(check("%1 : f32[2] gradient \"w.gradient\" (%2 : f32[2]) = relu(%1) \"a\" return %2"));
}

TEST(Verify, RefusesAValueReadBeforeItIsMade) {
  EXPECT_REFUSED("(%2 : f32[2]) = relu(%1) \"b\" (%1 : f32[2]) = relu(%0) \"a\" return %2",
                 "graph 'g': relu 'b': reads %1 before it is made");
}

TEST(Verify, RefusesAGradientReadBeforeItIsMade) {
  EXPECT_REFUSED("() = all_reduce(%1) \"b\" (%1 : f32[2] gradient \"w.gradient\") = fill(%0) \"a\" return",
                 "all_reduce 'b': reads %1 before it is made");
}

TEST(Verify, RefusesAValueMadeTwice) {
  EXPECT_REFUSED("(%1 : f32[2]) = relu(%0) \"a\" (%1 : f32[2]) = relu(%0) \"b\" return %1",
                 "relu 'b': makes %1 a second time");
}

TEST(Verify, RefusesANodeThatMakesAnInput) {
  Graph graph("g");
  graph.add_value("x", {DType::f32, {2}}, Role::input);
  graph.add_node({&relu_op, "a", {}, {0}, {}});
  EXPECT_THROWS(Status::internal, "relu 'a': makes %0, which exists before the step", (verify_structure(graph), 0));
}

TEST(Verify, RefusesNumbersOutOfRange) {
  EXPECT_REFUSED("() = fill(%9) \"a\" return", "fill 'a': input %9 is out of range");
  EXPECT_REFUSED("return %9", "graph 'g': output %9 is never made");
  Graph graph("g");
  graph.add_node({&fill_op, "a", {}, {3}, {}});
  EXPECT_THROWS(Status::internal, "fill 'a': output %3 is out of range", (verify_structure(graph), 0));
}

TEST(Verify, RefusesAnOutputThatNothingMakes) {
  Graph graph("g");
  graph.outputs = {graph.add_value("", {DType::f32, {2}})};
  EXPECT_THROWS(Status::internal, "graph 'g': output %0 is never made", (verify_structure(graph), 0));
}

TEST(Graph, FindsInputsAndStateByName) {
  const Graph graph = parse_graph(
      "graph \"g\" { %0 : f32[1] input \"x\" %1 : f32[1] buffer \"n.mean\" (%2 : f32[1]) = relu(%0) \"a\" return }");
  EXPECT_EQ(graph.find("n.mean"), std::optional<ValueId>(1));
  EXPECT_EQ(graph.find("a"), std::nullopt);
  EXPECT_EQ(graph.find(""), std::nullopt);
}

TEST(Attributes, TellWhichOneIsAbsentOrOfAnotherType) {
  const Attributes attributes{
      {"n", int64_t{3}}, {"r", 0.5}, {"l", std::vector<int64_t>{1}}, {"w", std::string("same")}};
  EXPECT_EQ(attributes.integer("n"), 3);
  EXPECT_EQ(attributes.real("r"), 0.5);
  EXPECT_EQ(attributes.list("l"), std::vector<int64_t>{1});
  EXPECT_EQ(attributes.word("w"), "same");
  EXPECT_TRUE(attributes.flag("n"));
  EXPECT_FALSE(attributes.flag("absent"));
  EXPECT_THROWS(Status::internal, "attribute 'k' is absent", attributes.integer("k"));
  EXPECT_THROWS(Status::internal, "attribute 'n' has another type", attributes.real("n"));
}

}  // namespace
}  // namespace troika
