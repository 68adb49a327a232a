// Memory, copies, recording and kernel choice of a GPU.
#include "backends/cuda/cuda_device.h"

#include <climits>

#include "backends/cuda/graph_recording.h"
#include "backends/cuda/hopper/ways.h"
#include "backends/cuda/kernels.h"
#include "backends/cuda/launch_clock.h"
#include "backends/cuda/linear_cross_entropy.h"
#include "backends/cuda/pinned_readback.h"
#include "backends/cuda/plan_cache.h"
#include "backends/cuda/ranged_kernel.h"
#include "backends/cuda/rounded_gradient.h"
#include "backends/cuda/small_ways.h"
#include "backends/cuda/stem_conv2d.h"
#include "backends/cuda/stem_mma.h"
#include "backends/cuda/stem_ways.h"
#include "backends/kernel_list.h"
#include "core/text.h"
#include "ops/batch_norm2d.h"
#include "ops/op_def.h"
#include "ops/products.h"

namespace troika::cuda {

cudaStream_t stream_of(const CudaDevice& device) { return device.stream(); }

CudaDevice::CudaDevice(int index, PlanOnly) : index_(index), plans_(std::make_shared<PlanCache>()) {}

CudaDevice::CudaDevice(int index, std::shared_ptr<PlanCache> plans, const BackendSettings& settings)
    : index_(index),
      has_own_kernels_(settings.has_own_kernels),
      compares_ways_(settings.compares_ways),
      context_(std::make_shared<PrimaryContext>(index)),
      plans_(std::move(plans)) {
  const ContextGuard guard(*context_);
  const std::string what = text("device ", id());
  check(cudaDeviceGetAttribute(&multiprocessors_, cudaDevAttrMultiProcessorCount, index), what);
  check(cudaDeviceGetAttribute(&shared_bytes_, cudaDevAttrMaxSharedMemoryPerBlockOptin, index), what);
  int major = 0, minor = 0;
  check(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, index), what);
  check(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, index), what);
  is_hopper_ = major == 9 && minor == 0;
  starts_early_ = major >= 9;
  stream_ = create_stream(context_, what);
  cudnn_ = create_cudnn_handle(context_, stream(), what);
  cublas_ = create_cublaslt_handle(context_, what);
  staging_ = std::make_unique<Staging>(context_, stream(), what);
}

CudaDevice::~CudaDevice() {
  if (is_plan_only()) return;
  // Copies may still use the staging memory.
  end_on(context_, [&] { cudaStreamSynchronize(stream()); });
}

