// The parts of the CUDA runtime and of the driver's contexts that the plug-in uses. They refuse all
// calls that the real ones refuse.
#include <cuda.h>
#include <cuda_runtime_api.h>

#include <cstdlib>
#include <cstring>
#include <iterator>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "creations.h"
#include "kernel_faults.h"
#include "memory.h"
#include "streams.h"
#include "tensor_map.h"

namespace emulated_gpu {
namespace {

thread_local cudaError_t last_error = cudaSuccess;
thread_local int set_gpu = 0;  // by cudaSetDevice

// The driver's stack of contexts. It has no destructor, because static objects may use it after the
// thread's thread_local objects are destroyed.
struct PushedGpus {
  int gpus[64], count;
};
thread_local PushedGpus pushed;

cudaError_t remember(cudaError_t status) {
  if (status != cudaSuccess) last_error = status;
  return status;
}

std::mutex pinned_mutex;
// Host memory that a GPU can read and write by itself.
struct Pinned {
  size_t bytes;
  int gpu;  // the current GPU at allocation
};
std::map<const std::byte*, Pinned> pinned;
const LiveKind pinned_kind("pinned memory", [] {
  std::lock_guard lock(pinned_mutex);
  return pinned.size();
});

bool is_pinned(const void* address) {
  std::lock_guard lock(pinned_mutex);
  auto found = pinned.upper_bound(static_cast<const std::byte*>(address));
  if (found == pinned.begin()) return false;
  --found;
  return static_cast<const std::byte*>(address) < found->first + found->second.bytes;
}

}  // namespace

void set_last_error(cudaError_t status) { last_error = status; }

int current_gpu() { return pushed.count == 0 ? set_gpu : pushed.gpus[pushed.count - 1]; }

}  // namespace emulated_gpu

using namespace emulated_gpu;

struct CUctx_st {
  int gpu = 0;
  int holds = 0;
};

namespace {

CUctx_st* context_of(int gpu) {
  static std::vector<CUctx_st> contexts(static_cast<size_t>(gpu_count()));
  contexts[static_cast<size_t>(gpu)].gpu = gpu;
  return &contexts[static_cast<size_t>(gpu)];
}

std::mutex context_mutex;
const LiveKind holds_kind("holds on contexts", [] {
  std::lock_guard lock(context_mutex);
  size_t holds = 0;
  for (int gpu = 0; gpu < gpu_count(); ++gpu) holds += static_cast<size_t>(context_of(gpu)->holds);
  return holds;
});

CUresult get_device(CUdevice* device, int index) {
  if (index < 0 || index >= gpu_count()) return CUDA_ERROR_INVALID_DEVICE;
  *device = index;
  return CUDA_SUCCESS;
}

CUresult retain(CUcontext* context, CUdevice device) {
  if (must_fail("cuDevicePrimaryCtxRetain")) return CUDA_ERROR_OUT_OF_MEMORY;
  std::lock_guard lock(context_mutex);
  *context = context_of(device);
  ++(*context)->holds;
  return CUDA_SUCCESS;
}

CUresult release_context(CUdevice device) {
  std::lock_guard lock(context_mutex);
  CUctx_st* const context = context_of(device);
  if (context->holds == 0) return ended(CUDA_ERROR_INVALID_CONTEXT);
  --context->holds;
  return CUDA_SUCCESS;
}

CUresult push(CUcontext context) {
  if (!context) return CUDA_ERROR_INVALID_CONTEXT;
  {
    std::lock_guard lock(context_mutex);
    if (context->holds == 0) return CUDA_ERROR_CONTEXT_IS_DESTROYED;
  }
  if (pushed.count == static_cast<int>(std::size(pushed.gpus))) return CUDA_ERROR_INVALID_VALUE;
  pushed.gpus[pushed.count++] = context->gpu;
  return CUDA_SUCCESS;
}

CUresult pop(CUcontext* context) {
  if (pushed.count == 0) return CUDA_ERROR_INVALID_CONTEXT;
  *context = context_of(pushed.gpus[--pushed.count]);
  return CUDA_SUCCESS;
}

}  // namespace

#define EMULATED extern "C" __attribute__((visibility("default")))

