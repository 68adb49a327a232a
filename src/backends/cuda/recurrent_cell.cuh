// The gates of lstm and gru for one number of a state at one step, and their gradients. In f32.
#pragma once

#include <cstdint>

namespace troika::cuda {

// p[at], or zero.
__device__ inline float value_at(const float* p, int64_t at) { return p ? p[at] : 0.0f; }

__device__ inline float sigmoid(float x) { return 1 / (1 + expf(-x)); }

// The gates are those of src/ops/lstm.cpp and gru.cpp. A cell keeps four numbers for its gradient,
// and carries one from step to step: c or h, and backward what does not pass through weight_hh.
struct LstmCell {
  static constexpr int kGates = 4;
  static constexpr bool kHasC = true;

  // input, state: both parts of the sums before the nonlinearity. Returns h.
  static __device__ float advance(const float (&input)[kGates], const float (&state)[kGates],
                                  const float (&bias_ih)[kGates], const float (&bias_hh)[kGates], float& c,
                                  float (&kept)[4]) {
    float sums[kGates];
#pragma unroll
    for (int k = 0; k < kGates; ++k) sums[k] = input[k] + state[k] + (bias_ih[k] + bias_hh[k]);
    const float i = sigmoid(sums[0]), f = sigmoid(sums[1]), g = tanhf(sums[2]), o = sigmoid(sums[3]);
    c = f * c + i * g;
    kept[0] = i, kept[1] = f, kept[2] = g, kept[3] = o;
    return o * tanhf(c);
  }

  // c, before: of this step and of the one before. dh: of this step's h. dc: in and out.
  static __device__ void retreat(const float (&kept)[4], float c, float before, float dh, float& dc,
                                 float (&dinput)[kGates], float (&dstate)[kGates]) {
    const float i = kept[0], f = kept[1], g = kept[2], o = kept[3], tanh_c = tanhf(c);
    dc += dh * o * (1 - tanh_c * tanh_c);
    const float dsums[kGates] = {dc * g * i * (1 - i), dc * before * f * (1 - f), dc * i * (1 - g * g),
                                 dh * tanh_c * o * (1 - o)};
#pragma unroll
    for (int k = 0; k < kGates; ++k) dinput[k] = dstate[k] = dsums[k];
    dc *= f;
  }
};

struct GruCell {
  static constexpr int kGates = 3;
  static constexpr bool kHasC = false;

  static __device__ float advance(const float (&input)[kGates], const float (&state)[kGates],
                                  const float (&bias_ih)[kGates], const float (&bias_hh)[kGates], float& h,
                                  float (&kept)[4]) {
    float of_input[kGates], of_state[kGates];
#pragma unroll
    for (int k = 0; k < kGates; ++k) of_input[k] = input[k] + bias_ih[k], of_state[k] = state[k] + bias_hh[k];
    const float r = sigmoid(of_input[0] + of_state[0]), z = sigmoid(of_input[1] + of_state[1]), u = of_state[2];
    const float n = tanhf(of_input[2] + r * u);
    h = (1 - z) * n + z * h;
    kept[0] = r, kept[1] = z, kept[2] = n, kept[3] = u;
    return h;
  }

  // before: h of the step before. dh: of this step's h, without what is carried. passed: what goes
  // past the product, in and out.
  static __device__ void retreat(const float (&kept)[4], float, float before, float dh, float& passed,
                                 float (&dinput)[kGates], float (&dstate)[kGates]) {
    const float r = kept[0], z = kept[1], n = kept[2], u = kept[3], d = dh + passed;
    const float dn = d * (1 - z) * (1 - n * n), dr = dn * u * r * (1 - r), dz = d * (before - n) * z * (1 - z);
    dinput[0] = dstate[0] = dr;
    dinput[1] = dstate[1] = dz;
    dinput[2] = dn;
    dstate[2] = dn * r;
    passed = d * z;
  }
};

}  // namespace troika::cuda
