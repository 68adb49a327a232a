// lstm and its gradient: the formulas of a step (src/ops/lstm.cpp).
#include "backends/cpu/activations.h"
#include "backends/cpu/recurrent.h"
#include "backends/cpu/threads.h"

namespace troika::cpu {
namespace {

// From sums [4 h] before the nonlinearity: gates i, f, g, o, the new c and y.
TROIKA_VECTORIZE void forward_row(int64_t h, const float* __restrict sums, const float* __restrict c_before,
                                  float* __restrict gates, float* __restrict c, float* __restrict y) {
  for (int64_t j = 0; j < h; ++j) {
    const float i = sigmoid_lane(sums[j]), f = sigmoid_lane(sums[h + j]), g = tanh_lane(sums[2 * h + j]),
                o = sigmoid_lane(sums[3 * h + j]);
    const float now = f * c_before[j] + i * g;
    gates[j] = i;
    gates[h + j] = f;
    gates[2 * h + j] = g;
    gates[3 * h + j] = o;
    c[j] = now;
    y[j] = o * tanh_lane(now);
  }
}

// From the gradients of y by the loss (dy) and by later steps (dh), and of c by later steps (dc):
// those of the sums, and dc for the step before.
TROIKA_VECTORIZE void backward_row(int64_t h, const float* __restrict gates, const float* __restrict c,
                                   const float* __restrict c_before, const float* __restrict dy,
                                   const float* __restrict dh, float* __restrict dc, float* __restrict dsums) {
  for (int64_t j = 0; j < h; ++j) {
    const float i = gates[j], f = gates[h + j], g = gates[2 * h + j], o = gates[3 * h + j];
    const float tanh_c = tanh_lane(c[j]), d = dy[j] + dh[j];
    const float dnow = dc[j] + d * o * (1 - tanh_c * tanh_c);
    dsums[j] = dnow * g * i * (1 - i);
    dsums[h + j] = dnow * c_before[j] * f * (1 - f);
    dsums[2 * h + j] = dnow * i * (1 - g * g);
    dsums[3 * h + j] = d * tanh_c * o * (1 - o);
    dc[j] = dnow * f;
  }
}

constexpr RecurrentCell kLstm{
    .name = "lstm",
    .states = 2,
    .kept = 4,
    .splits_sums = false,
    .adds_to_dh = false,
    .forward = [](const ForwardRow& r) { forward_row(r.hidden, r.input_sums, r.before, r.gates, r.carried, r.y); },
    .backward =
        [](const BackwardRow& r) {
          backward_row(r.hidden, r.gates, r.carried, r.before, r.dy, r.dh, r.dcarried, r.dinput_sums);
        },
};

}  // namespace

KernelChoice select_lstm(const CpuDevice&, const KernelRequest& request) { return recurrent_forward(request, kLstm); }

KernelChoice select_lstm_gradient(const CpuDevice&, const KernelRequest& request) {
  return recurrent_backward(request, kLstm);
}

}  // namespace troika::cpu
