// lamb_moments and lamb_update.
#include "backends/cuda/update.cuh"

namespace troika::cuda {
namespace {

// Both: with norms the moments are made by lamb_moments, without norms by the update.
template <bool makes_moments>
struct Lamb {
  static constexpr int kSlots = 2;
  static constexpr bool kPrepares = true;
  float rate, decay, beta1, beta2, eps;
  float mean_scale, square_scale;  // 1 over the bias corrections, of the square its root

  __device__ void begin(const UpdateStep& s) {
    rate = has_norms(s.norms) ? s.rate * sqrtf(s.norms[0] / s.norms[1]) : s.rate;
    decay = s.decay;
    beta1 = s.own[0];
    beta2 = s.own[1];
    eps = s.own[2];
    mean_scale = static_cast<float>(1 / s.correction(0));
    square_scale = static_cast<float>(1 / sqrt(s.correction(1)));
  }

  // Returns r, and changes the moments first if this kernel makes them.
  __device__ float direction(float p, float g, float* slots) const {
    if constexpr (makes_moments) {
      slots[0] = beta1 * slots[0] + (1 - beta1) * g;
      slots[1] = beta2 * slots[1] + (1 - beta2) * g * g;
    }
    return slots[0] * mean_scale / (sqrtf(slots[1]) * square_scale + eps) + decay * p;
  }

  __device__ void visit(float p, float g, float* slots, double& first, double& second) const {
    const auto r = static_cast<double>(direction(p, g, slots));
    first += static_cast<double>(p) * static_cast<double>(p);
    second += r * r;
  }

  __device__ void apply(float& p, float g, float* slots) const { p -= rate * direction(p, g, slots); }
};

}  // namespace

KernelChoice select_lamb_moments(CudaDevice& device, const KernelRequest& request) {
  return norms_choice<Lamb<true>>(device, request, "cuda:own:lamb_moments_runs");
}

KernelChoice select_lamb_update(CudaDevice& device, const KernelRequest& request) {
  if (has_input(request, update::norms)) return update_choice<Lamb<false>>(device, request, "cuda:own:lamb_runs");
  return update_choice<Lamb<true>>(device, request, "cuda:own:lamb_whole_runs");
}

}  // namespace troika::cuda
