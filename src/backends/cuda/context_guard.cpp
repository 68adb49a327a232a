// The driver's functions, found at run time: the plug-in does not link libcuda.
#include "backends/cuda/context_guard.h"

#include "backends/cuda/check.h"
#include "core/text.h"

namespace troika::cuda {
namespace {

struct Driver {
  CUresult (*get_device)(CUdevice*, int) = nullptr;
  CUresult (*retain)(CUcontext*, CUdevice) = nullptr;
  CUresult (*release)(CUdevice) = nullptr;
  CUresult (*push)(CUcontext) = nullptr;
  CUresult (*pop)(CUcontext*) = nullptr;

  static const Driver& get() {
    static const Driver driver;
    return driver;
  }

 private:
  Driver() {
    find("cuDeviceGet", get_device);
    find("cuDevicePrimaryCtxRetain", retain);
    find("cuDevicePrimaryCtxRelease", release);
    find("cuCtxPushCurrent", push);
    find("cuCtxPopCurrent", pop);
  }

  template <typename Function>
  static void find(const char* name, Function& function) {
    void* found = nullptr;
    cudaDriverEntryPointQueryResult result{};
    constexpr unsigned kOldest = 12000;  // the version of the driver's interface
    check(cudaGetDriverEntryPointByVersion(name, &found, kOldest, cudaEnableDefault, &result),
          text("driver function ", name));
    if (!found) throw Error(Status::device_unavailable, text("the NVIDIA driver has no function ", name));
    function = reinterpret_cast<Function>(found);
  }
};

void check_driver(CUresult result, const char* what) {
  if (result != CUDA_SUCCESS)
    throw Error(result == CUDA_ERROR_OUT_OF_MEMORY ? Status::out_of_memory : Status::device_unavailable,
                text(what, ": CUDA driver error ", static_cast<int>(result)));
}

}  // namespace

PrimaryContext::PrimaryContext(int index) {
  check_driver(Driver::get().get_device(&device_, index), "cuDeviceGet");
  check_driver(Driver::get().retain(&context_, device_), "cuDevicePrimaryCtxRetain");
}

PrimaryContext::~PrimaryContext() { Driver::get().release(device_); }

void push_context(const PrimaryContext& context) {
  check_driver(Driver::get().push(context.handle()), "cuCtxPushCurrent");
}

void pop_context() {
  CUcontext context = nullptr;
  Driver::get().pop(&context);
}

ContextGuard::ContextGuard(const PrimaryContext& context) { push_context(context); }

ContextGuard::~ContextGuard() { pop_context(); }

}  // namespace troika::cuda
