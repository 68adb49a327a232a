// A node's operands as the tensors of a problem whose ways are measured.
#pragma once

#include <array>

#include "backends/cuda/kernels.h"

namespace troika::cuda {

// A node's inputs and outputs as the tensors of a problem, in this order, without absent ones.
class NodeTensors {
 public:
  static constexpr size_t kMost = 20;

  explicit NodeTensors(const KernelRequest& request);
  std::vector<TensorType> types(const KernelRequest& request) const;
  size_t place_of_input(size_t i) const { return places_[i]; }
  size_t place_of_output(size_t i) const { return first_output_ + i; }

  std::array<void*, kMost> of(const Arguments& arguments) const;
  // The arguments of a run from its tensors, after which there is scratch.
  void restore(void* const* tensors, Arguments& arguments) const;

 private:
  std::vector<size_t> places_;  // of inputs; kAbsent
  size_t first_output_ = 0, outputs_;
};

}  // namespace troika::cuda
