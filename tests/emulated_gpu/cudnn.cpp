// cuDNN in software: the functions of its backend, for convolutions. They refuse calls that cuDNN
// documents as refused, and calls whose results cuDNN would silently get wrong.
#include <cudnn.h>

#include <algorithm>
#include <new>

#include "cudnn_descriptor.h"
#include "cudnn_engine.h"
#include "gpu.h"
#include "live_objects.h"

namespace emulated_gpu::cudnn {
namespace {

thread_local std::string last_message;

template <typename Call>
cudnnStatus_t status_of(Call&& call) {
  try {
    call();
    return CUDNN_STATUS_SUCCESS;
  } catch (const Refusal& refusal) {
    last_message = refusal.message;
    return refusal.status;
  } catch (const std::bad_alloc&) {
    return CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED;
  }
}

std::shared_ptr<cudnnContext> live_handle(cudnnHandle_t handle) {
  auto found = live<cudnnContext>().find(handle);
  require(found != nullptr, CUDNN_STATUS_BAD_PARAM, "the argument is not a handle");
  return found;
}

std::shared_ptr<Descriptor> live_descriptor(cudnnBackendDescriptor_t descriptor) {
  auto found = live<Descriptor>().find(descriptor);
  require(found != nullptr, CUDNN_STATUS_BAD_PARAM, "the argument is not a descriptor");
  return found;
}

template <typename T>
std::shared_ptr<const T> live_content(cudnnBackendDescriptor_t descriptor) {
  const auto found = live_descriptor(descriptor);
  require(found->content() != nullptr, CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED, "a descriptor is not finalized");
  auto content = std::dynamic_pointer_cast<const T>(found->content());
  require(content != nullptr, CUDNN_STATUS_BAD_PARAM_DESCRIPTOR_TYPE, "a descriptor is of another type");
  return content;
}

}  // namespace
}  // namespace emulated_gpu::cudnn

using namespace emulated_gpu::cudnn;
using emulated_gpu::ended;
using emulated_gpu::live;
using emulated_gpu::must_fail;

