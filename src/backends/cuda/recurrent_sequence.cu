// All steps of a small lstm or gru in one launch. Samples do not meet: a block has one or two of
// them, from the first step to the last. So nothing waits for another block, and a step costs two
// barriers of a block instead of two launches.
//
// Forward, a thread has a row of weight_hh, and multiplies it by h. Then a thread for each number
// of the state computes the gates. Backward, a thread has the rows of one gate in a column of
// weight_hh. The sums of all gates are the gradient of h.
//
// The weights stay in registers: up to 64 numbers per thread. If there are more, 52 do, and the
// others are in shared memory. Numbers of global memory are loaded some steps ahead. Sums are made
// in an order that depends on the size of the state alone.
#include "backends/cuda/recurrent_sequence.h"

#include <algorithm>

#include "backends/cuda/early_start.cuh"
#include "backends/cuda/matrix_instructions.cuh"
#include "backends/cuda/recurrent_cell.cuh"

namespace troika::cuda {
namespace {

constexpr int kMostHeld = 64, kHeldOfMany = 52;  // numbers of weights in registers; if there are more
constexpr size_t kMostStaticBytes = 8 << 10;     // of shared memory: what threads of a block exchange

// Sizes of a kernel for states of up to kHidden numbers, with kSamples samples in a block.
template <typename Cell, int kHidden, int kSamples>
struct Form {
  static constexpr int kThreads = Cell::kGates * kHidden;
  static constexpr int kHeld = kHidden <= kMostHeld ? kHidden : kHeldOfMany;
  static constexpr int kPacks = (kHidden - kHeld) / 4;    // of four weights of a thread, in shared memory
  static constexpr int kAhead = kHidden > kHeld ? 2 : 4;  // steps
  static constexpr size_t kSharedBytes = size_t{kPacks} * kThreads * sizeof(float4);
  static_assert(2 * kSamples * kThreads * sizeof(float) <= kMostStaticBytes);
  static_assert(kSamples <= Cell::kGates);  // then a thread has one number of a state at most
};

// This thread's weights: kHidden numbers, of which some may be absent and then are zeros.
template <typename F>
class Weights {
 public:
  // `weight_at(i)` returns the i-th.
  template <typename WeightAt>
  __device__ void load(float4* shared, WeightAt weight_at) {
    shared_ = shared + threadIdx.x;
#pragma unroll
    for (int i = 0; i < F::kHeld; ++i) held_[i] = weight_at(i);
    for (int p = 0; p < F::kPacks; ++p) {
      const int i = F::kHeld + 4 * p;
      shared_[p * F::kThreads] = {weight_at(i), weight_at(i + 1), weight_at(i + 2), weight_at(i + 3)};
    }
  }

  // Returns the sums over these weights times the numbers of each sample, which are `apart`.
  template <int kSamples>
  __device__ void multiply(const float* numbers, int apart, float (&sums)[kSamples]) const {
    float4 parts[kSamples] = {};
    const auto add = [&](const float4& weights, int first) {
#pragma unroll
      for (int s = 0; s < kSamples; ++s) {
        const float4 v = *reinterpret_cast<const float4*>(numbers + s * apart + first);
        parts[s].x = fmaf(weights.x, v.x, parts[s].x);
        parts[s].y = fmaf(weights.y, v.y, parts[s].y);
        parts[s].z = fmaf(weights.z, v.z, parts[s].z);
        parts[s].w = fmaf(weights.w, v.w, parts[s].w);
      }
    };
#pragma unroll
    for (int i = 0; i < F::kHeld; i += 4) add({held_[i], held_[i + 1], held_[i + 2], held_[i + 3]}, i);
#pragma unroll 2
    for (int p = 0; p < F::kPacks; ++p) add(shared_[p * F::kThreads], F::kHeld + 4 * p);
#pragma unroll
    for (int s = 0; s < kSamples; ++s) sums[s] = (parts[s].x + parts[s].y) + (parts[s].z + parts[s].w);
  }

 private:
  float held_[F::kHeld];
  float4* shared_;
};

// A thread's number of a state, if it has one.
struct Unit {
  int sample, j;  // of the block's samples
  bool is_there;
  int64_t state;  // in [n, h]
  int64_t row;    // of the first step in [n, t, ...]

