// The graph: values, and nodes in the order in which they run.
#pragma once

#include <cstdint>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "core/dtype.h"
#include "core/shape.h"
#include "graph/attributes.h"

namespace troika {

using ValueId = uint32_t;
constexpr ValueId kNoValue = UINT32_MAX;

struct TensorType {
  DType dtype = DType::f32;
  Shape shape;
  bool operator==(const TensorType&) const = default;
  size_t bytes() const { return static_cast<size_t>(shape.elements()) * size_of(dtype); }
};
std::string print_type(const TensorType& type);  // "f32[1,28,28]"

// The role of a value in the step. Activations and inputs are stored in the arena; all others are
// state, which outlives a step. The host feeds a step:
// - samples and their targets, one value of each per micro-batch;
// - the weights of their labels, if labels have weights of their own;
// - the weight of a label in the gradient, if labels may be ignored or have weights;
// - settings, the numbers that an update reads;
// - a counter, on which random draws depend.
//
// A graph that is not a step has inputs of its own meaning.
enum class Role {
  activation,
  input,
  samples,
  targets,
  weights,
  label_weight,
  settings,
  counter,
  parameter,
  buffer,
  gradient,
  optimizer_state,
  copy  // of a parameter, in 16 bits (passes/keep_copies.cpp)
};

constexpr bool is_input(Role role) { return role >= Role::input && role <= Role::counter; }
constexpr bool is_state(Role role) { return role >= Role::parameter; }
constexpr bool is_of_samples(Role role) { return role >= Role::samples && role <= Role::weights; }

// The meaning of an output of the graph. A value is the network's own output.
enum class Report { value, loss, correct, batch_results, is_finite, gradient_norm, loss_scale, input_gradient };

// Whether the output is a number, not a tensor with a row per sample.
constexpr bool is_number(Report report) { return report != Report::value && report != Report::input_gradient; }

struct Value {
  std::string name;  // unique among inputs and state; a hint for activations
  TensorType type;
  Role role = Role::activation;
};

// An op. The room ops/ defines the struct and the two functions below. The graph knows only the
// op's name.
struct OpDef;
std::string_view name_of(const OpDef& op);
const OpDef* find_op(std::string_view name);                   // null: there is no such op
std::ostream& operator<<(std::ostream& out, const OpDef* op);  // its name, so that messages never print an address

// One operation. Nodes are stored in an order in which they can run. An input may be kNoValue if
// the op allows it.
struct Node {
  const OpDef* op = nullptr;
  std::string name;  // the layer it belongs to, such as "layer1.0.conv1"
  std::vector<ValueId> inputs;
  std::vector<ValueId> outputs;
  Attributes attributes;
};

// A value that the step returns, kept until its end.
struct Output {
  Output(ValueId value, Report what = Report::value) : id(value), report(what) {}
  operator ValueId() const { return id; }
  ValueId id;
  Report report;
};

class Graph {
 public:
  explicit Graph(std::string name = "") : name_(std::move(name)) {}

  const std::string& name() const { return name_; }
  const std::vector<Value>& values() const { return values_; }
  const std::vector<Node>& nodes() const { return nodes_; }
  std::vector<Node>& nodes() { return nodes_; }
  const Value& value(ValueId id) const { return values_.at(id); }
  Value& value(ValueId id) { return values_.at(id); }
  const TensorType& type(ValueId id) const { return values_.at(id).type; }

  ValueId add_value(std::string name, TensorType type, Role role = Role::activation);
  Node& add_node(Node node);
  // Removes the last values and nodes, so that `values` and `nodes` of them are left.
  void truncate(size_t values, size_t nodes);

  // Returns the input or state value of that name.
  std::optional<ValueId> find(const std::string& name) const;

  std::vector<Output> outputs;

 private:
  std::string name_;
  std::vector<Value> values_;
  std::vector<Node> nodes_;
};

// Throws INTERNAL, naming the node, if the graph is not well formed: a value is read before it is
// made, made twice, made although it is state of another step, or an id is out of range. A gradient
// that no node makes was computed earlier.
void verify_structure(const Graph& graph);

// The text form, and back. parse_graph(print_graph(g)) prints as g does.
std::string print_graph(const Graph& graph);
Graph parse_graph(const std::string& text);

}  // namespace troika