EMULATED cudaError_t cudaGetLastError() { return std::exchange(last_error, cudaSuccess); }
EMULATED cudaError_t cudaPeekAtLastError() { return last_error; }
EMULATED const char* cudaGetErrorName(cudaError_t status) {
  switch (status) {
    case cudaSuccess: return "cudaSuccess";
    case cudaErrorNotReady: return "cudaErrorNotReady";
    case cudaErrorMemoryAllocation: return "cudaErrorMemoryAllocation";
    case cudaErrorInvalidValue: return "cudaErrorInvalidValue";
    case cudaErrorInvalidConfiguration: return "cudaErrorInvalidConfiguration";
    case cudaErrorInvalidResourceHandle: return "cudaErrorInvalidResourceHandle";
    case cudaErrorStreamCaptureInvalidated: return "cudaErrorStreamCaptureInvalidated";
    case cudaErrorStreamCaptureUnsupported: return "cudaErrorStreamCaptureUnsupported";
    default: return "cudaError";
  }
}
EMULATED const char* cudaGetErrorString(cudaError_t status) { return cudaGetErrorName(status); }

EMULATED cudaError_t cudaDriverGetVersion(int* version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}
EMULATED cudaError_t cudaRuntimeGetVersion(int* version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}

EMULATED cudaError_t cudaGetDeviceCount(int* count) {
  *count = gpu_count();
  return gpu_count() > 0 ? cudaSuccess : remember(cudaErrorNoDevice);
}

EMULATED cudaError_t cudaGetDevice(int* device) {
  *device = current_gpu();
  return cudaSuccess;
}

EMULATED cudaError_t cudaSetDevice(int device) {
  if (device < 0 || device >= gpu_count()) return remember(cudaErrorInvalidDevice);
  (pushed.count == 0 ? set_gpu : pushed.gpus[pushed.count - 1]) = device;
  return cudaSuccess;
}

EMULATED cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  if (device < 0 || device >= gpu_count()) return remember(cudaErrorInvalidDevice);
  *properties = {};
  std::strcpy(properties->name, "Emulated GPU");
  properties->totalGlobalMem = gpu_bytes();
  properties->major = 9;
  properties->multiProcessorCount = 132;
  return cudaSuccess;
}

EMULATED cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
  if (device < 0 || device >= gpu_count()) return remember(cudaErrorInvalidDevice);
  switch (attribute) {
    case cudaDevAttrMultiProcessorCount: *value = 132; return cudaSuccess;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin: *value = 227 << 10; return cudaSuccess;
    case cudaDevAttrComputeCapabilityMajor: *value = 9; return cudaSuccess;
    case cudaDevAttrComputeCapabilityMinor: *value = 0; return cudaSuccess;
    default: return remember(cudaErrorInvalidValue);
  }
}

// Only every second pair of GPUs can access each other's memory; copies work between all GPUs.
EMULATED cudaError_t cudaDeviceCanAccessPeer(int* can, int device, int peer) {
  if (device == peer || peer < 0 || peer >= gpu_count()) return remember(cudaErrorInvalidDevice);
  *can = device / 2 == peer / 2;
  return cudaSuccess;
}
EMULATED cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned) {
  static std::mutex mutex;
  static std::set<std::pair<int, int>> enabled;
  if (peer < 0 || peer >= gpu_count() || current_gpu() / 2 != peer / 2) return remember(cudaErrorPeerAccessUnsupported);
  std::lock_guard lock(mutex);
  return enabled.insert({current_gpu(), peer}).second ? cudaSuccess : remember(cudaErrorPeerAccessAlreadyEnabled);
}

EMULATED cudaError_t cudaMemGetInfo(size_t* free, size_t* total) {
  *free = free_bytes(current_gpu());
  *total = gpu_bytes();
  return cudaSuccess;
}

EMULATED cudaError_t cudaMalloc(void** memory, size_t bytes) {
  if (is_forbidden_by_capture()) return remember(cudaErrorStreamCaptureUnsupported);
  if (must_fail("cudaMalloc")) return remember(cudaErrorMemoryAllocation);
  *memory = allocate(current_gpu(), bytes);
  return *memory ? cudaSuccess : remember(cudaErrorMemoryAllocation);
}

EMULATED cudaError_t cudaFree(void* memory) {
  if (is_forbidden_by_capture()) return remember(cudaErrorStreamCaptureUnsupported);
  if (!memory) return cudaSuccess;
  const int gpu = gpu_of(memory);
  if (gpu < 0 || gpu != current_gpu()) return remember(ended(cudaErrorInvalidValue));
  drain(gpu);
  return release(memory) ? cudaSuccess : remember(ended(cudaErrorInvalidValue));
}