  __device__ Unit(int samples, int64_t n, int64_t t, int hidden)
      : sample(static_cast<int>(threadIdx.x) / hidden), j(static_cast<int>(threadIdx.x) - sample * hidden) {
    const int64_t number = int64_t{blockIdx.x} * samples + sample;
    is_there = sample < samples && number < n;
    state = number * hidden + j;
    row = number * t;
  }
};

template <typename Cell, int kHidden, int kSamples>
__global__ void __launch_bounds__(Cell::kGates* kHidden, 1)
    sequence_kernel(const __grid_constant__ RecurrentSequence a) {
  wait_for_kernels_before();
  using F = Form<Cell, kHidden, kSamples>;
  constexpr int kGates = Cell::kGates;
  extern __shared__ __align__(16) uint8_t memory[];
  __shared__ float4 state_packs[kSamples * kHidden / 4];
  __shared__ float sums[kSamples][F::kThreads];
  float* const states = reinterpret_cast<float*>(state_packs);  // [kSamples, kHidden]
  const int hidden = static_cast<int>(a.hidden), thread = static_cast<int>(threadIdx.x), steps = static_cast<int>(a.t);
  Weights<F> weights;
  weights.load(reinterpret_cast<float4*>(memory), [&](int i) {
    return thread < kGates * hidden && i < hidden ? a.weight_hh[int64_t{thread} * hidden + i] : 0.0f;
  });
  for (int i = thread; i < kSamples * kHidden; i += F::kThreads) states[i] = 0;
  __syncthreads();

  const Unit unit(kSamples, a.n, a.t, hidden);
  float carried = 0, bias_ih[kGates] = {}, bias_hh[kGates] = {}, ahead[F::kAhead][kGates] = {};
  const auto load = [&](float(&input)[kGates], int step) {
    if (!unit.is_there || step >= steps) return;
#pragma unroll
    for (int k = 0; k < kGates; ++k) input[k] = a.of_input[((unit.row + step) * kGates + k) * hidden + unit.j];
  };
  if (unit.is_there) {
    const float h = value_at(a.first_h, unit.state);
    states[unit.sample * kHidden + unit.j] = h;
    carried = Cell::kHasC ? value_at(a.first_c, unit.state) : h;
#pragma unroll
    for (int k = 0; k < kGates; ++k) {
      bias_ih[k] = value_at(a.bias_ih, k * hidden + unit.j);
      bias_hh[k] = value_at(a.bias_hh, k * hidden + unit.j);
    }
  }
#pragma unroll
  for (int i = 0; i < F::kAhead; ++i) load(ahead[i], i);
  __syncthreads();

  float h = 0;
  for (int first = 0; first < steps; first += F::kAhead) {
#pragma unroll
    for (int i = 0; i < F::kAhead; ++i) {
      const int step = first + i;
      if (step >= steps) break;
      float own[kSamples];
      weights.multiply(states, kHidden, own);
#pragma unroll
      for (int s = 0; s < kSamples; ++s) sums[s][thread] = own[s];
      __syncthreads();
      if (unit.is_there) {
        float of_state[kGates], kept[4];
#pragma unroll
        for (int k = 0; k < kGates; ++k) of_state[k] = sums[unit.sample][k * hidden + unit.j];
        h = Cell::advance(ahead[i], of_state, bias_ih, bias_hh, carried, kept);
        states[unit.sample * kHidden + unit.j] = h;
        const int64_t row = unit.row + step;
#pragma unroll
        for (int k = 0; k < 4; ++k) a.gates[(row * 4 + k) * hidden + unit.j] = kept[k];
        if (Cell::kHasC) a.c[row * hidden + unit.j] = carried;
        a.y[row * hidden + unit.j] = h;
      }
      load(ahead[i], step + F::kAhead);
      __syncthreads();
    }
  }
  if (!unit.is_there) return;
  a.last_h[unit.state] = h;
  if (Cell::kHasC) a.last_c[unit.state] = carried;
}

// The gradient of a step reads these for a number of the state. `before` is c or h of the step
// before.
struct Kept {
  float gates[4], before, dy;
};

template <typename Cell, int kHidden, int kSamples>
__global__ void __launch_bounds__(Cell::kGates* kHidden, 1)
    sequence_gradient_kernel(const __grid_constant__ RecurrentSequenceGradient a) {
  wait_for_kernels_before();
  using F = Form<Cell, kHidden, kSamples>;
  constexpr int kGates = Cell::kGates;
  extern __shared__ __align__(16) uint8_t memory[];
  __shared__ float4 gradient_packs[kSamples * kGates * kHidden / 4];  // of the state's part of the sums
  __shared__ float sums[kSamples][F::kThreads];
  float* const gradients = reinterpret_cast<float*>(gradient_packs);  // [kSamples, kGates, kHidden]
  const int hidden = static_cast<int>(a.hidden), thread = static_cast<int>(threadIdx.x);
  const int gate = thread / hidden, column = thread - gate * hidden;
  Weights<F> weights;
  weights.load(reinterpret_cast<float4*>(memory), [&](int i) {
    return gate < kGates && i < hidden ? a.weight_hh[(int64_t{gate} * hidden + i) * hidden + column] : 0.0f;
  });
  for (int i = thread; i < kSamples * kGates * kHidden; i += F::kThreads) gradients[i] = 0;

  const Unit unit(kSamples, a.n, a.t, hidden);
  const float *const values = Cell::kHasC ? a.c : a.y, *const first = Cell::kHasC ? a.first_c : a.first_h;
  Kept ahead[F::kAhead] = {};
  const auto load = [&](Kept& kept, int step) {
    if (!unit.is_there || step < 0) return;
    const int64_t row = unit.row + step, place = row * hidden + unit.j;
#pragma unroll
    for (int k = 0; k < 4; ++k) kept.gates[k] = a.gates[(row * 4 + k) * hidden + unit.j];
    kept.before = step > 0 ? values[place - hidden] : value_at(first, unit.state);
    kept.dy = value_at(a.dy, place);
  };
  const int last = static_cast<int>(a.t) - 1;
  float dlast = 0, carried = 0, value = 0;  // value: c of the step
  if (unit.is_there) {
    dlast = value_at(a.dlast_h, unit.state);
    if (Cell::kHasC) {
      carried = value_at(a.dlast_c, unit.state);
      if (last >= 0) value = a.c[(unit.row + last) * hidden + unit.j];
    }
  }
#pragma unroll
  for (int i = 0; i < F::kAhead; ++i) load(ahead[i], last - i);
  __syncthreads();

  // Returns the gradient of the unit's h by the steps from `step` on that pass through weight_hh.
  const auto of_later = [&](int step) {
    if (step > last) return dlast;
    float sum = 0;
#pragma unroll
    for (int k = 0; k < kGates; ++k) sum += sums[unit.sample][k * hidden + unit.j];
    return sum;
  };
  for (int begin = last; begin >= 0; begin -= F::kAhead) {
#pragma unroll
    for (int i = 0; i < F::kAhead; ++i) {
      const int step = begin - i;
      if (step < 0) break;
      if (unit.is_there) {
        float dinput[kGates], dstate[kGates];
        Cell::retreat(ahead[i].gates, value, ahead[i].before, ahead[i].dy + of_later(step + 1), carried, dinput,
                      dstate);
        value = ahead[i].before;
#pragma unroll
        for (int k = 0; k < kGates; ++k) {
          const int64_t place = ((unit.row + step) * kGates + k) * hidden + unit.j;
          a.dinput[place] = dinput[k];
          if (a.dstate) a.dstate[place] = dstate[k];
          gradients[(unit.sample * kGates + k) * kHidden + unit.j] = dstate[k];
        }
      }
      load(ahead[i], step - F::kAhead);
      __syncthreads();
      float own[kSamples];
      weights.multiply(gradients + (gate < kGates ? gate : 0) * kHidden, kGates * kHidden, own);
#pragma unroll
      for (int s = 0; s < kSamples; ++s) sums[s][thread] = own[s];
      __syncthreads();
    }
  }
  if (!unit.is_there) return;
  if (a.dfirst_h) a.dfirst_h[unit.state] = of_later(0) + (Cell::kHasC ? 0 : carried);
  if (Cell::kHasC && a.dfirst_c) a.dfirst_c[unit.state] = carried;
}

constexpr int kMostHidden = 128;

// Calls run.operator()<kHidden>() with the least of 32, 64 and 128 that is not below `hidden`.
template <typename Run>
auto with_hidden(int64_t hidden, Run&& run) {
  return hidden <= 32   ? run.template operator()<32>()
         : hidden <= 64 ? run.template operator()<64>()
                        : run.template operator()<kMostHidden>();
}

// With more samples than multiprocessors a block has two: it reads its weights once for both.
template <typename Cell, bool kIsGradient, typename Sequence>
void launch(const Sequence& sequence, int multiprocessors, cudaStream_t stream) {
  with_hidden(sequence.hidden, [&]<int kHidden>() {
    const auto with_samples = [&]<int kSamples>() {
      using F = Form<Cell, kHidden, kSamples>;
      const auto blocks = static_cast<unsigned>((sequence.n + kSamples - 1) / kSamples);
      if constexpr (kIsGradient)
        launch_with_shared(sequence_gradient_kernel<Cell, kHidden, kSamples>, blocks, F::kThreads, F::kSharedBytes,
                           stream, sequence);
      else
        launch_with_shared(sequence_kernel<Cell, kHidden, kSamples>, blocks, F::kThreads, F::kSharedBytes, stream,
                           sequence);
    };
    if (sequence.n > multiprocessors)
      with_samples.template operator()<2>();
    else
      with_samples.template operator()<1>();
  });
}

}  // namespace

bool takes_recurrent_sequence(int64_t hidden, size_t shared_bytes) {
  size_t bytes = kMostStaticBytes;
  with_hidden(hidden, [&]<int kHidden>() { bytes += Form<LstmCell, kHidden, 1>::kSharedBytes; });
  return hidden <= kMostHidden && bytes <= shared_bytes;
}

void lstm_sequence(const RecurrentSequence& sequence, int multiprocessors, cudaStream_t stream) {
  launch<LstmCell, false>(sequence, multiprocessors, stream);
}

void lstm_sequence_gradient(const RecurrentSequenceGradient& sequence, int multiprocessors, cudaStream_t stream) {
  launch<LstmCell, true>(sequence, multiprocessors, stream);
}

void gru_sequence(const RecurrentSequence& sequence, int multiprocessors, cudaStream_t stream) {
  launch<GruCell, false>(sequence, multiprocessors, stream);
}

void gru_sequence_gradient(const RecurrentSequenceGradient& sequence, int multiprocessors, cudaStream_t stream) {
  launch<GruCell, true>(sequence, multiprocessors, stream);
}

}  // namespace troika::cuda
