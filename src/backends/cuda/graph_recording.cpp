// Capturing a stream, and running the graph that comes of it.
#include "backends/cuda/graph_recording.h"

#include <utility>

#include "backends/cuda/capture_order.h"
#include "backends/cuda/check.h"
#include "backends/cuda/gpu_object.h"

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

}  // namespace

std::unique_ptr<Recording> record_graph(const ContextPtr& context, cudaStream_t stream, const LaunchOrder& order,
                                        const std::function<void(size_t)>& launch, const std::string& what) {
  Capture capture(context, stream, what);
  CaptureOrder capture_order(stream, order, what);
  for (size_t i = 0; i < order.size(); ++i) {
    capture_order.begin(i);
    launch(i);
    capture_order.end(i);
  }
  const Graph graph = capture.take();
  return std::make_unique<GraphRecording>(
      create_on<ExecutableGraph>(context, what,
                                 [&](cudaGraphExec_t* made) { return cudaGraphInstantiate(made, graph.get(), 0); }),
      stream);
}

}  // namespace troika::cuda
