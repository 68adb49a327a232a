// The gates of lstm and gru at one step, and their gradients: a thread for each number of a state.
// In f32.
#include "backends/cuda/early_start.cuh"
#include "backends/cuda/grid.cuh"
#include "backends/cuda/kernels.h"
#include "backends/cuda/recurrent_step.h"

namespace troika::cuda {
namespace {

__device__ float sigmoid(float x) { return 1 / (1 + expf(-x)); }

// p[at], or zero.
__device__ float value_at(const float* p, int64_t at) { return p ? p[at] : 0.0f; }

// The place of a thread's number.
struct Place {
  int64_t hidden, j;     // which of the state's numbers
  int64_t sample, row;   // in arrays [n, ...], in arrays [n, t, ...]
  int64_t state, value;  // in [n, h], in [n, t, h]

  __device__ Place(const SequenceStep& at, int64_t sample, int64_t j)
      : hidden(at.hidden),
        j(j),
        sample(sample),
        row(sample * at.t + at.step),
        state(sample * hidden + j),
        value(row * hidden + j) {}

  // Gate k's in [gates h], and in [n, gates h] or [n, t, gates h] at row `r`.
  __device__ int64_t gate(int k) const { return k * hidden + j; }
  __device__ int64_t gate(int64_t r, int gates, int k) const { return (r * gates + k) * hidden + j; }
};

// The state before the step: of the step before in `values` [n, t, h], or what the sequence begins
// with.
__device__ float state_before(const SequenceStep& at, const Place& p, const float* values, const float* first) {
  return at.step > 0 ? values[p.value - at.hidden] : value_at(first, p.state);
}

__device__ void compute(const SequenceStep&, const Place& p, const LstmStep& a) {
  float sums[4];
#pragma unroll
  for (int k = 0; k < 4; ++k)
    sums[k] = a.gates[p.gate(p.row, 4, k)] + value_at(a.of_state, p.gate(p.sample, 4, k)) +
              (value_at(a.bias_ih, p.gate(k)) + value_at(a.bias_hh, p.gate(k)));
  const float i = sigmoid(sums[0]), f = sigmoid(sums[1]), g = tanhf(sums[2]), o = sigmoid(sums[3]);
  const float c = f * value_at(a.c_before, p.state) + i * g, h = o * tanhf(c);
  a.gates[p.gate(p.row, 4, 0)] = i;
  a.gates[p.gate(p.row, 4, 1)] = f;
  a.gates[p.gate(p.row, 4, 2)] = g;
  a.gates[p.gate(p.row, 4, 3)] = o;
  a.c[p.value] = a.last_c[p.state] = c;
  a.y[p.value] = a.last_h[p.state] = h;
}

__device__ void compute(const SequenceStep& at, const Place& p, const LstmStepGradient& a) {
  const float i = a.gates[p.gate(p.row, 4, 0)], f = a.gates[p.gate(p.row, 4, 1)], g = a.gates[p.gate(p.row, 4, 2)],
              o = a.gates[p.gate(p.row, 4, 3)];
  const float tanh_c = tanhf(a.c[p.value]), c_before = state_before(at, p, a.c, a.first_c);
  const float dh = value_at(a.dy, p.value) + value_at(a.dh, p.state);
  const float dc = value_at(a.dc, p.state) + dh * o * (1 - tanh_c * tanh_c);
  const float dsums[4] = {dc * g * i * (1 - i), dc * c_before * f * (1 - f), dc * i * (1 - g * g),
                          dh * tanh_c * o * (1 - o)};
#pragma unroll
  for (int k = 0; k < 4; ++k) a.dsums[p.gate(p.row, 4, k)] = a.dsums_now[p.gate(p.sample, 4, k)] = dsums[k];
  a.dc_before[p.state] = dc * f;
}

__device__ void compute(const SequenceStep&, const Place& p, const GruStep& a) {
  float of_input[3], of_state[3];
#pragma unroll
  for (int k = 0; k < 3; ++k) {
    of_input[k] = a.of_input[p.gate(p.row, 3, k)] + value_at(a.bias_ih, p.gate(k));
    of_state[k] = value_at(a.of_state, p.gate(p.sample, 3, k)) + value_at(a.bias_hh, p.gate(k));
  }
  const float r = sigmoid(of_input[0] + of_state[0]), z = sigmoid(of_input[1] + of_state[1]), u = of_state[2];
  const float n = tanhf(of_input[2] + r * u), h = (1 - z) * n + z * value_at(a.before, p.state);
  a.gates[p.gate(p.row, 4, 0)] = r;
  a.gates[p.gate(p.row, 4, 1)] = z;
  a.gates[p.gate(p.row, 4, 2)] = n;
  a.gates[p.gate(p.row, 4, 3)] = u;
  a.y[p.value] = a.last_h[p.state] = h;
}

__device__ void compute(const SequenceStep& at, const Place& p, const GruStepGradient& a) {
  const float r = a.gates[p.gate(p.row, 4, 0)], z = a.gates[p.gate(p.row, 4, 1)], n = a.gates[p.gate(p.row, 4, 2)],
              u = a.gates[p.gate(p.row, 4, 3)];
  const float d = value_at(a.dy, p.value) + value_at(a.dh, p.state);
  const float dn = d * (1 - z) * (1 - n * n), dr = dn * u * r * (1 - r),
              dz = d * (state_before(at, p, a.y, a.first_h) - n) * z * (1 - z);
  const float dinput[3] = {dr, dz, dn}, dstate[3] = {dr, dz, dn * r};
#pragma unroll
  for (int k = 0; k < 3; ++k) {
    a.dinput[p.gate(p.row, 3, k)] = dinput[k];
    a.dstate[p.gate(p.row, 3, k)] = a.dstate_now[p.gate(p.sample, 3, k)] = dstate[k];
  }
  a.dh_before[p.state] = d * z;
}

constexpr int kColumns = 32, kSamples = 4;  // of a block: few, as a step is short and should reach many multiprocessors

template <typename Arrays>
__global__ void __launch_bounds__(kColumns* kSamples)
    step_kernel(const __grid_constant__ SequenceStep at, const __grid_constant__ Arrays arrays) {
  wait_for_kernels_before();
  const int64_t j = int64_t{blockIdx.x} * kColumns + threadIdx.x;
  if (j >= at.hidden) return;
  const int64_t first = int64_t{blockIdx.y} * kSamples + threadIdx.y, stride = int64_t{gridDim.y} * kSamples;
  for (int64_t sample = first; sample < at.n; sample += stride) compute(at, Place(at, sample, j), arrays);
}

template <typename Arrays>
void launch(const SequenceStep& at, const Arrays& arrays, cudaStream_t stream) {
  constexpr int64_t kMostBlocks = 65535;  // in a grid's second dimension
  const dim3 grid(blocks_for(at.hidden, kColumns), blocks_for(at.n, kSamples, kMostBlocks));
  step_kernel<Arrays><<<grid, dim3(kColumns, kSamples), 0, stream>>>(at, arrays);
}

__global__ void __launch_bounds__(kThreads)
    states_before_kernel(const float* first, const float* y, float* before, int64_t n, int64_t t, int64_t hidden) {
  wait_for_kernels_before();
  for (int64_t i = first_index(); i < n * t * hidden; i += index_step()) {
    const int64_t row = i / hidden, sample = row / t;
    before[i] = row > sample * t ? y[i - hidden] : value_at(first, sample * hidden + i - row * hidden);
  }
}

}  // namespace

void lstm_step(const SequenceStep& at, const LstmStep& arrays, cudaStream_t stream) { launch(at, arrays, stream); }

void lstm_step_gradient(const SequenceStep& at, const LstmStepGradient& arrays, cudaStream_t stream) {
  launch(at, arrays, stream);
}

void gru_step(const SequenceStep& at, const GruStep& arrays, cudaStream_t stream) { launch(at, arrays, stream); }

void gru_step_gradient(const SequenceStep& at, const GruStepGradient& arrays, cudaStream_t stream) {
  launch(at, arrays, stream);
}

void states_before(int64_t n, int64_t t, int64_t hidden, const float* first, const float* y, float* before,
                   cudaStream_t stream) {
  states_before_kernel<<<blocks_for(n * t * hidden), kThreads, 0, stream>>>(first, y, before, n, t, hidden);
}

}  // namespace troika::cuda
