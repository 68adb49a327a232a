// adamw_update.
#include "backends/cuda/update.cuh"

namespace troika::cuda {
namespace {

struct AdamW {
  static constexpr int kSlots = 2;
  static constexpr bool kPrepares = true;
  float kept;  // of a parameter, after weight decay
  float beta1, beta2, eps;
  float rate;   // over the bias correction of the mean
  float scale;  // 1 over the root of the bias correction of the square

  __device__ void begin(const UpdateStep& s) {
    kept = 1 - s.rate * s.decay;
    beta1 = s.own[0];
    beta2 = s.own[1];
    eps = s.own[2];
    rate = static_cast<float>(static_cast<double>(s.rate) / s.correction(0));
    scale = static_cast<float>(1 / sqrt(s.correction(1)));
  }

  __device__ void apply(float& p, float g, float* slots) const {
    slots[0] = beta1 * slots[0] + (1 - beta1) * g;
    slots[1] = beta2 * slots[1] + (1 - beta2) * g * g;
    p = kept * p - rate * slots[0] / (sqrtf(slots[1]) * scale + eps);
  }
};

}  // namespace

KernelChoice select_adamw_update(CudaDevice& device, const KernelRequest& request) {
  return update_choice<AdamW>(device, request, "cuda:own:adamw_runs");
}

}  // namespace troika::cuda