EMULATED cudaError_t cudaHostAlloc(void** memory, size_t bytes, unsigned) {
  if (is_forbidden_by_capture()) return remember(cudaErrorStreamCaptureUnsupported);
  if (must_fail("cudaHostAlloc")) return remember(cudaErrorMemoryAllocation);
  *memory = std::malloc(bytes);
  std::memset(*memory, 0xff, bytes);
  std::lock_guard lock(pinned_mutex);
  pinned[static_cast<const std::byte*>(*memory)] = {bytes, current_gpu()};
  return cudaSuccess;
}

EMULATED cudaError_t cudaFreeHost(void* memory) {
  if (is_forbidden_by_capture()) return remember(cudaErrorStreamCaptureUnsupported);
  if (!memory) return cudaSuccess;
  for (int gpu = 0; gpu < gpu_count(); ++gpu) drain(gpu);
  std::lock_guard lock(pinned_mutex);
  const auto found = pinned.find(static_cast<const std::byte*>(memory));
  // The real function accepts any current GPU, but creates a context if none is current.
  if (found == pinned.end() || found->second.gpu != current_gpu()) return remember(ended(cudaErrorInvalidValue));
  pinned.erase(found);
  std::free(memory);
  return cudaSuccess;
}

// As the real function does, reads pageable memory before the call returns, and waits for a copy to
// pageable memory.
EMULATED cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind,
                                     cudaStream_t stream) {
  const int to_gpu = gpu_of(to), from_gpu = gpu_of(from);
  const bool is_right =
      kind == cudaMemcpyDefault || kind == (to_gpu < 0 ? from_gpu < 0 ? cudaMemcpyHostToHost : cudaMemcpyDeviceToHost
                                            : from_gpu < 0 ? cudaMemcpyHostToDevice
                                                           : cudaMemcpyDeviceToDevice);
  if (!is_right) return remember(cudaErrorInvalidValue);
  if (const cudaError_t status = why_not(stream); status != cudaSuccess) return remember(status);
  const bool reaches_all = to_gpu >= 0 && from_gpu >= 0 && to_gpu != from_gpu;
  if (from_gpu < 0 && !is_pinned(from)) {
    std::vector<std::byte> held(static_cast<const std::byte*>(from), static_cast<const std::byte*>(from) + bytes);
    enqueue(stream, {.run = [=, held = std::move(held)] { std::memcpy(to, held.data(), bytes); },
                     .type = cudaGraphNodeTypeMemcpy});
    return cudaSuccess;
  }
  enqueue(stream,
          {.run = [=] { std::memmove(to, from, bytes); }, .reaches_all = reaches_all, .type = cudaGraphNodeTypeMemcpy});
  return to_gpu < 0 && !is_pinned(to) ? remember(synchronize(stream)) : cudaSuccess;
}

EMULATED cudaError_t cudaMemcpyPeerAsync(void* to, int to_gpu, const void* from, int from_gpu, size_t bytes,
                                         cudaStream_t stream) {
  if (gpu_of(to) != to_gpu || gpu_of(from) != from_gpu) return remember(cudaErrorInvalidValue);
  if (const cudaError_t status = why_not(stream); status != cudaSuccess) return remember(status);
  enqueue(stream,
          {.run = [=] { std::memmove(to, from, bytes); }, .reaches_all = true, .type = cudaGraphNodeTypeMemcpy});
  return cudaSuccess;
}

EMULATED cudaError_t cudaMemsetAsync(void* memory, int value, size_t bytes, cudaStream_t stream) {
  if (gpu_of(memory) < 0) return remember(cudaErrorInvalidValue);
  if (const cudaError_t status = why_not(stream); status != cudaSuccess) return remember(status);
  enqueue(stream, {.run = [=] { std::memset(memory, value, bytes); }, .type = cudaGraphNodeTypeMemset});
  return cudaSuccess;
}

