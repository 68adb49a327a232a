// A node that can be computed in several ways, by cuDNN and by own kernels: the fastest is found
// once and run.
#pragma once

#include <initializer_list>

#include "backends/cuda/cudnn_plan.h"

namespace troika::cuda {

// cuDNN's graph, own kernels, or the one and then the others.
struct Way {
  std::string name;        // unlike that of the problem's other ways; empty: cuDNN's plain way
  DescribeGraph describe;  // empty: own kernels alone
  // Launches own kernels; empty: none.
  std::function<void(void* const* tensors, cudaStream_t)> launch = {};
  size_t scratch_bytes = 0;     // of one more tensor, after the problem's tensors
  double handicap = 1;          // times this in comparisons: what is less exact must be clearly faster
  bool is_last_resort = false;  // tried only if no way before it runs
};

struct Problem {
  std::string what;                  // begins messages: "conv2d 'stem' on cuda:0"
  std::string text;                  // op, types, shapes, settings: the problem's place among the remembered
  std::vector<size_t> tensor_bytes;  // of the node's tensors, which have the ids 1 and on
  bool tensor_cores = true;          // f32 may be rounded to TF32
};

class FastestWay {
 public:
  // Takes the way that device.plans() remembers, else measures the ways now, on memory of its own.
  // UNSUPPORTED if no way is possible. On a device for planning only, nothing is measured, and
  // nothing can run.
  FastestWay(CudaDevice& device, const Problem& problem, const std::vector<Way>& ways);

  std::string kernel_name() const;  // "cuda:cudnn:eng52_k2=3_k24=0", "cuda:own:direct"
  size_t scratch_bytes() const;

  // The node's tensors, as Problem counts them.
  void run(std::initializer_list<void*> tensors, void* scratch, cudaStream_t stream);

 private:
  FastestWay() = default;
  bool recall(CudaDevice& device, const Problem& problem, const std::vector<Way>& ways);
  void measure(CudaDevice& device, const Problem& problem, const std::vector<Way>& ways);
  void launch(void* scratch, cudaStream_t stream);
  bool is_large() const;  // wants much workspace

  Way way_;
  std::optional<CudnnPlan> plan_;
  std::vector<void*> tensors_;  // of a run; the way's own comes last
};

}  // namespace troika::cuda
