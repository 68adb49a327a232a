// sgd_update.
#include "backends/cuda/update.cuh"

namespace troika::cuda {
namespace {

template <int slots>
struct Sgd {
  static constexpr int kSlots = slots;
  static constexpr bool kPrepares = false;
  float rate, decay, momentum;
  float gradient_part, momentum_part;  // of a step: 0 and 1, for Nesterov 1 and momentum

  __device__ void begin(const UpdateStep& s) {
    rate = s.rate;
    decay = s.decay;
    momentum = kSlots > 0 ? s.own[0] : 0.0f;
    const bool nesterov = kSlots > 0 && s.own[1] != 0;
    gradient_part = nesterov ? 1.0f : 0.0f;
    momentum_part = nesterov ? momentum : 1.0f;
  }

  // d = g + decay * p; m = momentum * m + d; p -= rate * (nesterov ? d + momentum * m : m)
  __device__ void apply(float& p, float g, float* m) const {
    const float d = g + decay * p;
    *m = momentum * *m + d;
    p -= rate * (gradient_part * d + momentum_part * *m);
  }
};

}  // namespace

KernelChoice select_sgd_update(CudaDevice& device, const KernelRequest& request) {
  if (UpdateOperands(request.node).slots() > 0)
    return update_choice<Sgd<1>>(device, request, "cuda:own:sgd_momentum_runs");
  return update_choice<Sgd<0>>(device, request, "cuda:own:sgd_runs");
}

}  // namespace troika::cuda
