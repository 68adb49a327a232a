// The text form of a graph: one line per value that exists before the step, and one line per node.
//
//   graph "net" {
//     %0 : f32[2, 3] input "x"
//     %1 : f32[4, 3] parameter "fc.weight"
//     (%2 : f32[2, 4]) = linear(%0, %1, _) "fc" {relu=1}
//     return %2
//   }
#include <algorithm>
#include <iterator>

#include "core/text.h"
#include "graph/graph.h"
#include "graph/text_reader.h"

namespace troika {
namespace {

constexpr int64_t kMaxValueId = 1 << 20;  // a number in hostile text sizes the list of values: 150 MB at most

constexpr const char* kRoleNames[] = {"activation",   "input",           "samples", "targets",   "weights",
                                      "label_weight", "settings",        "counter", "parameter", "buffer",
                                      "gradient",     "optimizer_state", "copy"};
constexpr const char* kReportNames[] = {"value",     "loss",          "correct",    "batch_results",
                                        "is_finite", "gradient_norm", "loss_scale", "input_gradient"};

class Parser : TextReader {
 public:
  explicit Parser(const std::string& source) : TextReader(source, "graph text") {}

  Graph parse() {
    expect_word("graph");
    Graph graph(quoted());
    expect('{');
    while (!peek('}')) {
      if (peek('%')) {
        const ValueId id = value_id();
        expect(':');
        TensorType type = tensor_type();
        const Role role = parse_role(word());
        define(graph, id, quoted(), std::move(type), role);
      } else if (peek('(')) {
        parse_node(graph);
      } else {
        expect_word("return");
        while (!peek('}') && !peek('(')) {
          const Report report = peek('%') ? Report::value : parse_report(word());
          graph.outputs.push_back({value_id(), report});
          if (peek(',')) expect(',');
        }
      }
    }
    expect('}');
    return graph;
  }

 private:
  void parse_node(Graph& graph) {
    Node node;
    expect('(');
    while (!peek(')')) {
      const ValueId id = value_id();
      expect(':');
      TensorType type = tensor_type();
      Role role = Role::activation;
      std::string name;
      if (!peek(',') && !peek(')')) {  // a gradient: made here, kept after the step
        role = parse_role(word());
        name = quoted();
      }
      define(graph, id, name, std::move(type), role);
      node.outputs.push_back(id);
      if (peek(',')) expect(',');
    }
    expect(')');
    expect('=');
    const size_t begin = next();
    node.op = find_op(word());
    if (!node.op) fail_at(begin, "the name of an op");
    expect('(');
    while (!peek(')')) {
      if (peek('_')) {
        expect('_');
        node.inputs.push_back(kNoValue);
      } else {
        node.inputs.push_back(value_id());
      }
      if (peek(',')) expect(',');
    }
    expect(')');
    node.name = quoted();
    node.attributes = attributes();
    graph.add_node(std::move(node));
  }

  void define(Graph& graph, ValueId id, std::string name, TensorType type, Role role) {
    while (graph.values().size() <= id) graph.add_value("", {}, Role::activation);  // ids that come later, or never
    graph.value(id) = {std::move(name), std::move(type), role};
  }

  TensorType tensor_type() {
    const DType dtype = this->dtype();
    return {dtype, Shape(int_list())};
  }

  Role parse_role(const std::string& name) {
    const auto found = std::find(std::begin(kRoleNames), std::end(kRoleNames), name);
    if (found == std::end(kRoleNames)) fail("a role");
    return static_cast<Role>(found - std::begin(kRoleNames));
  }

  Report parse_report(const std::string& name) {
    const auto found = std::find(std::begin(kReportNames), std::end(kReportNames), name);
    if (found == std::end(kReportNames)) fail("a value, or what it reports");
    return static_cast<Report>(found - std::begin(kReportNames));
  }

  ValueId value_id() {
    expect('%');
    const int64_t id = integer();
    if (id < 0 || id > kMaxValueId) fail("a value number from 0 to 2^20");
    return static_cast<ValueId>(id);
  }
};

}  // namespace

std::string print_graph(const Graph& graph) {
  std::ostringstream out = text_stream();
  out << "graph " << quoted_text(graph.name()) << " {\n";
  // Values in order of their ids: each that exists before the step is a line, the others are
  // printed with their node.
  std::vector<const Node*> maker(graph.values().size(), nullptr);
  for (const Node& node : graph.nodes())
    for (ValueId id : node.outputs) maker[id] = &node;
  for (ValueId id = 0; id < graph.values().size(); ++id) {
    const Value& value = graph.value(id);
    if (value.role != Role::activation && !maker[id])
      out << "  %" << id << " : " << print_type(value.type) << ' ' << kRoleNames[static_cast<int>(value.role)] << ' '
          << quoted_text(value.name) << '\n';
  }
  for (const Node& node : graph.nodes()) {
    out << "  (";
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      const Value& value = graph.value(node.outputs[i]);
      out << (i ? ", " : "") << '%' << node.outputs[i] << " : " << print_type(value.type);
      if (value.role != Role::activation)
        out << ' ' << kRoleNames[static_cast<int>(value.role)] << ' ' << quoted_text(value.name);
    }
    out << ") = " << node.op << '(';
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      out << (i ? ", " : "");
      if (node.inputs[i] == kNoValue)
        out << '_';
      else
        out << '%' << node.inputs[i];
    }
    out << ") " << quoted_text(node.name);
    out << print_attributes(node.attributes) << '\n';
  }
  out << "  return";
  for (size_t i = 0; i < graph.outputs.size(); ++i) {
    const auto& [id, report] = graph.outputs[i];
    out << (i ? ", " : " ");
    if (report != Report::value) out << kReportNames[static_cast<int>(report)] << ' ';
    out << '%' << id;
  }
  out << "\n}\n";
  return out.str();
}

Graph parse_graph(const std::string& source) { return Parser(source).parse(); }

}  // namespace troika
