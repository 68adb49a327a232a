// adam_update.
#include "backends/cuda/update.cuh"

namespace troika::cuda {
namespace {

struct Adam {
  static constexpr int kSlots = 2;
  static constexpr bool kPrepares = true;
  float decay, beta1, beta2, eps;
  float rate;   // over the bias correction of the mean
  float scale;  // 1 over the root of the bias correction of the square

  __device__ void begin(const UpdateStep& s) {
    decay = s.decay;
    beta1 = s.own[0];
    beta2 = s.own[1];
    eps = s.own[2];
    rate = static_cast<float>(static_cast<double>(s.rate) / s.correction(0));
    scale = static_cast<float>(1 / sqrt(s.correction(1)));
  }

  __device__ void apply(float& p, float g, float* slots) const {
    const float d = g + decay * p;
    slots[0] = beta1 * slots[0] + (1 - beta1) * d;
    slots[1] = beta2 * slots[1] + (1 - beta2) * d * d;
    p -= rate * slots[0] / (sqrtf(slots[1]) * scale + eps);
  }
};

}  // namespace

KernelChoice select_adam_update(CudaDevice& device, const KernelRequest& request) {
  return update_choice<Adam>(device, request, "cuda:own:adam_runs");
}

}  // namespace troika::cuda