EMULATED cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
  return remember(create_stream(*stream));
}
EMULATED cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  *least = 0;
  *greatest = -5;
  return cudaSuccess;
}
EMULATED cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned, int) {
  return remember(create_stream(*stream));
}
EMULATED cudaError_t cudaStreamDestroy(cudaStream_t stream) { return remember(ended(destroy(stream))); }
EMULATED cudaError_t cudaStreamSynchronize(cudaStream_t stream) { return remember(synchronize(stream)); }
EMULATED cudaError_t cudaStreamQuery(cudaStream_t stream) { return remember(query(stream)); }
EMULATED cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  return remember(wait(stream, event));
}
EMULATED cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void* data) {
  if (const cudaError_t status = why_not(stream); status != cudaSuccess) return remember(status);
  enqueue(stream, {.run = [=] { function(data); }, .type = cudaGraphNodeTypeHost});
  return cudaSuccess;
}
EMULATED cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode) {
  return remember(begin_capture(stream));
}
EMULATED cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  return remember(end_capture(stream, *graph));
}
EMULATED cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* mode) {
  *mode = exchange_capture_mode(*mode);
  return cudaSuccess;
}
EMULATED cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream, cudaStreamCaptureStatus* status,
                                              unsigned long long* id, cudaGraph_t* graph, const cudaGraphNode_t** nodes,
                                              const cudaGraphEdgeData** edges, size_t* count) {
  static const cudaGraphEdgeData kPlain[64] = {};
  cudaGraph_t captured = nullptr;
  const std::vector<cudaGraphNode_t>* behind = nullptr;
  if (const cudaError_t result = capture_info(stream, *status, captured, behind); result != cudaSuccess)
    return remember(result);
  if (id) *id = captured ? 1 : 0;
  if (graph) *graph = captured;
  if (nodes) *nodes = behind->data();
  if (edges) *edges = kPlain;
  if (count) *count = behind->size();
  return behind->size() > std::size(kPlain) ? remember(cudaErrorUnknown) : cudaSuccess;
}
EMULATED cudaError_t cudaStreamUpdateCaptureDependencies(cudaStream_t stream, cudaGraphNode_t* nodes,
                                                         const cudaGraphEdgeData*, size_t count, unsigned flags) {
  if (flags != cudaStreamSetCaptureDependencies) return remember(cudaErrorInvalidValue);
  return remember(continue_behind(stream, {nodes, nodes + count}));
}

EMULATED cudaError_t cudaEventCreate(cudaEvent_t* event) { return remember(create_event(*event, true)); }
EMULATED cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
  return remember(create_event(*event, !(flags & cudaEventDisableTiming)));
}
EMULATED cudaError_t cudaEventDestroy(cudaEvent_t event) { return remember(ended(destroy(event))); }
EMULATED cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) { return remember(record(event, stream)); }
EMULATED cudaError_t cudaEventSynchronize(cudaEvent_t event) { return remember(synchronize(event)); }
EMULATED cudaError_t cudaEventQuery(cudaEvent_t event) { return remember(query(event)); }
EMULATED cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t from, cudaEvent_t to) {
  return remember(elapsed(*milliseconds, from, to));
}

