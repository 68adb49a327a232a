// All steps of an lstm or gru in one launch, forward and backward, apart from the products of all
// steps at once. Host functions that launch kernels on a stream. With small states, a block has
// whole samples. With wide ones, a team of blocks shares them.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

namespace troika::cuda {

// Arrays that may be null then count as zeros. Those of c are null in a gru. The gates are those of
// src/ops/lstm.cpp and gru.cpp: rows = 4 h or 3 h.
struct RecurrentSequence {
  int64_t n, t, hidden;
  const float* of_input;           // [n, t, rows], the input's part of the sums; may be gates in an lstm
  const float* weight_hh;          // [rows, h]
  const float *bias_ih, *bias_hh;  // [rows]; may be null
  const float *first_h, *first_c;  // [n, h]; may be null
  float* gates;                    // [n, t, 4 h], what the gradient needs
  float *c, *y;                    // [n, t, h]
  float *last_c, *last_h;          // [n, h]
  unsigned* flags;                 // of teams: recurrent_flag_bytes(); otherwise not used
};

struct RecurrentSequenceGradient {
  int64_t n, t, hidden;
  const float* weight_hh;
  const float *gates, *c, *y;      // as forward
  const float *first_h, *first_c;  // as forward
  const float* dy;                 // [n, t, h], of y by the loss; may be null
  const float *dlast_h, *dlast_c;  // [n, h], of the last states; may be null
  float *dinput, *dstate;          // [n, t, rows], of either part of the sums; dstate may be null: the same
  float *dfirst_h, *dfirst_c;      // [n, h]; may be null: not wanted
  unsigned* flags;                 // as forward
};

// Whether a block may have as much shared memory as they need, `shared_bytes` at most.
bool takes_recurrent_sequence(int64_t hidden, size_t shared_bytes);

void lstm_sequence(const RecurrentSequence& sequence, int multiprocessors, cudaStream_t stream);
void lstm_sequence_gradient(const RecurrentSequenceGradient& sequence, int multiprocessors, cudaStream_t stream);
void gru_sequence(const RecurrentSequence& sequence, int multiprocessors, cudaStream_t stream);
void gru_sequence_gradient(const RecurrentSequenceGradient& sequence, int multiprocessors, cudaStream_t stream);

// Whether the GPU has room for teams, all of whose blocks run at once: for states of 129 to 512
// numbers, and few samples.
bool takes_recurrent_teams(bool is_lstm, int64_t n, int64_t hidden, int multiprocessors, size_t shared_bytes);
size_t recurrent_flag_bytes(int multiprocessors);

void lstm_teams(const RecurrentSequence& sequence, int multiprocessors, cudaStream_t stream);
void lstm_teams_gradient(const RecurrentSequenceGradient& sequence, int multiprocessors, cudaStream_t stream);
void gru_teams(const RecurrentSequence& sequence, int multiprocessors, cudaStream_t stream);
void gru_teams_gradient(const RecurrentSequenceGradient& sequence, int multiprocessors, cudaStream_t stream);

}  // namespace troika::cuda
