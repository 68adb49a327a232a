// What a training step takes on a mesh of devices that need not be there: bytes, bubble and time, from the graphs of its ranks.
#pragma once

#include <string>
#include <vector>

#include "plan/graph_cost.h"
#include "plan/step_spec.h"

namespace troika {

// A step to plan: what a trainer would be asked for, and the samples of all devices together.
struct PlannedStep : StepSpec {
  int64_t batch = 0;
};

// Estimated for the most loaded device of each stage: rank 0 of the data group and of the channel
// group, which get the remainders.
struct DeviceEstimate {
  // As the state table lays them out, in plain layouts; of sharded optimizer state the largest share.
  size_t parameter_bytes = 0, gradient_bytes = 0, optimizer_bytes = 0;
  size_t activation_bytes = 0;  // the arena by the lifetimes of values, without scratch, reorders and in-place kernels
  // Sent in a step: 2 (n - 1) / n of each gradient to the data group and of each sum to the channel group, n devices each, as a ring
  // does; messages to the pipeline whole; updated parameters, where the optimizer is sharded, to each other of the data group.
  size_t data_bytes = 0, layer_bytes = 0, channel_bytes = 0;

  size_t memory_bytes() const { return parameter_bytes + gradient_bytes + optimizer_bytes + activation_bytes; }
  size_t sent_bytes() const { return data_bytes + layer_bytes + channel_bytes; }
};

struct MeshEstimate {
  Mesh mesh;
  std::vector<DeviceEstimate> devices;  // one for each place of the pipeline
  // Of simulate_pipeline, 0 to 1; a stage takes as long as its nodes and channel sums for the largest micro-batch, and the
  // addition of its gradients where there are several.
  double bubble = 0;
  // The latest device: when simulate_pipeline ends its last backward, then what is left of its buckets' sums, which begin where
  // the backward pass makes their last gradient and run one behind the other, then the update, and the messages with parameters.
  double seconds = 0;

  const DeviceEstimate& fullest() const;  // takes most memory
  size_t sent_bytes() const;              // of the device that sends most
};

// Throws what attaching throws where the mesh cannot work.
MeshEstimate estimate_mesh(const Graph& model, const PlannedStep& step, const Machine& machine, const Mesh& mesh);

// The fastest mesh of all the machine's devices that fits their memory, of equally fast ones the first of meshes_of. Throws
// NOT_FOUND where none fits, with the least that one needs.
MeshEstimate choose_mesh(const Graph& model, const PlannedStep& step, const Machine& machine);

}  // namespace troika
