// All steps of a wide lstm or gru in one launch. A team of blocks has some samples, from the first
// step to the last. A block has some numbers of their states, and the rows of weight_hh for them.
// After each step the blocks of a team wait for each other, and read what all of them computed.
//
// A block has kOutputs sums per sample and step, one for each gate of its numbers. Forward these
// are rows of weight_hh times h. Backward they are columns, times the gradients of one gate. A
// thread has 16 of the weights of four sums, in registers, and multiplies them by the numbers of
// four samples. Then kLanes threads add up. The order of sums depends on the size of the state
// alone.
#include "backends/cuda/check.h"
#include "backends/cuda/early_start.cuh"
#include "backends/cuda/recurrent_cell.cuh"
#include "backends/cuda/recurrent_sequence.h"
#include "backends/cuda/teams.cuh"

namespace troika::cuda {
namespace {

constexpr int kLeastHidden = 129, kMostHidden = 512, kMostSamples = 16;  // of a team
constexpr int kTogether = 4;                                             // samples whose sums a thread makes at once
constexpr int kSums = 4, kPacks = 4;  // of a thread: sums, and packs of four weights for each
constexpr int kWeights = 4 * kPacks;  // of a thread for each sum

// Sizes of a kernel for states of up to kHidden numbers.
template <typename Cell, int kHidden>
struct Form {
  static constexpr int kUnits = 8192 / kHidden;  // numbers of the state per block
  static constexpr int kOutputs = Cell::kGates * kUnits;
  static constexpr int kLanes = kHidden / kWeights;
  static constexpr int kThreads = kOutputs / kSums * kLanes;
  static constexpr int kLimit = kThreads / kUnits < kMostSamples ? kThreads / kUnits : kMostSamples;
  static_assert(kUnits % kSums == 0 && 32 % kLanes == 0 && kMostHidden / kUnits <= kMostInTeam);
  // `operands`: h or the gradients of the gates, of all samples.
  static constexpr size_t shared_bytes(int samples, int operands) {
    return static_cast<size_t>(samples * (operands * kHidden + kOutputs)) * sizeof(float);
  }
};

// How a launch is cut. A team has `samples`, a multiple of kTogether.
struct Teams {
  int teams, blocks, samples;  // blocks: of a team
  unsigned* flags;             // [teams, kMostInTeam], zeros
};

// This thread's weights. Zeros are in place of absent ones.
template <typename F>
class Weights {
 public:
  // `weight_at(output, i)` returns the weight by which the i-th number is multiplied.
  template <typename WeightAt>
  __device__ void load(WeightAt weight_at) {
#pragma unroll
    for (int k = 0; k < kSums; ++k)
#pragma unroll
      for (int p = 0; p < kPacks; ++p) {
        const int output = group_ * kSums + k, i = first_of(p);
        held_[k][p] = {weight_at(output, i), weight_at(output, i + 1), weight_at(output, i + 2),
                       weight_at(output, i + 3)};
      }
  }

  // sums [kOutputs, kTogether]. Numbers of the samples are `apart`.
  __device__ void multiply(const float* numbers, int apart, float* sums) const {
    float parts[kSums * kTogether] = {};
#pragma unroll
    for (int s = 0; s < kTogether; ++s)
#pragma unroll
      for (int p = 0; p < kPacks; ++p) {
        const float4 v = *reinterpret_cast<const float4*>(numbers + s * apart + first_of(p));
#pragma unroll
        for (int k = 0; k < kSums; ++k) {
          float& sum = parts[k * kTogether + s];
          sum = fmaf(held_[k][p].x, v.x, sum);
          sum = fmaf(held_[k][p].y, v.y, sum);
          sum = fmaf(held_[k][p].z, v.z, sum);
          sum = fmaf(held_[k][p].w, v.w, sum);
        }
      }
    add_up<F::kLanes / 2>(parts);
    constexpr int kSame = F::kLanes / (kSums * kTogether);  // threads that have the same sum
    if (lane_ % kSame == 0) sums[group_ * kSums * kTogether + lane_ / kSame] = parts[0];
  }

