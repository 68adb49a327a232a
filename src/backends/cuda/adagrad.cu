// adagrad_update.
#include "backends/cuda/update.cuh"

namespace troika::cuda {
namespace {

struct Adagrad {
  static constexpr int kSlots = 1;
  static constexpr bool kPrepares = false;
  float rate, decay, eps;

  __device__ void begin(const UpdateStep& s) {
    rate = s.rate;
    decay = s.decay;
    eps = s.own[0];
  }

  __device__ void apply(float& p, float g, float* square) const {
    const float d = g + decay * p;
    *square += d * d;
    p -= rate * (d / (sqrtf(*square) + eps));
  }
};

}  // namespace

KernelChoice select_adagrad_update(CudaDevice& device, const KernelRequest& request) {
  return update_choice<Adagrad>(device, request, "cuda:own:adagrad_runs");
}

}  // namespace troika::cuda