extern "C" {

size_t cudnnGetVersion() { return CUDNN_VERSION; }
size_t cudnnGetCudartVersion() { return CUDART_VERSION; }

const char* cudnnGetErrorString(cudnnStatus_t status) {
  switch (CUDNN_STATUS_CATEGORY(status)) {
    case CUDNN_STATUS_SUCCESS: return status == CUDNN_STATUS_SUCCESS ? "CUDNN_STATUS_SUCCESS" : "CUDNN_UNKNOWN_STATUS";
    case 1000: return "CUDNN_STATUS_NOT_INITIALIZED";
    case CUDNN_STATUS_BAD_PARAM: return "CUDNN_STATUS_BAD_PARAM";
    case CUDNN_STATUS_NOT_SUPPORTED: return "CUDNN_STATUS_NOT_SUPPORTED";
    case CUDNN_STATUS_INTERNAL_ERROR: return "CUDNN_STATUS_INTERNAL_ERROR";
    case CUDNN_STATUS_EXECUTION_FAILED: return "CUDNN_STATUS_EXECUTION_FAILED";
    default: return "CUDNN_UNKNOWN_STATUS";
  }
}

void cudnnGetLastErrorString(char* message, size_t max_size) {
  if (!message || max_size == 0) return;
  const size_t count = std::min(last_message.size(), max_size - 1);
  std::copy_n(last_message.data(), count, message);
  message[count] = 0;
  last_message.clear();
}

cudnnStatus_t cudnnCreate(cudnnHandle_t* handle) {
  return status_of([&] {
    require(handle, CUDNN_STATUS_BAD_PARAM_NULL_POINTER, "no room for the handle");
    if (must_fail("cudnnCreate")) throw std::bad_alloc();
    *handle =
        live<cudnnContext>().add(std::make_shared<cudnnContext>(cudnnContext{.gpu = emulated_gpu::current_gpu()}));
  });
}

cudnnStatus_t cudnnDestroy(cudnnHandle_t handle) {
  return ended(status_of([&] {
    require(live_handle(handle)->gpu == emulated_gpu::current_gpu(), CUDNN_STATUS_BAD_PARAM,
            "the handle is another GPU's");
    live<cudnnContext>().remove(handle);
  }));
}

cudnnStatus_t cudnnSetStream(cudnnHandle_t handle, cudaStream_t stream) {
  return status_of([&] { live_handle(handle)->stream = stream; });
}

cudnnStatus_t cudnnGetStream(cudnnHandle_t handle, cudaStream_t* stream) {
  return status_of([&] {
    require(stream, CUDNN_STATUS_BAD_PARAM_NULL_POINTER, "no room for the stream");
    *stream = live_handle(handle)->stream;
  });
}

cudnnStatus_t cudnnBackendCreateDescriptor(cudnnBackendDescriptorType_t type, cudnnBackendDescriptor_t* descriptor) {
  return status_of([&] {
    require(descriptor, CUDNN_STATUS_BAD_PARAM_NULL_POINTER, "no room for the descriptor");
    if (must_fail("cudnnBackendCreateDescriptor")) throw std::bad_alloc();
    *descriptor = live<Descriptor>().add(std::make_shared<Descriptor>(type));
  });
}

cudnnStatus_t cudnnBackendDestroyDescriptor(cudnnBackendDescriptor_t descriptor) {
  const cudnnStatus_t status = status_of([&] {
    require(live<Descriptor>().remove(descriptor) != nullptr, CUDNN_STATUS_BAD_PARAM,
            "the argument is not a descriptor");
  });
  return descriptor ? ended(status) : status;  // cudnn-frontend also destroys null
}

// Does nothing: creating a descriptor initializes it.
cudnnStatus_t cudnnBackendInitialize(cudnnBackendDescriptor_t descriptor) {
  return status_of([&] { live_descriptor(descriptor); });
}

cudnnStatus_t cudnnBackendSetAttribute(cudnnBackendDescriptor_t descriptor, cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t type, int64_t count, const void* elements) {
  return status_of([&] { live_descriptor(descriptor)->set(name, type, count, elements); });
}

cudnnStatus_t cudnnBackendGetAttribute(cudnnBackendDescriptor_t const descriptor, cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t type, int64_t most, int64_t* count, void* elements) {
  return status_of([&] { live_descriptor(descriptor)->get(name, type, most, count, elements); });
}

cudnnStatus_t cudnnBackendFinalize(cudnnBackendDescriptor_t descriptor) {
  return status_of([&] { live_descriptor(descriptor)->finalize(); });
}

cudnnStatus_t cudnnBackendExecute(cudnnHandle_t handle, cudnnBackendDescriptor_t plan, cudnnBackendDescriptor_t pack) {
  return status_of([&] {
    const auto context = live_handle(handle);
    require(context->gpu == emulated_gpu::current_gpu(), CUDNN_STATUS_BAD_PARAM, "the handle is another GPU's");
    execute(*context, *live_content<Plan>(plan), *live_content<VariantPack>(pack));
  });
}

cudnnStatus_t cudnnBackendPopulateCudaGraph(cudnnHandle_t, cudnnBackendDescriptor_t, cudnnBackendDescriptor_t,
                                            cudaGraph_t) {
  return CUDNN_STATUS_NOT_SUPPORTED_CUDA_GRAPH_NATIVE_API;
}

cudnnStatus_t cudnnBackendUpdateCudaGraph(cudnnHandle_t, cudnnBackendDescriptor_t, cudnnBackendDescriptor_t,
                                          cudaGraph_t) {
  return CUDNN_STATUS_NOT_SUPPORTED_CUDA_GRAPH_NATIVE_API;
}

}  // extern "C"
