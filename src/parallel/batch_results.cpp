// append_batch_results: one tensor per rank, and its sums.
#include "parallel/batch_results.h"

#include <algorithm>

#include "ops/op_def.h"

namespace troika {

void append_batch_results(Graph& graph, const BatchResults& results) {
  if (results.places == 0) return;
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
    sum = append_node(graph, data_sum_op, "loss", {sum}, {})[0];
  if (results.parts > 1) sum = append_node(graph, model_sum_op, "loss", {sum}, {})[0];
  graph.outputs.push_back({sum, Report::batch_results});
}

}  // namespace troika
