// Buckets, and the passes that start their collectives.
#include "parallel/data_parallel.h"

#include <algorithm>

#include "core/error.h"
#include "core/text.h"
#include "ops/op_def.h"

namespace troika {

namespace {

// Inserts each node after as many nodes as its number. Insertions come in the order of numbers.
void insert_after(Graph& graph, std::vector<std::pair<size_t, Node>> insertions) {
  std::vector<Node> nodes;
  size_t next = 0;
  for (size_t i = 0; i <= graph.nodes().size(); ++i) {
    for (; next < insertions.size() && insertions[next].first == i; ++next)
      nodes.push_back(std::move(insertions[next].second));
    if (i < graph.nodes().size()) nodes.push_back(std::move(graph.nodes()[i]));
  }
  graph.nodes() = std::move(nodes);
}

ValueId find_parameter(const Graph& graph, const std::string& name) {
  for (ValueId id = 0; id < graph.values().size(); ++id)
    if (graph.value(id).role == Role::parameter && graph.value(id).name == name) return id;
  throw Error(Status::internal, text("all_gather: no parameter '", name, "' in graph '", graph.name(), "'"));
}

bool shares_input(const Node& a, const Node& b) {
  return std::find_first_of(a.inputs.begin(), a.inputs.end(), b.inputs.begin(), b.inputs.end()) != a.inputs.end();
}

}  // namespace

std::vector<Bucket> make_buckets(const std::vector<NamedBytes>& parameters, size_t bucket_bytes) {
  std::vector<Bucket> buckets;
  for (auto p = parameters.rbegin(); p != parameters.rend(); ++p) {
    if (buckets.empty() || bucket_bytes == 0 || buckets.back().bytes >= bucket_bytes) buckets.emplace_back();
    buckets.back().parameters.push_back(p->name);
    buckets.back().bytes += p->bytes;
  }
  return buckets;
}

void insert_all_reduces(Graph& graph, const std::vector<Bucket>& buckets) {
  // The number of nodes up to the one that makes each gradient.
  std::vector<size_t> made(graph.values().size(), 0);
  for (size_t i = 0; i < graph.nodes().size(); ++i)
    for (ValueId id : graph.nodes()[i].outputs) made[id] = i + 1;

  std::vector<std::pair<size_t, Node>> insertions;  // after .first nodes
  size_t earliest = 0;  // buckets start in their order on every rank, whatever the order of backward
  for (size_t b = 0; b < buckets.size(); ++b) {
    Node node{&all_reduce_op, text("bucket", b), {}, {}, {{"bucket", static_cast<int64_t>(b)}}};
    for (const std::string& name : buckets[b].parameters) {
      auto value = std::find_if(graph.values().begin(), graph.values().end(),
                                [&](const Value& v) { return v.role == Role::gradient && v.name == name; });
      if (value == graph.values().end())
        throw Error(Status::internal, text("bucket ", b, ": parameter '", name, "' has no gradient"));
      const auto id = static_cast<ValueId>(value - graph.values().begin());
      node.inputs.push_back(id);
      earliest = std::max(earliest, made[id]);
    }
    insertions.push_back({earliest, std::move(node)});
  }

  insert_after(graph, std::move(insertions));
}

void compress_gradients(Graph& graph) {
  std::vector<Node> nodes, sums;
  for (Node& node : graph.nodes()) {
    if (node.op == &all_reduce_op) {
      const Node rounding{&round_bf16_op, node.name, node.inputs, {}, {}};
      nodes.push_back(rounding);
      sums.push_back(rounding);
    }
    nodes.push_back(std::move(node));
  }
  nodes.insert(nodes.end(), sums.begin(), sums.end());
  graph.nodes() = std::move(nodes);
}

void insert_all_gathers(Graph& graph, const std::vector<Bucket>& buckets) {
  if (buckets.empty()) return;  // a stage without parameters
  const auto& nodes = graph.nodes();
  size_t earliest = nodes.size();  // after all all_reduces, so that every rank starts both in the same order
  while (earliest > 0 && nodes[earliest - 1].op != &all_reduce_op) --earliest;
  std::vector<std::pair<size_t, Node>> insertions;
  for (size_t b = 0; b < buckets.size(); ++b) {
    Node node{&all_gather_op, text("bucket", b), {}, {}, {{"bucket", static_cast<int64_t>(b)}}};
    for (const std::string& name : buckets[b].parameters) node.inputs.push_back(find_parameter(graph, name));
    for (size_t i = earliest; i < nodes.size(); ++i)
      if (nodes[i].op->as<UpdateOp>() && shares_input(nodes[i], node)) earliest = i + 1;
    insertions.push_back({earliest, std::move(node)});
  }
  insert_after(graph, std::move(insertions));
}

std::map<std::string, int> assign_owners(std::vector<NamedBytes> parameters, int ranks) {
  std::stable_sort(parameters.begin(), parameters.end(),
                   [](const NamedBytes& a, const NamedBytes& b) { return a.bytes > b.bytes; });
  std::vector<size_t> held(static_cast<size_t>(ranks), 0);
  std::map<std::string, int> owners;
  for (const NamedBytes& parameter : parameters) {
    const auto least = std::min_element(held.begin(), held.end());
    *least += parameter.bytes;
    owners[parameter.name] = static_cast<int>(least - held.begin());
  }
  return owners;
}

void set_sample_offset(Graph& graph, int64_t offset) {
  for (Node& node : graph.nodes())
    if (node.attributes.has("sample_offset")) node.attributes.set("sample_offset", offset);
}

namespace {

Graph parameters_of(const Graph& model) {
  Graph graph(model.name());
  for (const Value& value : model.values())
    if (value.role == Role::parameter) graph.add_value(value.name, value.type, value.role);
  return graph;
}

}  // namespace

Graph update_graph(const Graph& model, const std::vector<std::string>& trainable) {
  Graph graph = parameters_of(model);
  for (const std::string& name : trainable) graph.add_value(name, model.type(*model.find(name)), Role::gradient);
  return graph;
}

Graph idle_graph(const Graph& model, const std::vector<std::string>& trainable) {
  Graph graph = parameters_of(model);
  for (const std::string& name : trainable) {
    const TensorType type = model.type(*model.find(name));
    const ValueId gradient = append_node(graph, fill_op, name, {}, {{"value", -0.0}, {"shape", type.shape.dims()}})[0];
    graph.value(gradient).role = Role::gradient;
    graph.value(gradient).name = name;
  }
  return graph;
}

}  // namespace troika