 private:
  __device__ int first_of(int pack) const { return 4 * (lane_ + pack * F::kLanes); }

  // Each thread passes half of its parts to the thread at kDistance, which passes the other half.
  // One part is left in the end.
  template <int kDistance, int kParts>
  __device__ void add_up(float (&parts)[kParts]) const {
    if constexpr (kDistance > 0) {
      if constexpr (kParts > 1) {
        const bool is_upper = lane_ & kDistance;
        float half[kParts / 2];
#pragma unroll
        for (int i = 0; i < kParts / 2; ++i) {
          const float kept = is_upper ? parts[i + kParts / 2] : parts[i];
          const float passed = is_upper ? parts[i] : parts[i + kParts / 2];
          half[i] = kept + __shfl_xor_sync(~0u, passed, kDistance);
        }
        add_up<kDistance / 2>(half);
        parts[0] = half[0];
      } else {
        parts[0] += __shfl_xor_sync(~0u, parts[0], kDistance);
        add_up<kDistance / 2>(parts);
      }
    }
  }

  const int group_ = static_cast<int>(threadIdx.x) / F::kLanes, lane_ = static_cast<int>(threadIdx.x) % F::kLanes;
  float4 held_[kSums][kPacks];
};

// This block's place in its team, and the thread's number of a state, if it has one. Registers are
// few, so this has little, and computes the rest.
template <typename F>
struct Unit {
  const int team, member;
  const int first_sample, samples;  // of the team
  const int j;                      // of the state
  const bool is_there;

  __device__ Unit(const Teams& teams, int n, int hidden)
      : team(static_cast<int>(blockIdx.x) / teams.blocks),
        member(static_cast<int>(blockIdx.x) % teams.blocks),
        first_sample(team * teams.samples),
        samples(min(teams.samples, n - first_sample)),
        j(member * F::kUnits + number()),
        is_there(sample() < samples && j < hidden) {}

  static __device__ int sample() { return static_cast<int>(threadIdx.x) / F::kUnits; }                  // of the team
  static __device__ int number() { return static_cast<int>(threadIdx.x) % F::kUnits; }                  // of the block
  __device__ int64_t state(int hidden) const { return int64_t{first_sample + sample()} * hidden + j; }  // in [n, h]
  __device__ int64_t row(int64_t t, int step) const { return (first_sample + sample()) * t + step; }    // in [n t, ...]

