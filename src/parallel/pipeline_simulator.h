// Simulates a pipeline schedule without a device: its time, its bubble, its memory, and whether it
// deadlocks.
#pragma once

#include <cstddef>
#include <vector>

#include "parallel/pipeline_schedule.h"

namespace troika {

// The cost of one stage per micro-batch. All times have one unit, whichever it is.
struct StageCost {
  double forward = 1, backward = 1;
  double transfer = 0;          // of its output to the next stage's rank, and of that output's gradient back
  size_t activation_bytes = 0;  // kept from its forward to its backward
};

// An asynchronous send returns at once, and the data wait for a receiver that comes later. A
// blocking send holds its rank until the receiver has reached the action that reads the data, and
// the transfer is over (rendezvous).
enum class SendMode { asynchronous, blocking };

struct PipelineSimulation {
  double total = 0;          // from the start of the first action to the end of the last
  double bubble = 0;         // the idle share of ranks * total: 0 to 1
  std::vector<double> busy;  // per rank: its time in forwards and backwards
  // Per rank: the largest number of forwards (of a micro-batch through a stage) whose backward has
  // not ended, and the most bytes that such forwards keep.
  std::vector<int> peak_activations;
  std::vector<size_t> peak_activation_bytes;
  std::vector<std::vector<double>> starts;  // when each action of the table begins
  int messages = 0;                         // from rank to rank
};

// Each rank runs its own list, and starts an action as soon as its input has arrived. `stages` has
// one cost per stage. Throws INTERNAL if the table is malformed (verify_pipeline_schedule), or if
// it deadlocks: then the message names the ranks that wait for each other, their actions and
// inputs.
PipelineSimulation simulate_pipeline(const PipelineTable& table, int micro_batches,
                                     const std::vector<StageCost>& stages, SendMode sends = SendMode::asynchronous);

}  // namespace troika
