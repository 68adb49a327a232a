// Memory, copies, recording and kernel choice of a GPU.
#include "backends/cuda/cuda_device.h"

#include "backends/cuda/capture_order.h"
#include "backends/cuda/kernels.h"
#include "backends/cuda/pinned_readback.h"
#include "backends/cuda/plan_cache.h"
#include "backends/cuda/ranged_kernel.h"
#include "backends/kernel_list.h"

namespace troika::cuda {

CudaDevice::CudaDevice(int index, PlanOnly) : index_(index), plans_(std::make_shared<PlanCache>()) {}

CudaDevice::CudaDevice(int index, std::shared_ptr<PlanCache> plans)
    : index_(index), context_(std::make_shared<PrimaryContext>(index)), plans_(std::move(plans)) {
  const ContextGuard guard(*context_);
  const std::string what = text("device ", id());
  check(cudaDeviceGetAttribute(&multiprocessors_, cudaDevAttrMultiProcessorCount, index), what);
  check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), what);
  check(cudnnCreate(&cudnn_), what);
  check(cudnnSetStream(cudnn_, stream_), what);
  check(cublasLtCreate(&cublas_), what);
  staging_ = std::make_unique<Staging>(stream_, what);
}

CudaDevice::~CudaDevice() {
  if (is_plan_only()) return;
  try {
    const ContextGuard guard(*context_);
    if (stream_) cudaStreamSynchronize(stream_);
    staging_.reset();
    if (cublas_) cublasLtDestroy(cublas_);
    if (cudnn_) cudnnDestroy(cudnn_);
    if (stream_) cudaStreamDestroy(stream_);
  } catch (const Error&) {  // the driver is gone, and everything with it
  }
}

Buffer CudaDevice::allocate(size_t bytes, const std::string& purpose) {
  if (is_plan_only()) throw Error(Status::device_unavailable, text("device ", id(), " is only planned for"));
  const ContextGuard guard(*context_);
  void* memory = nullptr;
  const cudaError_t status = cudaMalloc(&memory, std::max<size_t>(bytes, 1));
  if (status == cudaErrorMemoryAllocation) {
    cudaGetLastError();
    size_t free = 0, total = 0;
    cudaMemGetInfo(&free, &total);
    throw Error(Status::out_of_memory,
                text("device ", id(), ": ", purpose, " needs ", bytes, " bytes, ", free, " of ", total, " are free"));
  }
  check(status, text("device ", id(), ": ", purpose));
  Buffer buffer(static_cast<std::byte*>(memory), [context = context_](std::byte* p) {
    if (!p) return;
    try {
      const ContextGuard inside(*context);
      cudaFree(p);
    } catch (const Error&) {  // the driver is gone
    }
  });
  check(cudaMemsetAsync(memory, 0, std::max<size_t>(bytes, 1), stream_), text("device ", id(), ": ", purpose));
  check(cudaStreamSynchronize(stream_), text("device ", id(), ": ", purpose));
  return buffer;
}

void CudaDevice::copy_from_host(void* destination, const void* source, size_t bytes) {
  const ContextGuard guard(*context_);
  staging_->to_device(destination, source, bytes);
}

void CudaDevice::copy_to_host(void* destination, const void* source, size_t bytes) {
  const ContextGuard guard(*context_);
  staging_->to_host(destination, source, bytes);
}

void CudaDevice::finish() {
  const ContextGuard guard(*context_);
  staging_->finish();
}

void CudaDevice::copy(void* destination, const void* source, size_t bytes) {
  check_launch(cudaMemcpyAsync(destination, source, bytes, cudaMemcpyDeviceToDevice, stream_));
}

// The worker's thread is ours, so its current device may stay as it is set.
void CudaDevice::enter_thread() {
  if (!is_plan_only()) check(cudaSetDevice(index_), text("device ", id()));
}

std::unique_ptr<Readback> CudaDevice::create_readback(size_t capacity) {
  return std::make_unique<PinnedReadback>(context_, stream_, capacity);
}

// Half of what is left, since plans may grow.
size_t CudaDevice::room_for_samples() const {
  const ContextGuard guard(*context_);
  size_t free = 0, total = 0;
  check(cudaMemGetInfo(&free, &total), text("device ", id()));
  return free / 2;
}

namespace {

// A captured run of launches. Its addresses are those of the capture.
class GraphRecording : public Recording {
 public:
  GraphRecording(std::shared_ptr<PrimaryContext> context, cudaGraphExec_t graph, cudaStream_t stream)
      : context_(std::move(context)), graph_(graph), stream_(stream) {}
  ~GraphRecording() override {
    try {
      const ContextGuard guard(*context_);
      cudaGraphExecDestroy(graph_);
    } catch (const Error&) {  // the driver is gone
    }
  }
  void run() override { check_launch(cudaGraphLaunch(graph_, stream_)); }

 private:
  const std::shared_ptr<PrimaryContext> context_;
  const cudaGraphExec_t graph_;
  const cudaStream_t stream_;
};

}  // namespace

std::unique_ptr<Recording> CudaDevice::record(const LaunchOrder& order, const std::function<void(size_t)>& launch) {
  const std::string what = text("device ", id(), ": recording a plan");
  check(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal), what);
  cudaGraph_t graph = nullptr;
  try {
    CaptureOrder capture(stream_, order, what);
    for (size_t i = 0; i < order.size(); ++i) {
      capture.begin(i);
      launch(i);
      capture.end(i);
    }
  } catch (...) {
    cudaStreamEndCapture(stream_, &graph);
    if (graph) cudaGraphDestroy(graph);
    cudaGetLastError();  // of the capture, not of the next launch
    throw;
  }
  check(cudaStreamEndCapture(stream_, &graph), what);
  cudaGraphExec_t executable = nullptr;
  const cudaError_t status = cudaGraphInstantiate(&executable, graph, 0);
  cudaGraphDestroy(graph);
  check(status, what);
  return std::make_unique<GraphRecording>(context_, executable, stream_);
}

namespace {

// A line of kernels.def for which GPUs have a kernel.
struct Entry {
  std::string_view op;
  KernelChoice (*select)(CudaDevice&, const KernelRequest&);
};

// `if constexpr`: without a kernel there is no select_<op> to name.
std::vector<Entry> list_kernels() {
  std::vector<Entry> entries;
#define TROIKA_KERNEL(op, cpu, cuda) \
  if constexpr (CudaKernel::cuda != CudaKernel::none) entries.push_back({#op, select_##op});
#include "backends/kernels.def"
#undef TROIKA_KERNEL
  return entries;
}

}  // namespace

KernelChoice CudaDevice::select(const KernelRequest& request) {
  static const std::vector<Entry> kernels = list_kernels();
  for (const Entry& entry : kernels)
    if (entry.op == name_of(*request.node.op)) {
      KernelChoice choice = entry.select(*this, request);
      choice.kernel =
          std::make_unique<RangedKernel>(std::move(choice.kernel), text(request.node.name, ' ', request.node.op));
      return choice;
    }
  throw Error(Status::unsupported,
              text(request.node.op, " '", request.node.name, "': device ", id(), " has no kernel for it"));
}

}  // namespace troika::cuda
