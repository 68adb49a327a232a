// A node that can be computed in several ways, by cuDNN, cuBLASLt and own kernels: the fastest is
// found once and run.
#pragma once

#include <span>

#include "backends/cuda/cudnn_plan.h"

namespace troika::cuda {

// Launches kernels of a way.
using LaunchWay = std::function<void(void* const* tensors, cudaStream_t)>;

// An image that a way's kernels have in place of one of the problem's tensors, which has another
// size.
struct StandIn {
  using Copy = std::function<void(void* const* tensors, void* image, cudaStream_t)>;
  size_t place;      // of the tensor
  size_t bytes;      // of the image
  Copy before = {};  // makes the image from the tensors; empty: the way writes the image
  Copy after = {};   // makes tensors from the image; empty: none
};

// cuDNN's graph, other kernels, or the one and then the others.
struct Way {
  std::string name;          // unlike that of the problem's other ways; empty: cuDNN's plain way
  DescribeGraph describe;    // empty: other kernels alone
  LaunchWay launch = {};     // empty: no other kernels
  size_t scratch_bytes = 0;  // of one more tensor, after the problem's tensors
  double handicap = 1;       // times this in comparisons: what is less exact must be clearly faster
  // Whether its result is first compared with that of the ways before. A way that differs is struck
  // out: a wrong kernel costs speed alone.
  bool must_prove = false;
  bool is_last_resort = false;  // tried only if no way before it runs
  const char* maker = "own";    // of the kernels that `launch` launches, if there is no graph
  std::optional<StandIn> stand_in = {};
};

// A tensor that a way writes, and how its result is judged.
struct Output {
  size_t place;  // among the problem's tensors
  // Returns how the result differs from the expected one; empty: only by rounding. Both are of f32,
  // f64, i64 or bytes, as numbers. None: the norms of difference.h decide.
  std::function<std::string(const std::vector<float>& found, const std::vector<float>& expected)> compare = {};
  double unit = 1.0 / 256;  // of the norms: one of the last place of bf16
};

struct Problem {
  std::string what;                 // begins messages: "conv2d 'stem' on cuda:0"
  std::string text;                 // op, types, shapes, settings: under which it is remembered
  std::string plain = {};           // without what other kernels add: its best engine is the same; empty: the text
  std::vector<TensorType> tensors;  // the node's, which have the ids 1 and on
  std::vector<Output> outputs;      // of those that are written
  LaunchWay prepare = {};           // after the noise: makes inputs that belong together; empty: none
  bool tensor_cores = true;         // f32 may be rounded to TF32
};

class FastestWay {
 public:
  // Takes the way that device.plans() remembers, else measures the ways now, on memory of its own.
  // If the best way without own kernels is remembered, only this way and own kernels are measured.
  // A single way without a graph is taken as it is, before last resorts. UNSUPPORTED if no way is
  // possible. On a device for planning only, nothing is measured, and nothing can run: the first
  // way is named, and has its scratch.
  FastestWay(CudaDevice& device, const Problem& problem, std::vector<Way> ways);

  // Returns what device.plans() remembers for the problem: the name of a way without a graph, an
  // engine, or "NAME:ENGINE".
  static std::optional<std::string> remembered(const CudaDevice& device, const Problem& problem, std::vector<Way> ways);

  // Lines for the log: the times of all ways, and the ways that were struck out.
  const std::vector<LogLine>& notes() const { return notes_; }
  // "cuda:cudnn:eng52_k2=3_k24=0", "cuda:own:direct", "cuda:cublaslt:algo66".
  std::string kernel_name() const;
  size_t scratch_bytes() const;

  // The node's tensors, as Problem counts them.
  void run(std::span<void* const> tensors, void* scratch, cudaStream_t stream);

 private:
  FastestWay() = default;
  bool recall(CudaDevice& device, const Problem& problem, const std::vector<Way>& ways, const std::string& place);
  void measure(CudaDevice& device, const Problem& problem, const std::vector<Way>& ways);
  void launch(void* scratch, cudaStream_t stream);
  bool is_large() const;  // wants much workspace

  Way way_;
  std::optional<CudnnPlan> plan_;
  std::vector<void*> tensors_;  // of a run; the way's own comes last
  std::vector<LogLine> notes_;
};

}  // namespace troika::cuda