EMULATED cudaError_t cudaGraphInstantiate(cudaGraphExec_t* executable, cudaGraph_t graph, unsigned long long) {
  return remember(instantiate(*executable, graph));
}
EMULATED cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t stream) {
  return remember(launch(executable, stream));
}
EMULATED cudaError_t cudaGraphGetEdges(cudaGraph_t graph, cudaGraphNode_t* from, cudaGraphNode_t* to,
                                       cudaGraphEdgeData* edges, size_t* count) {
  std::vector<cudaGraphNode_t> all_from, all_to;
  std::vector<cudaGraphEdgeData> all_edges;
  if (const cudaError_t status = edges_of(graph, all_from, all_to, all_edges); status != cudaSuccess)
    return remember(status);
  if (from) {
    if (*count < all_from.size() || !to || !edges) return remember(cudaErrorInvalidValue);
    std::copy(all_from.begin(), all_from.end(), from);
    std::copy(all_to.begin(), all_to.end(), to);
    std::copy(all_edges.begin(), all_edges.end(), edges);
  }
  *count = all_from.size();
  return cudaSuccess;
}
EMULATED cudaError_t cudaGraphAddDependencies(cudaGraph_t graph, const cudaGraphNode_t* from, const cudaGraphNode_t* to,
                                              const cudaGraphEdgeData* edges, size_t count) {
  if (count != 1) return remember(cudaErrorInvalidValue);
  return remember(add_edge(graph, *from, *to, edges));
}
EMULATED cudaError_t cudaGraphRemoveDependencies(cudaGraph_t graph, const cudaGraphNode_t* from,
                                                 const cudaGraphNode_t* to, const cudaGraphEdgeData* edges,
                                                 size_t count) {
  if (count != 1) return remember(cudaErrorInvalidValue);
  return remember(remove_edge(graph, *from, *to, edges));
}
EMULATED cudaError_t cudaGraphNodeGetType(cudaGraphNode_t node, cudaGraphNodeType* type) {
  *type = node->work.type;
  return cudaSuccess;
}
EMULATED cudaError_t cudaGraphKernelNodeGetParams(cudaGraphNode_t node, cudaKernelNodeParams* parameters) {
  if (node->work.type != cudaGraphNodeTypeKernel) return remember(cudaErrorInvalidValue);
  *parameters = {};
  if (!node->work.function) return remember(cudaErrorInvalidDeviceFunction);
  parameters->func = const_cast<void*>(node->work.function);
  return cudaSuccess;
}
EMULATED cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void*) {
  *attributes = {};
  attributes->ptxVersion = code_version;
  attributes->binaryVersion = 90;
  return cudaSuccess;
}
EMULATED cudaError_t cudaGraphKernelNodeGetAttribute(cudaGraphNode_t node, cudaLaunchAttributeID attribute,
                                                     cudaLaunchAttributeValue* value) {
  if (node->work.type != cudaGraphNodeTypeKernel || attribute != cudaLaunchAttributeCooperative)
    return remember(cudaErrorInvalidValue);
  value->cooperative = node->work.is_cooperative;
  return cudaSuccess;
}
EMULATED cudaError_t cudaUserObjectCreate(cudaUserObject_t* object, void* held, cudaHostFn_t destroy,
                                          unsigned references, unsigned) {
  return remember(create_user_object(*object, held, destroy, references));
}
EMULATED cudaError_t cudaUserObjectRelease(cudaUserObject_t object, unsigned references) {
  return remember(release(object, references));
}
EMULATED cudaError_t cudaGraphRetainUserObject(cudaGraph_t graph, cudaUserObject_t object, unsigned references,
                                               unsigned flags) {
  return remember(keep(graph, object, references, flags & cudaGraphUserObjectMove));
}
EMULATED cudaError_t cudaGraphDestroy(cudaGraph_t graph) { return remember(ended(destroy(graph))); }
EMULATED cudaError_t cudaGraphExecDestroy(cudaGraphExec_t executable) { return remember(ended(destroy(executable))); }

EMULATED cudaError_t cudaGetDriverEntryPointByVersion(const char* name, void** function, unsigned, unsigned long long,
                                                      cudaDriverEntryPointQueryResult* result) {
  static const std::map<std::string, void*> functions = {
      {"cuDeviceGet", reinterpret_cast<void*>(get_device)},
      {"cuDevicePrimaryCtxRetain", reinterpret_cast<void*>(retain)},
      {"cuDevicePrimaryCtxRelease", reinterpret_cast<void*>(release_context)},
      {"cuCtxPushCurrent", reinterpret_cast<void*>(push)},
      {"cuCtxPopCurrent", reinterpret_cast<void*>(pop)},
      {"cuTensorMapEncodeTiled", reinterpret_cast<void*>(encode_tensor_map)}};
  const auto found = functions.find(name);
  *function = found == functions.end() ? nullptr : found->second;
  if (result) *result = *function ? cudaDriverEntryPointSuccess : cudaDriverEntryPointSymbolNotFound;
  return cudaSuccess;
}

EMULATED cudaError_t cudaDeviceSynchronize() {
  drain(current_gpu());
  return cudaSuccess;
}

// Functions that cudnn-frontend refers to and the plug-in never calls.
EMULATED cudaError_t cudaLaunchKernel(const void*, dim3, dim3, void**, size_t, cudaStream_t) {
  return remember(cudaErrorNotSupported);
}
EMULATED cudaError_t cudaPointerGetAttributes(cudaPointerAttributes*, const void*) {
  return remember(cudaErrorNotSupported);
}
EMULATED cudaError_t cudaLibraryUnload(cudaLibrary_t) { return remember(cudaErrorNotSupported); }
EMULATED cudaError_t cudaKernelSetAttributeForDevice(cudaKernel_t, cudaFuncAttribute, int, int) {
  return remember(cudaErrorNotSupported);
}