  // The unit's sum of a gate, in sums [samples / kTogether, kOutputs, kTogether].
  static __device__ float sum_of(const float* sums, int gate) {
    const int output = gate * F::kUnits + number();
    return sums[(sample() / kTogether * F::kOutputs + output) * kTogether + sample() % kTogether];
  }
};

// Waits until all blocks of the team have come to `round`.
template <typename F>
__device__ inline void wait_for_team(const Teams& teams, const Unit<F>& unit, int round) {
  unsigned* const flags = teams.flags + unit.team * kMostInTeam;
  const int thread = static_cast<int>(threadIdx.x);
  __syncthreads();
  if (thread == 0) raise_flag(flags + unit.member, static_cast<unsigned>(round));
  if (thread < teams.blocks) wait_for_flag(flags + thread, static_cast<unsigned>(round));
  __syncthreads();
}

// Copies `rows` rows of `hidden` numbers to rows of kHidden. Blocks of this launch wrote them.
template <int kHidden, int kThreads>
__device__ inline void load_rows(const float* from, int64_t from_apart, float* to, int to_apart, int rows, int hidden) {
#pragma unroll 4
  for (int i = static_cast<int>(threadIdx.x); i < rows * kHidden; i += kThreads) {
    const int row = i / kHidden, column = i % kHidden;
    if (column < hidden) to[row * to_apart + column] = __ldcg(from + row * from_apart + column);
  }
}

template <typename Cell, int kHidden>
__global__ void __launch_bounds__(Form<Cell, kHidden>::kThreads, 1)
    teams_kernel(const __grid_constant__ RecurrentSequence a, const __grid_constant__ Teams teams) {
  wait_for_kernels_before();
  using F = Form<Cell, kHidden>;
  constexpr int kGates = Cell::kGates;
  extern __shared__ __align__(16) uint8_t memory[];
  float* const states = reinterpret_cast<float*>(memory);  // [samples, kHidden]
  float* const sums = states + teams.samples * kHidden;    // [samples / kTogether, kOutputs, kTogether]
  const int hidden = static_cast<int>(a.hidden), steps = static_cast<int>(a.t);
  const Unit<F> unit(teams, static_cast<int>(a.n), hidden);
  Weights<F> weights;
  weights.load([&](int output, int i) {
    const int gate = output / F::kUnits, j = unit.member * F::kUnits + output % F::kUnits;
    return j < hidden && i < hidden ? a.weight_hh[(int64_t{gate} * hidden + j) * hidden + i] : 0.0f;
  });
  for (int i = static_cast<int>(threadIdx.x); i < teams.samples * kHidden; i += F::kThreads) states[i] = 0;
  __syncthreads();
  if (a.first_h)
    load_rows<kHidden, F::kThreads>(a.first_h + int64_t{unit.first_sample} * hidden, hidden, states, kHidden,
                                    unit.samples, hidden);

  float h = 0, carried = 0, input[kGates] = {};
  const auto load = [&](int step) {
    if (!unit.is_there || step >= steps) return;
#pragma unroll
    for (int k = 0; k < kGates; ++k) input[k] = a.of_input[(unit.row(a.t, step) * kGates + k) * hidden + unit.j];
  };
  if (unit.is_there) carried = value_at(Cell::kHasC ? a.first_c : a.first_h, unit.state(hidden));
  load(0);
  __syncthreads();

  for (int step = 0; step < steps; ++step) {
    for (int s = 0; s < teams.samples; s += kTogether)
      weights.multiply(states + s * kHidden, kHidden, sums + s * F::kOutputs);
    __syncthreads();
    if (unit.is_there) {
      float of_state[kGates], bias_ih[kGates], bias_hh[kGates], kept[4];
#pragma unroll
      for (int k = 0; k < kGates; ++k) {
        of_state[k] = unit.sum_of(sums, k);
        bias_ih[k] = value_at(a.bias_ih, k * hidden + unit.j);  // again at each step: registers are few
        bias_hh[k] = value_at(a.bias_hh, k * hidden + unit.j);
      }
      h = Cell::advance(input, of_state, bias_ih, bias_hh, carried, kept);
      const int64_t row = unit.row(a.t, step);
      a.y[row * hidden + unit.j] = h;
#pragma unroll
      for (int k = 0; k < 4; ++k) a.gates[(row * 4 + k) * hidden + unit.j] = kept[k];
      if (Cell::kHasC) a.c[row * hidden + unit.j] = carried;
    }
    if (step + 1 == steps) break;
    load(step + 1);
    wait_for_team(teams, unit, step + 1);
    load_rows<kHidden, F::kThreads>(a.y + (unit.first_sample * a.t + step) * hidden, a.t * hidden, states, kHidden,
                                    unit.samples, hidden);
    __syncthreads();
  }
  if (!unit.is_there) return;
  a.last_h[unit.state(hidden)] = h;
  if (Cell::kHasC) a.last_c[unit.state(hidden)] = carried;
}

template <typename Cell, int kHidden>
__global__ void __launch_bounds__(Form<Cell, kHidden>::kThreads, 1)
    teams_gradient_kernel(const __grid_constant__ RecurrentSequenceGradient a, const __grid_constant__ Teams teams) {
  wait_for_kernels_before();
  using F = Form<Cell, kHidden>;
  constexpr int kGates = Cell::kGates;
  extern __shared__ __align__(16) uint8_t memory[];
  float* const gradients = reinterpret_cast<float*>(memory);         // [samples, kGates, kHidden]
  float* const sums = gradients + teams.samples * kGates * kHidden;  // as forward
  const int hidden = static_cast<int>(a.hidden), last = static_cast<int>(a.t) - 1,
            thread = static_cast<int>(threadIdx.x);
  const Unit<F> unit(teams, static_cast<int>(a.n), hidden);
  Weights<F> weights;
  weights.load([&](int output, int i) {
    const int gate = output / F::kUnits, j = unit.member * F::kUnits + output % F::kUnits;
    return j < hidden && i < hidden ? a.weight_hh[(int64_t{gate} * hidden + i) * hidden + j] : 0.0f;
  });
  for (int i = thread; i < teams.samples * kGates * kHidden; i += F::kThreads) gradients[i] = 0;

  const float *const values = Cell::kHasC ? a.c : a.y, *const first = Cell::kHasC ? a.first_c : a.first_h;
  float* const dstate = a.dstate ? a.dstate : a.dinput;
  float of_later = 0, carried = 0, value = 0, gates[4] = {}, before = 0, dy = 0;  // value: c of the step
  const auto load = [&](int step) {
    if (!unit.is_there || step < 0) return;
    const int64_t row = unit.row(a.t, step), place = row * hidden + unit.j;
#pragma unroll
    for (int k = 0; k < 4; ++k) gates[k] = a.gates[(row * 4 + k) * hidden + unit.j];
    before = step > 0 ? values[place - hidden] : value_at(first, unit.state(hidden));
    dy = value_at(a.dy, place);
  };
  if (unit.is_there) {
    of_later = value_at(a.dlast_h, unit.state(hidden));
    if (Cell::kHasC) {
      carried = value_at(a.dlast_c, unit.state(hidden));
      if (last >= 0) value = a.c[unit.row(a.t, last) * hidden + unit.j];
    }
  }
  load(last);

  for (int step = last; step >= 0; --step) {
    if (unit.is_there) {
      float dinput[kGates], dsums[kGates];
      Cell::retreat(gates, value, before, dy + of_later, carried, dinput, dsums);
      value = before;
#pragma unroll
      for (int k = 0; k < kGates; ++k) {
        const int64_t place = (unit.row(a.t, step) * kGates + k) * hidden + unit.j;
        a.dinput[place] = dinput[k];
        if (a.dstate) a.dstate[place] = dsums[k];
      }
    }
    if (step == 0 && !a.dfirst_h) break;
    load(step - 1);
    wait_for_team(teams, unit, last - step + 1);
    for (int gate = 0; gate < kGates; ++gate)
      load_rows<kHidden, F::kThreads>(dstate + ((unit.first_sample * a.t + step) * kGates + gate) * hidden,
                                      a.t * kGates * hidden, gradients + gate * kHidden, kGates * kHidden, unit.samples,
                                      hidden);
    __syncthreads();
    const int gate = thread / F::kLanes * kSums / F::kUnits;  // of this thread's sums
    for (int s = 0; s < teams.samples; s += kTogether)
      weights.multiply(gradients + (s * kGates + gate) * kHidden, kGates * kHidden, sums + s * F::kOutputs);
    __syncthreads();
    if (!unit.is_there) continue;
    of_later = 0;
#pragma unroll
    for (int k = 0; k < kGates; ++k) of_later += unit.sum_of(sums, k);
  }
  if (!unit.is_there) return;
  if (a.dfirst_h) a.dfirst_h[unit.state(hidden)] = of_later + (Cell::kHasC ? 0 : carried);
  if (Cell::kHasC && a.dfirst_c) a.dfirst_c[unit.state(hidden)] = carried;
}

// Returns run.operator()<kHidden>(), with the least size of a kernel that is not below `hidden`.
template <typename Run>
auto with_hidden(int64_t hidden, Run&& run) {
  return hidden <= 256 ? run.template operator()<256>() : run.template operator()<kMostHidden>();
}

// Returns the launch for as many teams as the GPU has room for. Its teams are 0 if there is none.
template <typename F>
Teams teams_for(int64_t n, int64_t hidden, int multiprocessors) {
  const int blocks = static_cast<int>((hidden + F::kUnits - 1) / F::kUnits), most = multiprocessors / blocks;
  if (most == 0) return {};
  const int64_t samples = ((n + most - 1) / most + kTogether - 1) / kTogether * kTogether;
  if (samples > F::kLimit) return {};
  return {static_cast<int>((n + samples - 1) / samples), blocks, static_cast<int>(samples), nullptr};
}

template <typename Cell, bool kIsGradient, typename Sequence>
void launch(const Sequence& sequence, int multiprocessors, cudaStream_t stream) {
  with_hidden(sequence.hidden, [&]<int kHidden>() {
    using F = Form<Cell, kHidden>;
    Teams teams = teams_for<F>(sequence.n, sequence.hidden, multiprocessors);
    teams.flags = sequence.flags;
    check_launch(cudaMemsetAsync(teams.flags, 0, recurrent_flag_bytes(multiprocessors), stream));
    const auto kernel = [] {
      if constexpr (kIsGradient)
        return teams_gradient_kernel<Cell, kHidden>;
      else
        return teams_kernel<Cell, kHidden>;
    }();
    constexpr int kOperands = kIsGradient ? Cell::kGates : 1;
    launch_together(kernel, dim3(static_cast<unsigned>(teams.teams * teams.blocks)), F::kThreads,
                    F::shared_bytes(teams.samples, kOperands), F::shared_bytes(F::kLimit, kOperands), stream, sequence,
                    teams);
  });
}

template <typename Cell>
bool takes(int64_t n, int64_t hidden, int multiprocessors, size_t shared_bytes) {
  return with_hidden(hidden, [&]<int kHidden>() {
    using F = Form<Cell, kHidden>;
    const Teams teams = teams_for<F>(n, hidden, multiprocessors);
    return teams.teams > 0 && F::shared_bytes(F::kLimit, Cell::kGates) <= shared_bytes;
  });
}

}  // namespace

bool takes_recurrent_teams(bool is_lstm, int64_t n, int64_t hidden, int multiprocessors, size_t shared_bytes) {
  return hidden >= kLeastHidden && hidden <= kMostHidden &&
         (is_lstm ? takes<LstmCell> : takes<GruCell>)(n, hidden, multiprocessors, shared_bytes);
}

size_t recurrent_flag_bytes(int multiprocessors) {
  constexpr int kLeastInTeam = (kLeastHidden + Form<LstmCell, 256>::kUnits - 1) / Form<LstmCell, 256>::kUnits;
  return static_cast<size_t>(multiprocessors / kLeastInTeam) * kMostInTeam * sizeof(unsigned);
}

void lstm_teams(const RecurrentSequence& sequence, int multiprocessors, cudaStream_t stream) {
  launch<LstmCell, false>(sequence, multiprocessors, stream);
}

void lstm_teams_gradient(const RecurrentSequenceGradient& sequence, int multiprocessors, cudaStream_t stream) {
  launch<LstmCell, true>(sequence, multiprocessors, stream);
}

void gru_teams(const RecurrentSequence& sequence, int multiprocessors, cudaStream_t stream) {
  launch<GruCell, false>(sequence, multiprocessors, stream);
}

void gru_teams_gradient(const RecurrentSequenceGradient& sequence, int multiprocessors, cudaStream_t stream) {
  launch<GruCell, true>(sequence, multiprocessors, stream);
}

}  // namespace troika::cuda
