// rmsprop_update.
#include "backends/cuda/update.cuh"

namespace troika::cuda {
namespace {

// Slots: the square and, if there are two, the momentum.
template <int slots>
struct RmsProp {
  static constexpr int kSlots = slots;
  static constexpr bool kPrepares = false;
  float rate, decay, alpha, eps, momentum;

  __device__ void begin(const UpdateStep& s) {
    rate = s.rate;
    decay = s.decay;
    alpha = s.own[0];
    eps = s.own[1];
    momentum = s.own[2];
  }

  __device__ void apply(float& p, float g, float* state) const {
    const float d = g + decay * p;
    state[0] = alpha * state[0] + (1 - alpha) * d * d;
    float step = d / (sqrtf(state[0]) + eps);
    if constexpr (kSlots == 2) step = state[1] = momentum * state[1] + step;
    p -= rate * step;
  }
};

}  // namespace

KernelChoice select_rmsprop_update(CudaDevice& device, const KernelRequest& request) {
  if (UpdateOperands(request.node).slots() == 2)
    return update_choice<RmsProp<2>>(device, request, "cuda:own:rmsprop_momentum_runs");
  return update_choice<RmsProp<1>>(device, request, "cuda:own:rmsprop_runs");
}

}  // namespace troika::cuda
