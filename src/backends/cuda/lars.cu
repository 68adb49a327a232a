// lars_norms and lars_update.
#include "backends/cuda/update.cuh"

namespace troika::cuda {
namespace {

struct LarsNorms {
  static constexpr int kSlots = 0;
  static constexpr bool kPrepares = false;
  __device__ void begin(const UpdateStep&) {}
  __device__ void visit(float p, float g, float*, double& first, double& second) const {
    first += static_cast<double>(p) * static_cast<double>(p);
    second += static_cast<double>(g) * static_cast<double>(g);
  }
};

struct Lars {
  static constexpr int kSlots = 1;
  static constexpr bool kPrepares = false;
  float rate, decay, momentum;

  __device__ void begin(const UpdateStep& s) {
    momentum = s.own[0];
    decay = s.decay;
    rate = s.rate;
    if (!has_norms(s.norms)) return;
    const float trust = s.own[1], eps = s.own[2], p = sqrtf(s.norms[0]), g = sqrtf(s.norms[1]);
    rate *= trust * p / (g + decay * p + eps);
  }

  __device__ void apply(float& p, float g, float* m) const {
    *m = momentum * *m + rate * (g + decay * p);
    p -= *m;
  }
};

}  // namespace

KernelChoice select_lars_norms(CudaDevice& device, const KernelRequest& request) {
  return norms_choice<LarsNorms>(device, request, "cuda:own:lars_norms_runs");
}

KernelChoice select_lars_update(CudaDevice& device, const KernelRequest& request) {
  return update_choice<Lars>(device, request, "cuda:own:lars_runs");
}

}  // namespace troika::cuda
