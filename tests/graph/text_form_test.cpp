// Tests of the graph's text form: a graph prints, and the text parses to the same graph.
#include <gtest/gtest.h>

#include <cmath>

#include "core/text.h"
#include "graph/graph.h"
#include "ops/op_def.h"
#include "support/throws.h"

namespace troika {
namespace {

Graph small_graph() {
  Graph graph("net");
  const ValueId x = graph.add_value("x", {DType::f32, {2, 3}}, Role::input);
  const ValueId w = graph.add_value("fc.weight", {DType::f32, {4, 3}}, Role::parameter);
  const ValueId y = graph.add_value("", {DType::f32, {2, 4}});
  graph.add_node({&linear_op, "fc", {x, w, kNoValue}, {y}, {{"relu", int64_t{1}}}});
  graph.outputs = {y};
  return graph;
}

constexpr const char* kSmallText =
    "graph \"net\" {\n"
    "  %0 : f32[2, 3] input \"x\"\n"
    "  %1 : f32[4, 3] parameter \"fc.weight\"\n"
    "  (%2 : f32[2, 4]) = linear(%0, %1, _) \"fc\" {relu=1}\n"
    "  return %2\n"
    "}\n";

// Prints a graph whose only node has the attribute `a`.
std::string print_attribute(Attribute attribute) {
  Graph graph("g");
  graph.add_node({&fill_op, "n", {}, {}, {{"a", std::move(attribute)}}});
  return print_graph(graph);
}

Attribute read_attribute(const std::string& value) {
  return parse_graph("graph \"g\" { () = fill() \"n\" {a=" + value + "} return }")
      .nodes()
      .at(0)
      .attributes.items()
      .at("a");
}

void expect_round_trip(const std::string& printed) { EXPECT_EQ(print_graph(parse_graph(printed)), printed); }

TEST(TextForm, PrintsAGraphLineByLine) { EXPECT_EQ(print_graph(small_graph()), kSmallText); }

TEST(TextForm, ParsesWhatItPrints) {
  const Graph graph = parse_graph(kSmallText);
  EXPECT_EQ(graph.name(), "net");
  EXPECT_EQ(graph.values().size(), 3u);
  EXPECT_EQ(graph.value(1).role, Role::parameter);
  EXPECT_EQ(graph.type(2), (TensorType{DType::f32, {2, 4}}));
  EXPECT_EQ(graph.nodes().at(0).inputs, (std::vector<ValueId>{0, 1, kNoValue}));
  ASSERT_EQ(graph.outputs.size(), 1u);
  EXPECT_EQ(graph.outputs[0].id, 2u);
  expect_round_trip(kSmallText);
}

TEST(TextForm, KeepsEveryRole) {
  Graph graph("roles");
  for (Role role : {Role::input, Role::parameter, Role::buffer, Role::optimizer_state})
    graph.add_value("v", {DType::i64, {}}, role);
  const ValueId gradient = graph.add_value("w.gradient", {DType::f32, {3}}, Role::gradient);
  graph.add_node({&fill_op, "n", {}, {gradient}, {}});
  const Graph back = parse_graph(print_graph(graph));
  for (ValueId id = 0; id < graph.values().size(); ++id) {
    EXPECT_EQ(back.value(id).role, graph.value(id).role);
    EXPECT_EQ(back.value(id).name, graph.value(id).name);
    EXPECT_EQ(back.type(id), graph.type(id));
  }
  expect_round_trip(print_graph(graph));
}

TEST(TextForm, KeepsEveryKindOfAttribute) {
  for (const Attribute& attribute :
       {Attribute(int64_t{-7}), Attribute(INT64_MIN), Attribute(INT64_MAX), Attribute(1e-5), Attribute(2.0),
        Attribute(-0.1), Attribute(1e300), Attribute(HUGE_VAL), Attribute(std::vector<int64_t>{}),
        Attribute(std::vector<int64_t>{-1, 2}), Attribute(std::string("a word"))}) {
    const std::string printed = print_attribute(attribute);
    EXPECT_EQ(parse_graph(printed).nodes().at(0).attributes.items().at("a"), attribute) << printed;
    expect_round_trip(printed);
  }
}

TEST(TextForm, KeepsRealsApartFromIntegers) {
  EXPECT_TRUE(std::holds_alternative<double>(read_attribute("1.0")));
  EXPECT_TRUE(std::holds_alternative<int64_t>(read_attribute("1")));
  EXPECT_NE(print_attribute(1.0).find("a=1.0}"), std::string::npos);
}

TEST(TextForm, KeepsQuotesAndBackslashesInNames) {
  Graph graph("a \"b\" \\c");
  graph.add_value("x\"", {DType::f32, {1}}, Role::input);
  graph.add_node({&fill_op, "layer \\\"", {}, {}, {{"word", std::string("\\")}}});
  const Graph back = parse_graph(print_graph(graph));
  EXPECT_EQ(back.name(), graph.name());
  EXPECT_EQ(back.value(0).name, "x\"");
  EXPECT_EQ(back.nodes().at(0).name, "layer \\\"");
  EXPECT_EQ(back.nodes().at(0).attributes.word("word"), "\\");
  expect_round_trip(print_graph(graph));
}

TEST(TextForm, KeepsValueNumbersWithGaps) {
  const Graph graph = parse_graph("graph \"g\" { %5 : f32[1] input \"x\" return %5 }");
  EXPECT_EQ(graph.values().size(), 6u);
  EXPECT_EQ(graph.find("x"), std::optional<ValueId>(5));
  expect_round_trip(print_graph(graph));
}

TEST(TextForm, SaysWhereItFoundWhatItDoesNotUnderstand) {
  EXPECT_THROWS(Status::invalid_argument, "graph text: found 'grape \"g\" {}' at character 0, need 'graph'",
                parse_graph("grape \"g\" {}"));
  EXPECT_THROWS(Status::invalid_argument, "need a role", parse_graph("graph \"g\" { %0 : f32[1] friend \"x\" }"));
  EXPECT_THROWS(Status::invalid_argument, "need a closing quote", parse_graph("graph \"g"));
  EXPECT_THROWS(Status::invalid_argument,
                "graph text: found 'softmin() \"n\" return' at character 17, need the name of an op",
                parse_graph("graph \"g\" { () = softmin() \"n\" return }"));
  EXPECT_THROWS(Status::invalid_argument, "found 'f31", parse_graph("graph \"g\" { %0 : f31[1] input \"x\" }"));
}

TEST(TextForm, RefusesNumbersThatAreNone) {
  for (const char* value : {"x", "1x", "1.2.3", "99999999999999999999", "-", "[1, x]", ""})
    EXPECT_THROWS(Status::invalid_argument, "graph text: found", read_attribute(value));
}

TEST(TextForm, RefusesValueNumbersOutOfRange) {
  for (const char* id : {"-1", "1048577", "4444444", "4294967295", "9223372036854775807"})
    EXPECT_THROWS(Status::invalid_argument, "need a value number",
                  parse_graph(text("graph \"g\" { %", id, " : f32[1] input \"x\" }")));
  EXPECT_THROWS(Status::invalid_argument, "need a value number",
                parse_graph("graph \"g\" { () = fill(%-1) \"n\" return }"));
}

TEST(TextForm, RefusesEveryTextThatIsCutShort) {
  const std::string whole = kSmallText;
  for (size_t n = 0; n + 2 < whole.size(); ++n)
    EXPECT_THROWS(Status::invalid_argument, "", parse_graph(whole.substr(0, n)));
}

}  // namespace
}  // namespace troika
