// Checks all that a GPU needs before it can be used, with one line for each thing that is missing.
#include "backends/cuda/cuda_backend.h"

#include <cublasLt.h>
#include <unistd.h>

#include <cctype>
#include <filesystem>
#include <map>
#include <mutex>

#include "backends/cuda/check.h"
#include "backends/cuda/cuda_device.h"
#include "backends/cuda/gpu_transport.h"
#include "backends/cuda/plan_cache.h"
#include "core/dynamic_library.h"
#include "core/text.h"

namespace troika::cuda {
namespace {

constexpr int kLeastMajor = 8;  // compute capability: Ampere

std::string version_text(int version) { return text(version / 1000, '.', version % 1000 / 10); }
std::string cudnn_text(size_t version) { return text(version / 10000, '.', version / 100 % 100, '.', version % 100); }

class CudaBackend : public Backend {
 public:
  CudaBackend(int count, const BackendSettings& settings) : count_(count), settings_(settings) {}
  DeviceKind kind() const override { return DeviceKind::cuda; }
  int device_count() const override { return count_; }

  DeviceInfo describe(int index) const override {
    cudaDeviceProp properties{};
    check(cudaGetDeviceProperties(&properties, index), text("device cuda:", index));
    DeviceInfo info;
    info.name = properties.name;
    info.cores = properties.multiProcessorCount;
    info.memory_bytes = static_cast<int64_t>(properties.totalGlobalMem);
    const PrimaryContext context(index);
    const ContextGuard guard(context);
    size_t free = 0, total = 0;
    check(cudaMemGetInfo(&free, &total), text("device cuda:", index));
    info.free_bytes = static_cast<int64_t>(free);
    return info;
  }

  std::shared_ptr<Device> open(int index, const DeviceShare&) const override {
    cudaDeviceProp properties{};
    check(cudaGetDeviceProperties(&properties, index), text("device cuda:", index));
    if (properties.major < kLeastMajor)
      throw Error(Status::device_unavailable,
                  text("device cuda:", index, ": ", properties.name, " has compute capability ", properties.major, '.',
                       properties.minor, ", need ", kLeastMajor, ".0 or later"));
    return std::make_shared<CudaDevice>(index, plans_of(properties.name), settings_);
  }

  std::vector<const TransportDef*> transports() const override { return {&gpu_transport}; }

 private:
  // One for all GPUs of a kind: with one engine for a problem their replicas give the same bits.
  std::shared_ptr<PlanCache> plans_of(const std::string& name) const {
    std::lock_guard lock(mutex_);
    std::shared_ptr<PlanCache>& plans = plans_[name];
    if (plans) return plans;
    std::string words = name;
    for (char& c : words)
      if (!isalnum(static_cast<unsigned char>(c))) c = '_';
    const std::string file = text("engines-", words, ".json");
    std::error_code error;
    const std::string& folder = settings_.cache_folder;
    std::filesystem::create_directories(folder, error);
    const bool is_stored = !folder.empty() && access(folder.c_str(), W_OK) == 0;
    const std::string shipped = folder_of_code(&kLeastMajor) + "/" TROIKA_ENGINES_FOLDER "/" + file;
    plans = std::make_shared<PlanCache>(is_stored ? text(folder, '/', file) : "",
                                        text(name, ", cuDNN ", cudnnGetVersion()), shipped);
    return plans;
  }

  const int count_;
  const BackendSettings settings_;
  mutable std::mutex mutex_;
  mutable std::map<std::string, std::shared_ptr<PlanCache>> plans_;
};

}  // namespace

std::string library_versions() {
  const size_t cublas = cublasLtGetVersion();
  return text("CUDA ", version_text(CUDART_VERSION), ", cuDNN ", cudnn_text(cudnnGetVersion()), ", cuBLASLt ",
              cublas / 10000, '.', cublas / 100 % 100, '.', cublas % 100, ", built for NCCL ", built_nccl_version());
}

std::unique_ptr<Backend> create_cuda_backend(const BackendSettings& settings, std::string& reason) {
  int driver = 0;
  cudaError_t status = cudaDriverGetVersion(&driver);
  if (status != cudaSuccess || driver == 0) {
    reason = "there is no NVIDIA driver: libcuda.so.1 was not found by the loader";
    return nullptr;
  }
  if (driver / 1000 < CUDART_VERSION / 1000) {
    reason =
        text("the NVIDIA driver supports CUDA ", version_text(driver), ", need ", CUDART_VERSION / 1000, ".0 or later");
    return nullptr;
  }
  const size_t cudnn = cudnnGetVersion();
  if (cudnn / 10000 != CUDNN_MAJOR || cudnn < CUDNN_VERSION) {
    reason = text("libcudnn is of version ", cudnn_text(cudnn), ", need ", cudnn_text(CUDNN_VERSION), " or a later ",
                  CUDNN_MAJOR, ".x");
    return nullptr;
  }
  int count = 0;
  status = cudaGetDeviceCount(&count);
  if (status != cudaSuccess || count == 0) {
    cudaGetLastError();
    reason = text("there is no NVIDIA GPU: ", status == cudaSuccess ? "none is visible" : cudaGetErrorString(status));
    return nullptr;
  }
  return std::make_unique<CudaBackend>(count, settings);
}

}  // namespace troika::cuda
