// A cell: the formulas of one step of a recurrent layer (lstm, gru). recurrent.cpp walks the steps.
#pragma once

#include "backends/cpu/kernels.h"

namespace troika::cpu {

// One sample at one step, forward. The carried state is c (lstm), or h, which is y (gru).
struct ForwardRow {
  int64_t hidden;
  const float *input_sums, *state_sums;  // [rows], of x and of h; one array if the cell adds them
  const float* before;                   // [hidden], the carried state before the step
  float* gates;                          // [kept * hidden], for the backward pass
  float* carried;                        // [hidden], the carried state after the step
  float* y;                              // [hidden]
};

// The same, backward.
struct BackwardRow {
  int64_t hidden;
  const float *gates, *carried, *before;  // as forward
  const float* dy;                        // [hidden], the gradient of y by the loss
  float* dh;                              // [hidden], the gradient of h by later steps
  float* dcarried;                        // [hidden], of the carried state; then that of `before`
  float *dinput_sums, *dstate_sums;       // [rows], written; one array if the cell adds both sums
};

struct RecurrentCell {
  const char* name;  // of the op
  size_t states;     // 1: h. 2: h and c
  int64_t kept;      // numbers that the backward pass needs for each number of a state
  bool splits_sums;  // the nonlinearity needs the sums of x and of h apart: each has an array
  bool adds_to_dh;   // h also reaches the next h past the weights: `backward` leaves its part in dh
  void (*forward)(const ForwardRow&);
  void (*backward)(const BackwardRow&);
};

// Kernels of the layer and of its gradient. `cell` must outlive them.
KernelChoice recurrent_forward(const KernelRequest& request, const RecurrentCell& cell);
KernelChoice recurrent_backward(const KernelRequest& request, const RecurrentCell& cell);

}  // namespace troika::cpu
