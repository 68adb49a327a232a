// insert_batch_results: one tensor per rank, and its sums.
#include "parallel/batch_results.h"

#include <algorithm>
#include <iterator>

#include "ops/op_def.h"

namespace troika {

void insert_batch_results(Graph& graph, const BatchResults& results) {
  // The results travel while buckets are summed. The losses are known before the first bucket, and
  // all ranks of a data group start the same collectives before that bucket. If the step pauses,
  // they are known at the pause.
  const auto ends_losses = [](const Node& node) { return node.op == &all_reduce_op || node.op == &pause_op; };
  const auto end = std::find_if(graph.nodes().begin(), graph.nodes().end(), ends_losses);
  const bool pauses = end != graph.nodes().end() && end->op == &pause_op;
  const std::vector<Node> rest(std::make_move_iterator(end), std::make_move_iterator(graph.nodes().end()));
  graph.nodes().erase(end, graph.nodes().end());

  std::vector<ValueId> inputs;
  auto take = [&](Report report) {
    for (const Output& output : graph.outputs)
      if (output.report == report && results.is_counted) inputs.push_back(output.id);
    return static_cast<int64_t>(inputs.size());
  };
  const int64_t losses = take(Report::loss);
  take(Report::correct);
  std::erase_if(graph.outputs,
                [](const Output& output) { return output.report == Report::loss || output.report == Report::correct; });
  ValueId sum = append_node(graph, batch_results_op, "loss", std::move(inputs),
                            {{"first", results.first}, {"losses", losses}, {"places", results.places}})[0];
  if (results.shares > 1 && results.has_losses && results.is_counted)
    sum = append_node(graph, data_sum_op, "loss", {sum}, {{"background", int64_t{1}}})[0];
  const auto add_rest = [&] {
    for (const Node& node : rest) graph.add_node(node);
  };
  if (!pauses) add_rest();
  // Last, so that no rank waits for others' losses before its own work is done.
  if (results.parts > 1) sum = append_node(graph, model_sum_op, "loss", {sum}, {})[0];
  if (pauses) add_rest();
  graph.outputs.push_back({sum, Report::batch_results});
}

}  // namespace troika
