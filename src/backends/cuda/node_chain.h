// Kernels of several nodes that together compute one node: a way next to a kernel for all of them.
#pragma once

#include <vector>

#include "backends/cuda/kernels.h"

namespace troika::cuda {

class NodeChain {
 public:
  // Chooses a kernel for each node of the graph, on plain tensors. `ends`: the values that are the
  // tensors of a launch, in this order. INTERNAL if a kernel wants another layout.
  NodeChain(CudaDevice& device, const Graph& graph, const std::vector<ValueId>& ends);

  size_t scratch_bytes() const { return scratch_bytes_; }
  const std::vector<LogLine>& notes() const { return notes_; }  // on the choices
  // Launches on the device's stream. From one thread at a time.
  void launch(void* const* tensors, void* scratch);

 private:
  // A value that a kernel reads or writes.
  struct Place {
    enum { absent, tensor, scratch } kind;
    size_t at;  // which tensor, or the offset in scratch
  };
  struct Step {
    std::unique_ptr<Kernel> kernel;
    std::vector<Place> inputs, outputs;
    std::vector<void*> input_addresses, output_addresses;  // of a launch
  };

  std::vector<Step> steps_;
  size_t own_scratch_ = 0, scratch_bytes_ = 0;  // own_scratch_: the first byte of the kernels' own
  std::vector<LogLine> notes_;
};

}  // namespace troika::cuda
