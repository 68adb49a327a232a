// The work of a recurrent layer at a step apart from its products, forward and backward. Host
// functions that launch kernels on a stream.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace troika::cuda {

// A step of sequences. Its rows of arrays [n, t, ...] are read or written, and all of arrays [n,
// ...]. Arrays that may be null then count as zeros. The gates are those of src/ops/lstm.cpp and
// gru.cpp.
struct SequenceStep {
  int64_t n, t, step, hidden;
};

struct LstmStep {
  const float* of_state;           // [n, 4 h], the state's part of the sums before the nonlinearity; may be null
  const float *bias_ih, *bias_hh;  // [4 h]; may be null
  const float* c_before;           // [n, h]; may be null, may be last_c
  float* gates;                    // [n, t, 4 h]: from the input's part of the sums to the gates i, f, g, o
  float *c, *y;                    // [n, t, h]
  float *last_c, *last_h;          // [n, h], the same for the next step
};

struct LstmStepGradient {
  const float *gates, *c;  // as forward
  const float* first_c;    // [n, h] that the sequence begins with; may be null
  const float* dy;         // [n, t, h], of y by the loss; may be null
  const float *dh, *dc;    // [n, h], of both states by later steps; may be null
  float* dsums;            // [n, t, 4 h], of the sums
  float* dsums_now;        // [n, 4 h], the same for the product
  float* dc_before;        // [n, h]; may be dc
};

struct GruStep {
  const float* of_input;           // [n, t, 3 h], the input's part of the sums
  const float* of_state;           // [n, 3 h], the state's; may be null
  const float *bias_ih, *bias_hh;  // [3 h]; may be null
  const float* before;             // [n, h], the state before; may be null, may be last_h
  float* gates;                    // [n, t, 4 h]: r, z, n and the state's part of n's sum
  float* y;                        // [n, t, h]
  float* last_h;                   // [n, h], the same for the next step
};

struct GruStepGradient {
  const float *gates, *y;  // as forward
  const float* first_h;    // [n, h] that the sequence begins with; may be null
  const float* dy;         // [n, t, h], of y by the loss; may be null
  const float* dh;         // [n, h], of the state by later steps; may be null
  float *dinput, *dstate;  // [n, t, 3 h], of either part of the sums
  float* dstate_now;       // [n, 3 h], the same for the product
  float* dh_before;        // [n, h], what goes past the product, which adds the rest; may be dh
};

void lstm_step(const SequenceStep& at, const LstmStep& arrays, cudaStream_t stream);
void lstm_step_gradient(const SequenceStep& at, const LstmStepGradient& arrays, cudaStream_t stream);
void gru_step(const SequenceStep& at, const GruStep& arrays, cudaStream_t stream);
void gru_step_gradient(const SequenceStep& at, const GruStepGradient& arrays, cudaStream_t stream);

// before[n, t, h] = the state before each step: `first` [n, h] (null: zeros), then those of y [n,
// t, h] but the last.
void states_before(int64_t n, int64_t t, int64_t hidden, const float* first, const float* y, float* before,
                   cudaStream_t stream);

}  // namespace troika::cuda
