// The candidates, and the cheapest one that fits.
#include "plan/recompute_choice.h"

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "core/text.h"

namespace troika {

namespace {

struct Candidate {
  Dropped dropped;
  std::string name;  // "with 4 segments"
  size_t bytes = 0;
  double operations = 0;  // of the whole step
};

using BytesOf = std::function<size_t(const Graph&)>;

Candidate measured(const Graph& graph, Dropped dropped, std::string name, const BytesOf& bytes_of) {
  Graph result = graph;
  recompute(result, dropped);
  Candidate candidate{std::move(dropped), std::move(name), bytes_of(result), 0};
  for (const Node& node : result.nodes()) candidate.operations += cost_of(result, node).operations;
  return candidate;
}

Dropped without(Dropped dropped, const std::vector<bool>& kept) {
  for (size_t i = 0; i < kept.size(); ++i) dropped[i] = dropped[i] && !kept[i];
  return dropped;
}

Dropped fit_budget(const Graph& graph, size_t budget, const std::vector<bool>& kept, const BytesOf& bytes_of) {
  std::vector<Candidate> candidates;
  const auto add = [&](Dropped dropped, std::string name) {
    candidates.push_back(measured(graph, without(std::move(dropped), kept), std::move(name), bytes_of));
  };
  add(Dropped(graph.values().size()), "nothing computed again");
  add(drop_cheap(graph), "cheap layers computed again");
  // Segments of sqrt(n) layers need the least memory (Chen et al. 2016); a third of the nodes are
  // forward. Far more segments help with long sequences, whose parts are kept at their borders
  // anyway: there only a short last segment counts.
  const auto forward_nodes = static_cast<int64_t>(graph.nodes().size() / 3);
  const auto most = static_cast<int64_t>(2 * std::sqrt(static_cast<double>(graph.nodes().size()) / 3));
  for (int64_t segments = 2; segments <= std::max(most, forward_nodes); segments += segments < most ? 1 : segments / 2)
    add(drop_segments(graph, segments), text(segments, " segments"));

  const Candidate* best = nullptr;
  for (const Candidate& c : candidates)
    if (c.bytes <= budget && (!best || c.operations < best->operations)) best = &c;
  if (best) return best->dropped;
  best = &*std::min_element(candidates.begin(), candidates.end(),
                            [](const Candidate& a, const Candidate& b) { return a.bytes < b.bytes; });
  const auto samples = std::find_if(graph.values().begin(), graph.values().end(),
                                    [](const Value& value) { return value.role == Role::samples; });
  const int64_t batch = samples == graph.values().end() ? 0 : samples->type.shape[0];
  throw Error(
      Status::out_of_memory,
      text("model '", graph.name(), "': activations of a batch of ", batch, " need at least ", best->bytes, " bytes (",
           best->name, "), activation_budget_bytes is ", budget, "; allow more, or use a smaller batch"));
}

}  // namespace

Dropped choose_dropped(const Graph& graph, const RecomputeSettings& settings, const std::vector<bool>& kept,
                       const BytesOf& bytes_of) {
  if (settings.budget_bytes > 0) return fit_budget(graph, static_cast<size_t>(settings.budget_bytes), kept, bytes_of);
  Dropped dropped = drop_segments(graph, settings.segments);
  const Dropped by_layer = drop_layers(graph, settings.layers);
  for (size_t i = 0; i < dropped.size(); ++i) dropped[i] = dropped[i] || by_layer[i];
  return without(std::move(dropped), kept);
}

Dropped carry_over(const Graph& from, const Dropped& dropped, const Graph& to) {
  Dropped result(to.values().size());
  for (size_t i = 0; i < from.nodes().size(); ++i)
    for (size_t k = 0; k < from.nodes()[i].outputs.size(); ++k) {
      if (!dropped[from.nodes()[i].outputs[k]]) continue;
      if (to.nodes().at(i).op != from.nodes()[i].op)
        throw Error(Status::internal, text("recompute: node ", i, " is ", to.nodes()[i].op, " on this rank and ",
                                           from.nodes()[i].op, " on the first"));
      result[to.nodes()[i].outputs.at(k)] = true;
    }
  return result;
}

}  // namespace troika
