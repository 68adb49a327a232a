// Capturing a stream, and running the graph that comes of it.
#include "backends/cuda/graph_recording.h"

#include <array>
#include <utility>

#include "backends/cuda/capture_order.h"
#include "backends/cuda/check.h"
#include "backends/cuda/early_starts.h"
#include "backends/cuda/gpu_object.h"
#include "backends/cuda/trial_runs.h"
#include "core/text.h"

namespace troika::cuda {
namespace {

using Graph = GpuObject<cudaGraph_t, cudaGraphDestroy>;
using ExecutableGraph = GpuObject<cudaGraphExec_t, cudaGraphExecDestroy>;

// A stream that keeps what is launched on it for a graph, until take() or the end of this object.
class Capture {
 public:
  Capture(ContextPtr context, cudaStream_t stream, const std::string& what)
      : context_(std::move(context)), stream_(stream), what_(what) {
    check(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal), what_);
  }
  ~Capture() {
    if (!is_open_) return;
    end();
    cudaGetLastError();  // of the capture, not of the next launch
  }
  Capture(const Capture&) = delete;
  Capture& operator=(const Capture&) = delete;

  Graph take() {
    check(end(), what_);
    return std::move(graph_);
  }

 private:
  cudaError_t end() {
    is_open_ = false;
    cudaGraph_t graph = nullptr;
    const cudaError_t status = cudaStreamEndCapture(stream_, &graph);
    graph_ = Graph(graph, {context_});
    return status;
  }

  const ContextPtr context_;
  const cudaStream_t stream_;
  const std::string& what_;
  bool is_open_ = true;
  Graph graph_;
};

// Its addresses are those of the capture.
class GraphRecording : public Recording {
 public:
  GraphRecording(ExecutableGraph graph, cudaStream_t stream) : graph_(std::move(graph)), stream_(stream) {}
  void run() override { check_launch(cudaGraphLaunch(graph_.get(), stream_)); }

 private:
  const ExecutableGraph graph_;
  const cudaStream_t stream_;
};

// The same as two graphs. In the second, `kernels` kernels may start early.
class TwoGraphRecording : public Recording {
 public:
  TwoGraphRecording(ExecutableGraph plain, ExecutableGraph early, int kernels, TrialRuns trial, cudaStream_t stream)
      : graphs_{std::move(plain), std::move(early)}, kernels_(kernels), trial_(std::move(trial)), stream_(stream) {}

  void run() override {
    trial_.run([&](size_t form) { check_launch(cudaGraphLaunch(graphs_[form].get(), stream_)); });
  }

  std::string note() const override {
    const std::string kernels = text(kernels_, " start early, ");
    if (!trial_.faster()) return kernels + "not yet measured";
    return text(kernels, 1e3 * trial_.milliseconds(1), " us; without, ", 1e3 * trial_.milliseconds(0), " us",
                *trial_.faster() ? "" : ", and faster");
  }

 private:
  const std::array<ExecutableGraph, 2> graphs_;
  const int kernels_;
  TrialRuns trial_;
  const cudaStream_t stream_;
};

ExecutableGraph instantiate(const ContextPtr& context, const Graph& graph, const std::string& what) {
  return create_on<ExecutableGraph>(context, what,
                                    [&](cudaGraphExec_t* made) { return cudaGraphInstantiate(made, graph.get(), 0); });
}

}  // namespace

std::unique_ptr<Recording> record_graph(const ContextPtr& context, cudaStream_t stream, const LaunchOrder& order,
                                        const std::function<void(size_t)>& launch, bool tries_early_starts,
                                        const std::string& what) {
  Capture capture(context, stream, what);
  CaptureOrder capture_order(stream, order, what);
  for (size_t i = 0; i < order.size(); ++i) {
    capture_order.begin(i);
    launch(i);
    capture_order.end(i);
  }
  const Graph graph = capture.take();
  hold_back_libraries(graph.get(), what);
  ExecutableGraph plain = instantiate(context, graph, what);
  if (tries_early_starts) try {
      if (const int kernels = let_kernels_start_early(graph.get(), what); kernels > 0) {
        ExecutableGraph early = instantiate(context, graph, what);
        return std::make_unique<TwoGraphRecording>(std::move(plain), std::move(early), kernels,
                                                   TrialRuns(context, stream, what), stream);
      }
    } catch (const Error&) {
      // It is not needed: the plain graph has the same results.
    }
  return std::make_unique<GraphRecording>(std::move(plain), stream);
}

}  // namespace troika::cuda
