// The text form of a graph: one line per value that exists before the step, and one line per node.
//
//   graph "net" {
//     %0 : f32[2, 3] input "x"
//     %1 : f32[4, 3] parameter "fc.weight"
//     (%2 : f32[2, 4]) = linear(%0, %1, _) "fc" {relu=1}
//     return %2
//   }
#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdio>
#include <iterator>

#include "core/error.h"
#include "core/text.h"
#include "graph/graph.h"

namespace troika {
namespace {

constexpr int64_t kMaxValueId = 1 << 24;  // a number in hostile text must not size the list of values

constexpr const char* kRoleNames[] = {"activation", "input",     "samples", "targets",  "label_weight",   "settings",
                                      "counter",    "parameter", "buffer",  "gradient", "optimizer_state"};
constexpr const char* kReportNames[] = {"value",     "loss",          "correct",   "batch_results",
                                        "is_finite", "gradient_norm", "loss_scale"};

// In quotes, with a backslash before quotes and backslashes.
std::string quote(const std::string& value) {
  std::string out = "\"";
  for (char c : value) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + '"';
}

std::string print_attribute(const Attribute& attribute) {
  if (auto* i = std::get_if<int64_t>(&attribute)) return std::to_string(*i);
  if (auto* list = std::get_if<std::vector<int64_t>>(&attribute)) return text('[', join(*list, ", "), ']');
  if (auto* word = std::get_if<std::string>(&attribute)) return quote(*word);
  // The shortest decimal that reads back as the same number, with a point so that it stays a real.
  char buffer[40];
  auto end = std::to_chars(buffer, buffer + sizeof buffer, std::get<double>(attribute)).ptr;
  std::string number(buffer, end);
  return number.find_first_of(".einf") == std::string::npos ? number + ".0" : number;
}

std::string print_type(const TensorType& type) { return text(name_of(type.dtype), type.shape); }

class Parser {
 public:
  explicit Parser(const std::string& source) : source_(source) {}

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
    skip_space();
    const size_t begin = at_;
    node.op = find_op(word());
    if (!node.op) {
      at_ = begin;
      fail("the name of an op");
    }
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
    if (peek('{')) {
      expect('{');
      while (!peek('}')) {
        const std::string name = word();
        expect('=');
        node.attributes.set(name, attribute());
        if (peek(',')) expect(',');
      }
      expect('}');
    }
    graph.add_node(std::move(node));
  }

  void define(Graph& graph, ValueId id, std::string name, TensorType type, Role role) {
    while (graph.values().size() <= id) graph.add_value("", {}, Role::activation);  // ids that come later, or never
    graph.value(id) = {std::move(name), std::move(type), role};
  }

  Attribute attribute() {
    if (peek('"')) return quoted();
    if (peek('[')) return int_list();
    skip_space();
    const size_t begin = at_;
    while (at_ < source_.size() && (std::isalnum(static_cast<unsigned char>(source_[at_])) ||
                                    std::string("+-.").find(source_[at_]) != std::string::npos))
      ++at_;
    const std::string number = source_.substr(begin, at_ - begin);
    at_ = begin;
    if (number.find_first_of(".einf") == std::string::npos) return integer();
    double value = 0;
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), value);
    if (error != std::errc() || end != number.data() + number.size()) fail("a number");
    at_ += number.size();
    return value;
  }

  std::vector<int64_t> int_list() {
    std::vector<int64_t> list;
    expect('[');
    while (!peek(']')) {
      list.push_back(integer());
      if (peek(',')) expect(',');
    }
    expect(']');
    return list;
  }

  TensorType tensor_type() {
    const DType dtype = parse_dtype(word());
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
    if (id < 0 || id > kMaxValueId) fail("a value number from 0 to 2^24");
    return static_cast<ValueId>(id);
  }

  int64_t integer() {
    skip_space();
    int64_t value = 0;
    auto [end, error] = std::from_chars(source_.data() + at_, source_.data() + source_.size(), value);
    if (error != std::errc()) fail("an integer");
    at_ = static_cast<size_t>(end - source_.data());
    return value;
  }

  std::string word() {
    skip_space();
    const size_t begin = at_;
    while (at_ < source_.size() && (std::isalnum(static_cast<unsigned char>(source_[at_])) || source_[at_] == '_'))
      ++at_;
    if (begin == at_) fail("a word");
    return source_.substr(begin, at_ - begin);
  }

  void expect_word(const std::string& expected) {
    skip_space();
    const size_t begin = at_;
    if (word() == expected) return;
    at_ = begin;
    fail(text("'", expected, "'"));
  }

  std::string quoted() {
    expect('"');
    std::string result;
    for (; at_ < source_.size() && source_[at_] != '"'; ++at_) {
      if (source_[at_] == '\\' && at_ + 1 < source_.size()) ++at_;
      result += source_[at_];
    }
    if (at_ == source_.size()) fail("a closing quote");
    ++at_;
    return result;
  }

  bool peek(char c) {
    skip_space();
    return at_ < source_.size() && source_[at_] == c;
  }

  void expect(char c) {
    if (!peek(c)) fail(text("'", c, "'"));
    ++at_;
  }

  void skip_space() {
    while (at_ < source_.size() && std::isspace(static_cast<unsigned char>(source_[at_]))) ++at_;
  }

  [[noreturn]] void fail(const std::string& needed) {
    throw Error(Status::invalid_argument,
                text("graph text: found '", source_.substr(at_, 20), "' at character ", at_, ", need ", needed));
  }

  const std::string& source_;
  size_t at_ = 0;
};

}  // namespace

std::string print_graph(const Graph& graph) {
  std::ostringstream out = text_stream();
  out << "graph " << quote(graph.name()) << " {\n";
  // Values in order of their ids: each that exists before the step is a line, the others are
  // printed with their node.
  std::vector<const Node*> maker(graph.values().size(), nullptr);
  for (const Node& node : graph.nodes())
    for (ValueId id : node.outputs) maker[id] = &node;
  for (ValueId id = 0; id < graph.values().size(); ++id) {
    const Value& value = graph.value(id);
    if (value.role != Role::activation && !maker[id])
      out << "  %" << id << " : " << print_type(value.type) << ' ' << kRoleNames[static_cast<int>(value.role)] << ' '
          << quote(value.name) << '\n';
  }
  for (const Node& node : graph.nodes()) {
    out << "  (";
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      const Value& value = graph.value(node.outputs[i]);
      out << (i ? ", " : "") << '%' << node.outputs[i] << " : " << print_type(value.type);
      if (value.role != Role::activation)
        out << ' ' << kRoleNames[static_cast<int>(value.role)] << ' ' << quote(value.name);
    }
    out << ") = " << node.op << '(';
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      out << (i ? ", " : "");
      if (node.inputs[i] == kNoValue)
        out << '_';
      else
        out << '%' << node.inputs[i];
    }
    out << ") " << quote(node.name);
    if (!node.attributes.items().empty()) {
      out << " {";
      bool first = true;
      for (const auto& [name, attribute] : node.attributes.items()) {
        out << (first ? "" : ", ") << name << '=' << print_attribute(attribute);
        first = false;
      }
      out << '}';
    }
    out << '\n';
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
