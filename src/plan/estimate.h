// Estimates a training step on a mesh of devices that need not exist: bytes, bubble and time, from
// the graphs of the ranks.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "plan/graph_cost.h"
#include "plan/step_spec.h"

namespace troika {

class StateTable;
class StepLayout;
struct CompileRequest;

// A step to plan: the options of a trainer, and the samples of all devices together.
struct PlannedStep : StepSpec {
  int64_t batch = 0;
};

// Estimated for the most loaded device of each stage: rank 0 of the data group and of the channel
// group, which get the remainders.
struct DeviceEstimate {
  // As the state table lays them out, in plain layouts. If optimizer state is sharded: the largest
  // share.
  size_t parameter_bytes = 0, gradient_bytes = 0, optimizer_bytes = 0;
  // The arena by the lifetimes of values, without scratch, reorders and in-place kernels; or that
  // of a device.
  size_t activation_bytes = 0;
  // Bytes sent in a step.
  // - To the data group: 2 (n - 1) / n of each gradient, as a ring of n devices does, and, if the
  //   optimizer is sharded, updated parameters to each other device of the group.
  // - To the channel group: 2 (n - 1) / n of each sum.
  // - To the pipeline: whole messages.
  size_t data_bytes = 0, layer_bytes = 0, channel_bytes = 0;

  size_t memory_bytes() const { return parameter_bytes + gradient_bytes + optimizer_bytes + activation_bytes; }
  size_t sent_bytes() const { return data_bytes + layer_bytes + channel_bytes; }
};

// Returns the arena of a step, which is compiled for a device. This takes time.
using ArenaOf = std::function<size_t(const CompileRequest& request, StateTable& state)>;

struct MeshEstimate {
  Mesh mesh;
  std::vector<DeviceEstimate> devices;  // one per position of the pipeline
  // As simulate_pipeline computes it, 0 to 1. A stage takes the time of its nodes and channel sums
  // for the largest micro-batch, and of adding its gradients if there are several micro-batches.
  double bubble = 0;
  // The time of the latest device. It is the sum of four times:
  // - until simulate_pipeline ends the device's last backward;
  // - the rest of its buckets' sums, which begin when the backward pass has made their last
  //   gradient, and run one after another;
  // - the update;
  // - the messages with parameters.
  double seconds = 0;

  const DeviceEstimate& fullest() const;  // the one that takes most memory
  size_t sent_bytes() const;              // of the device that sends most
};

// Returns the layout of the step that is estimated. Throws what attaching throws if the mesh is
// refused. The model must outlive the layout.
StepLayout planned_layout(const Graph& model, const PlannedStep& step, const Machine& machine, const Mesh& mesh);

// Returns the request that is estimated for a position of the pipeline: that of the largest share's
// first channel. The layout must outlive the request.
CompileRequest planned_request(const StepLayout& layout, int64_t batch, int position);

// Throws what attaching throws if the mesh is refused. With `arena_of`, activations take what a
// device needs.
MeshEstimate estimate_mesh(const Graph& model, const PlannedStep& step, const Machine& machine, const Mesh& mesh,
                           const ArenaOf& arena_of = {});

// Returns the fastest mesh of all the machine's devices that fits their memory; of equally fast
// meshes, the first of meshes_of. Throws NOT_FOUND if no mesh fits, with the least memory that a
// mesh needs.
MeshEstimate choose_mesh(const Graph& model, const PlannedStep& step, const Machine& machine,
                         const ArenaOf& arena_of = {});

}  // namespace troika