Buffer CudaDevice::allocate(size_t bytes, const std::string& purpose) {
  if (is_plan_only()) throw Error(Status::device_unavailable, text("device ", id(), " is only planned for"));
  const ContextGuard guard(*context_);
  Buffer buffer(nullptr, DestroyOnGpu<cudaFree>{context_});
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
  buffer.reset(static_cast<std::byte*>(memory));
  check(cudaMemsetAsync(memory, 0, std::max<size_t>(bytes, 1), stream()), text("device ", id(), ": ", purpose));
  check(cudaStreamSynchronize(stream()), text("device ", id(), ": ", purpose));
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

void CudaDevice::synchronize() {
  const ContextGuard guard(*context_);
  check(cudaStreamSynchronize(stream()), text("device ", id()));
}

void CudaDevice::copy(void* destination, const void* source, size_t bytes) {
  check_launch(cudaMemcpyAsync(destination, source, bytes, cudaMemcpyDeviceToDevice, stream()));
}

// The worker's thread is ours, so its current device may stay as it is set.
void CudaDevice::enter_thread() {
  if (!is_plan_only()) check(cudaSetDevice(index_), text("device ", id()));
}

// Another thread's current device is the host's.
int CudaDevice::borrow_thread() {
  if (!is_plan_only()) push_context(*context_);
  return 0;
}

void CudaDevice::return_thread(int) {
  if (!is_plan_only()) pop_context();
}

std::unique_ptr<Readback> CudaDevice::create_readback(size_t capacity) {
  return std::make_unique<PinnedReadback>(context_, stream(), capacity);
}

// Half of what is left, since plans may grow.
size_t CudaDevice::room_for_samples() const {
  const ContextGuard guard(*context_);
  size_t free = 0, total = 0;
  check(cudaMemGetInfo(&free, &total), text("device ", id()));
  return free / 2;
}

std::unique_ptr<Recording> CudaDevice::record(const LaunchOrder& order, const std::function<void(size_t)>& launch) {
  return record_graph(context_, stream(), order, launch, has_own_kernels_ && starts_early_,
                      text("device ", id(), ": recording a plan"));
}

std::unique_ptr<LaunchClock> CudaDevice::create_clock(size_t steps) {
  return std::make_unique<GpuLaunchClock>(context_, stream(), steps, text("device ", id(), ": timing steps"));
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

int64_t CudaDevice::rows_of_sums(const Graph& graph, const Node& node) const {
  if (!has_own_kernels_) return 0;
  // By name: the plug-in has its own copy of the table of ops.
  const bool is_gradient = node.op->name == conv2d_input_gradient_op.name;
  const TensorType &x = graph.type(is_gradient ? node.outputs[0] : node.inputs[product::x]),
                   &y = graph.type(is_gradient ? node.inputs[input_gradient::dy] : node.outputs[0]);
  const Convolution v = Convolution::of(node, x.shape, y.shape);
  if (is_gradient) return hopper::input_gradient_rows_of_sums(*this, x.dtype, v);
  if (const int64_t rows = hopper::conv2d_rows_of_sums(*this, x.dtype, v)) return rows;
  return stem_rows_of_sums(*this, x.dtype, v);
}

bool CudaDevice::fuses_loss(const Graph& graph, const Node& linear) const {
  return has_own_kernels_ &&
         takes_linear_cross_entropy(graph.type(linear.inputs[product::x]), graph.type(linear.inputs[product::weight]));
}

// A byte of the mask is for the elements that a thread has at once.
bool CudaDevice::has_relu_mask(const Graph& graph, const Node& node) const {
  const TensorType& x = graph.type(node.inputs[batch_norm2d::x]);
  return size_of(x.dtype) == 2 && x.shape[1] % 8 == 0;
}

bool CudaDevice::normalizes_input(const Graph& graph, const Node& conv2d) const {
  const TensorType &x = graph.type(conv2d.inputs[product::x]), &y = graph.type(conv2d.outputs[product::y]);
  return has_own_kernels_ && hopper::normalizes_input(*this, x.dtype, Convolution::of(conv2d, x.shape, y.shape));
}

bool CudaDevice::adds_without_gaps(const Graph& graph, const Node& node, int64_t stride) const {
  if (node.op->name == conv2d_input_gradient_op.name) {
    const TensorType &dx = graph.type(node.outputs[0]), &dy = graph.type(node.inputs[input_gradient::dy]);
    return hopper::adds_without_gaps(*this, dx.dtype, Convolution::of(node, dx.shape, dy.shape), stride);
  }
  const Shape& x = graph.type(node.inputs[batch_norm2d_gradient::x]).shape;
  return x.elements() / x[1] <= INT_MAX;  // pixels, which the kernel counts
}

bool CudaDevice::fuses_pool(const Graph& graph, const Node& conv2d, const Node&) const {
  const TensorType &x = graph.type(conv2d.inputs[product::x]), &y = graph.type(conv2d.outputs[product::y]);
  if (!has_own_kernels_ || (x.dtype == DType::f32 && !conv2d.attributes.flag("tf32"))) return false;
  const Convolution v = Convolution::of(conv2d, x.shape, y.shape);
  if (is_stem(v)) return takes_stem_mma(x.dtype, v);
  return !hopper::conv2d_rows_of_sums(*this, x.dtype, v) && has_small_ways(*this, x.dtype, v);
}

bool CudaDevice::rounds_gradient(const Graph& graph, const Node& node, std::vector<LogLine>& notes) {
  return rounds_weight_gradient(*this, graph, node, notes);
}

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
