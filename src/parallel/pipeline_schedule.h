// Splitting by layer: pipeline schedules as tables, in which each rank has its order of
// micro-batches and stages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace troika {

// The orders in which micro-batches pass through the stages (docs/splitting-by-layer.md draws
// them).
//   gpipe        all forwards, then all backwards (Huang et al. 2019, arXiv 1811.06965)
//   one_f_one_b  as few forwards as fill the pipeline, then one forward, one backward
//                (PipeDream-flush, Narayanan et al. 2021, arXiv 2006.09503)
//   interleaved  the same with several stages per rank (Narayanan et al. 2021, arXiv 2104.04473)
enum class PipelineSchedule : int32_t { gpipe = 1, one_f_one_b = 2, interleaved = 3 };

// One micro-batch through one stage. Stages are numbered over all ranks, in the model's order:
// stage s belongs to rank s % ranks.
struct PipelineAction {
  enum Phase { forward, backward } phase;
  int micro_batch;
  int stage;
  bool operator==(const PipelineAction&) const = default;
};

// The actions of each rank, in its order: one list per rank.
using PipelineTable = std::vector<std::vector<PipelineAction>>;

// `chunks` is the number of stages per rank: 1, or more with interleaved. Interleaved needs
// micro-batches in multiples of the ranks. Whatever the schedule, every stage runs its backwards in
// the order of micro-batches: gradients are added in one order, and all schedules compute the same
// bits. (GPipe's paper runs backwards from the last micro-batch to the first, in the same time and
// memory.)
PipelineTable make_pipeline_schedule(PipelineSchedule schedule, int ranks, int micro_batches, int chunks);

// Whether the interleaved schedule supports so many micro-batches.
bool can_interleave(int micro_batches, int ranks);

// All forwards, stage by stage, then all backwards. For any number of micro-batches and chunks, as
// when the last batch of an epoch is too small for the interleaved schedule.
PipelineTable make_plain_schedule(int ranks, int micro_batches, int chunks);

// Returns the action whose output this action reads. A forward reads the stage before, a backward
// reads the stage after, and the last stage's backward reads its own forward. The first stage's
// forward reads none. If the other action is on another rank, its output is sent.
std::optional<PipelineAction> input_of(const PipelineAction& action, int stages);

// Returns the action that reads this action's output: none for the first stage's backward.
std::optional<PipelineAction> reader_of(const PipelineAction& action, int stages);

// Numbers the actions of a step from 0 to 2 * stages * micro_batches - 1.
size_t index_of(const PipelineAction& action, int micro_batches);

// Throws INTERNAL, naming rank and action, unless every stage runs every micro-batch once forward
// and afterwards once backward, on the stage's rank. simulate_pipeline finds out whether the ranks'
// orders fit together.
void verify_pipeline_schedule(const PipelineTable& table, int micro_batches, int chunks);

// Returns a text for messages, such as "B3 of stage 2".
std::string name_of(const PipelineAction& action);

// One line per rank: "rank 0: F0 F1 B0 B1". With several stages per rank, each action has its
// stage: "rank 0: F0@0 F1@0 F0@2 ...".
std::string print_pipeline_schedule(const PipelineTable& table);

}  // namespace troika
