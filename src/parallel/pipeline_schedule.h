// Splitting by layer: pipeline schedules as tables, the order in which each rank runs micro-batches through its stages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace troika {

// The orders in which micro-batches pass through the stages (docs/splitting-by-layer.md draws them).
//   gpipe        all forwards, then all backwards (Huang et al. 2019, arXiv 1811.06965)
//   one_f_one_b  as few forwards as fill the pipeline, then one forward, one backward (PipeDream-flush, Narayanan et
//                al. 2021, arXiv 2006.09503)
//   interleaved  the same with several stages a rank (Narayanan et al. 2021, arXiv 2104.04473)
enum class PipelineSchedule : int32_t { gpipe = 1, one_f_one_b = 2, interleaved = 3 };

// One micro-batch through one stage. Stages are numbered over all ranks, in the model's order; stage s lies on rank
// s % ranks.
struct PipelineAction {
  enum Phase { forward, backward } phase;
  int micro_batch;
  int stage;
  bool operator==(const PipelineAction&) const = default;
};

// What each rank runs, in its order: one list a rank.
using PipelineTable = std::vector<std::vector<PipelineAction>>;

// `chunks` stages a rank: 1, or more with interleaved, which needs micro-batches in multiples of the ranks. On every
// stage backwards run in the order of micro-batches, whatever the schedule: gradients are added in one order, so that
// all schedules give the same bits. (GPipe's paper runs them from the last to the first, in the same time and memory.)
PipelineTable make_pipeline_schedule(PipelineSchedule schedule, int ranks, int micro_batches, int chunks);

// Whether the interleaved schedule takes so many micro-batches.
bool can_interleave(int micro_batches, int ranks);

// All forwards, stage by stage, then all backwards: for any number of micro-batches and chunks, as where the last batch of an
// epoch is too small for the interleaved schedule.
PipelineTable make_plain_schedule(int ranks, int micro_batches, int chunks);

// The action whose output this one reads: forward reads the stage before, backward the stage behind, and the last
// stage's backward its own forward. None for the first stage's forward. Where it lies on another rank, it is sent.
std::optional<PipelineAction> input_of(const PipelineAction& action, int stages);

// The action that reads this one's output: none for the first stage's backward.
std::optional<PipelineAction> reader_of(const PipelineAction& action, int stages);

// Numbers the actions of a step from 0 to 2 * stages * micro_batches - 1.
size_t index_of(const PipelineAction& action, int micro_batches);

// Throws INTERNAL, naming rank and action, unless every stage runs every micro-batch once forward and behind that once
// backward, on the rank where it lies. Whether the ranks' orders fit together is for simulate_pipeline to say.
void verify_pipeline_schedule(const PipelineTable& table, int micro_batches, int chunks);

// "B3 of stage 2", for messages.
std::string name_of(const PipelineAction& action);

// One line a rank: "rank 0: F0 F1 B0 B1"; with the stage where a rank has several: "rank 0: F0@0 F1@0 F0@2 ...".
std::string print_pipeline_schedule(const PipelineTable& table);

}  // namespace troika
