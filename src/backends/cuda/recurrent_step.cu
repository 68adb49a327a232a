// The gates of lstm and gru at one step, and their gradients: a thread for each number of a state.
// In f32.
#include "backends/cuda/early_start.cuh"
#include "backends/cuda/grid.cuh"
#include "backends/cuda/kernels.h"
#include "backends/cuda/recurrent_cell.cuh"
#include "backends/cuda/recurrent_step.h"

namespace troika::cuda {
namespace {

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

// Numbers of all gates, or zeros.
template <int kGates>
struct Gates {
  float v[kGates];

  __device__ Gates(const float* from, const Place& p, int64_t row) {
#pragma unroll
    for (int k = 0; k < kGates; ++k) v[k] = value_at(from, p.gate(row, kGates, k));
  }
  __device__ Gates(const float* from, const Place& p) {
#pragma unroll
    for (int k = 0; k < kGates; ++k) v[k] = value_at(from, p.gate(k));
  }
};

template <int kGates>
__device__ void store(float* to, const Place& p, int64_t row, const float (&v)[kGates]) {
#pragma unroll
  for (int k = 0; k < kGates; ++k) to[p.gate(row, kGates, k)] = v[k];
}

__device__ void compute(const SequenceStep&, const Place& p, const LstmStep& a) {
  const Gates<4> input(a.gates, p, p.row), state(a.of_state, p, p.sample), bias_ih(a.bias_ih, p), bias_hh(a.bias_hh, p);
  float c = value_at(a.c_before, p.state), kept[4];
  const float h = LstmCell::advance(input.v, state.v, bias_ih.v, bias_hh.v, c, kept);
  store(a.gates, p, p.row, kept);
  a.c[p.value] = a.last_c[p.state] = c;
  a.y[p.value] = a.last_h[p.state] = h;
}

__device__ void compute(const SequenceStep& at, const Place& p, const LstmStepGradient& a) {
  const Gates<4> kept(a.gates, p, p.row);
  float dc = value_at(a.dc, p.state), dinput[4], dstate[4];
  LstmCell::retreat(kept.v, a.c[p.value], state_before(at, p, a.c, a.first_c),
                    value_at(a.dy, p.value) + value_at(a.dh, p.state), dc, dinput, dstate);
  store(a.dsums, p, p.row, dinput);
  store(a.dsums_now, p, p.sample, dstate);
  a.dc_before[p.state] = dc;
}

__device__ void compute(const SequenceStep&, const Place& p, const GruStep& a) {
  const Gates<3> input(a.of_input, p, p.row), state(a.of_state, p, p.sample), bias_ih(a.bias_ih, p),
      bias_hh(a.bias_hh, p);
  float h = value_at(a.before, p.state), kept[4];
  GruCell::advance(input.v, state.v, bias_ih.v, bias_hh.v, h, kept);
  store(a.gates, p, p.row, kept);
  a.y[p.value] = a.last_h[p.state] = h;
}

__device__ void compute(const SequenceStep& at, const Place& p, const GruStepGradient& a) {
  const Gates<4> kept(a.gates, p, p.row);
  float passed = 0, dinput[3], dstate[3];
  GruCell::retreat(kept.v, 0, state_before(at, p, a.y, a.first_h), value_at(a.dy, p.value) + value_at(a.dh, p.state),
                   passed, dinput, dstate);
  store(a.dinput, p, p.row, dinput);
  store(a.dstate, p, p.row, dstate);
  store(a.dstate_now, p, p.sample, dstate);
  a.dh_before[p.state] = passed;
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
