// Buckets, and the pass that starts their all-reduces.
#include "parallel/data_parallel.h"

#include <algorithm>

#include "core/error.h"
#include "core/text.h"
#include "ops/op_def.h"

namespace troika {

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
  // Where each gradient is made.
  std::vector<size_t> made(graph.values().size(), 0);
  for (size_t i = 0; i < graph.nodes().size(); ++i)
    for (ValueId id : graph.nodes()[i].outputs) made[id] = i;

  std::vector<std::pair<size_t, Node>> insertions;  // behind node .first
  size_t earliest = 0;  // buckets start in their order on every rank, whatever the order of backward
  for (size_t b = 0; b < buckets.size(); ++b) {
    Node node{"all_reduce", text("bucket", b), {}, {}, {{"bucket", static_cast<int64_t>(b)}}};
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

  std::vector<Node> nodes;
  size_t next = 0;
  for (size_t i = 0; i < graph.nodes().size(); ++i) {
    nodes.push_back(std::move(graph.nodes()[i]));
    for (; next < insertions.size() && insertions[next].first == i; ++next)
      nodes.push_back(std::move(insertions[next].second));
  }
  graph.nodes() = std::move(nodes);
}

void set_sample_offset(Graph& graph, int64_t offset) {
  for (Node& node : graph.nodes())
    if (node.op == "dropout") node.attributes.set("sample_offset", offset);
}

Graph idle_graph(const Graph& model, const std::vector<std::string>& trainable) {
  Graph graph(model.name());
  for (const Value& value : model.values())
    if (value.role == Role::parameter) graph.add_value(value.name, value.type, value.role);
  for (const std::string& name : trainable) {
    const TensorType type = model.type(*model.find(name));
    const ValueId gradient = append_node(graph, "fill", name, {}, {{"value", -0.0}, {"shape", type.shape.dims()}})[0];
    graph.value(gradient).role = Role::gradient;
    graph.value(gradient).name = name;
  }
  return graph;
}

}  // namespace troika
