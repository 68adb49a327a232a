// gru and its gradient: the formulas of a step (src/ops/gru.cpp).
#include "backends/cpu/activations.h"
#include "backends/cpu/recurrent.h"
#include "backends/cpu/threads.h"

namespace troika::cpu {
namespace {

// From the input's and the state's sums [3 h]: gates r, z, n, the state's part u of n's sum, and y,
// which is the new state.
TROIKA_VECTORIZE void forward_row(int64_t h, const float* __restrict of_input, const float* __restrict of_state,
                                  const float* __restrict before, float* __restrict gates, float* __restrict y) {
  for (int64_t j = 0; j < h; ++j) {
    const float r = sigmoid_lane(of_input[j] + of_state[j]), z = sigmoid_lane(of_input[h + j] + of_state[h + j]),
                u = of_state[2 * h + j], n = tanh_lane(of_input[2 * h + j] + r * u);
    gates[j] = r;
    gates[h + j] = z;
    gates[2 * h + j] = n;
    gates[3 * h + j] = u;
    y[j] = (1 - z) * n + z * before[j];
  }
}

// From the gradients of y by the loss (dy) and by later steps (dh): those of both sums. Leaves in
// dh the gradient that reaches the state before past the weights.
TROIKA_VECTORIZE void backward_row(int64_t h, const float* __restrict gates, const float* __restrict before,
                                   const float* __restrict dy, float* __restrict dh, float* __restrict dinput,
                                   float* __restrict dstate) {
  for (int64_t j = 0; j < h; ++j) {
    const float r = gates[j], z = gates[h + j], n = gates[2 * h + j], u = gates[3 * h + j];
    const float d = dy[j] + dh[j];
    const float dn = d * (1 - z) * (1 - n * n), dr = dn * u * r * (1 - r), dz = d * (before[j] - n) * z * (1 - z);
    dinput[j] = dr;
    dinput[h + j] = dz;
    dinput[2 * h + j] = dn;
    dstate[j] = dr;
    dstate[h + j] = dz;
    dstate[2 * h + j] = dn * r;
    dh[j] = d * z;
  }
}

constexpr RecurrentCell kGru{
    .name = "gru",
    .states = 1,
    .kept = 4,
    .splits_sums = true,
    .adds_to_dh = true,
    .forward = [](const ForwardRow& r) { forward_row(r.hidden, r.input_sums, r.state_sums, r.before, r.gates, r.y); },
    .backward =
        [](const BackwardRow& r) {
          backward_row(r.hidden, r.gates, r.before, r.dy, r.dh, r.dinput_sums, r.dstate_sums);
        },
};

}  // namespace

KernelChoice select_gru(const CpuDevice&, const KernelRequest& request) { return recurrent_forward(request, kGru); }

KernelChoice select_gru_gradient(const CpuDevice&, const KernelRequest& request) {
  return recurrent_backward(request, kGru);
}

}  // namespace troika::cpu
