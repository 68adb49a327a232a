// gru and its gradient, step by step as in lstm.cpp. Either part of the sums is kept, as they do
// not meet in n before r.
#include "backends/cuda/recurrent.h"

namespace troika::cuda {
namespace {

constexpr size_t kGruStates = 1;  // h

struct Gru {
  static constexpr size_t kGatesInput = 0;  // none

  RecurrentSizes s;
  int multiprocessors;
  ScratchLedger scratch{kScratchAlignment};
  RecurrentProducts products;
  size_t input_sums, state_sums;  // [n, t, 3 h], [n, 3 h]
  size_t flags;                   // of teams

  Gru(const CudaDevice& device, const KernelRequest& request)
      : s(RecurrentSizes::of(request.graph, request.node)),
        multiprocessors(device.multiprocessors()),
        products(device, request, s, scratch),
        input_sums(scratch.take_floats(s.batch * s.steps * s.rows)),
        state_sums(scratch.take_floats(s.batch * s.rows)),
        flags(scratch.take(recurrent_flag_bytes(multiprocessors))) {}

  void run_steps(const Arguments& a, cudaStream_t stream) const {
    float* const of_input = scratch_at(a, input_sums);
    products.of_input(a, of_input, stream);
    for (int64_t step = 0; step < s.steps; ++step) {
      const float* const h = step > 0 ? a.out<float>(recurrent::last_states) : a.in<float>(recurrent::first_states);
      float* const of_state = h ? scratch_at(a, state_sums) : nullptr;
      if (h) products.of_state(a, h, of_state, stream);
      gru_step(step_of(s, step),
               {.of_input = of_input,
                .of_state = of_state,
                .bias_ih = a.in<float>(recurrent::bias_ih),
                .bias_hh = a.in<float>(recurrent::bias_hh),
                .before = h,
                .gates = a.out<float>(recurrent::gates(kGruStates)),
                .y = a.out<float>(recurrent::y),
                .last_h = a.out<float>(recurrent::last_states)},
               stream);
    }
  }

  void run_at_once(const Arguments& a, bool by_teams, cudaStream_t stream) const {
    float* const of_input = scratch_at(a, input_sums);
    products.of_input(a, of_input, stream);
    (by_teams ? gru_teams : gru_sequence)(sequence_of(s, a, kGruStates, of_input, flags), multiprocessors, stream);
  }
};

struct GruGradient {
  static constexpr size_t kGatesInput = recurrent_gradient::gates(kGruStates);

  RecurrentSizes s;
  int multiprocessors;
  ScratchLedger scratch{kScratchAlignment};
  RecurrentGradientProducts products;
  size_t dinput, dstate, dstate_now, dh;  // [n, t, 3 h] twice, [n, 3 h]; [n, h] if it is not an output
  size_t flags;                           // of teams

  GruGradient(const CudaDevice& device, const KernelRequest& request)
      : s(RecurrentSizes::of(request.graph, request.node)),
        multiprocessors(device.multiprocessors()),
        products(device, request, s, true, scratch),
        dinput(scratch.take_floats(s.batch * s.steps * s.rows)),
        dstate(scratch.take_floats(s.batch * s.steps * s.rows)),
        dstate_now(scratch.take_floats(s.batch * s.rows)),
        dh(scratch.take_floats(products.made.state ? 0 : s.batch * s.hidden)),
        flags(scratch.take(recurrent_flag_bytes(multiprocessors))) {}

  void run_steps(const Arguments& a, cudaStream_t stream) const {
    const RecurrentGradients& made = products.made;
    float *const of_input = scratch_at(a, dinput), *const of_state = scratch_at(a, dstate);
    float* const now = scratch_at(a, dstate_now);
    float* const of_h = made.state ? a.out<float>(made.states_at) : scratch_at(a, dh);
    for (int64_t step = s.steps; step-- > 0;) {
      gru_step_gradient(step_of(s, step),
                        {.gates = a.in<float>(recurrent_gradient::gates(kGruStates)),
                         .y = a.in<float>(recurrent_gradient::y(kGruStates)),
                         .first_h = a.in<float>(recurrent_gradient::first_states),
                         .dy = a.in<float>(recurrent_gradient::dy(kGruStates)),
                         .dh = step == s.steps - 1 ? a.in<float>(recurrent_gradient::dlast_states(kGruStates)) : of_h,
                         .dinput = of_input,
                         .dstate = of_state,
                         .dstate_now = now,
                         .dh_before = of_h},
                        stream);
      if (step > 0 || made.state) products.of_state(a, now, of_h, stream);
    }
    products.of_sequence(a, a.in<float>(recurrent_gradient::y(kGruStates)), of_input, of_state, stream);
  }

  void run_at_once(const Arguments& a, bool by_teams, cudaStream_t stream) const {
    float *const of_input = scratch_at(a, dinput), *const of_state = scratch_at(a, dstate);
    (by_teams ? gru_teams_gradient : gru_sequence_gradient)(
        sequence_gradient_of(s, products.made, a, kGruStates, of_input, of_state, flags), multiprocessors, stream);
    products.of_sequence(a, a.in<float>(recurrent_gradient::y(kGruStates)), of_input, of_state, stream);
  }
};

}  // namespace

KernelChoice select_gru(CudaDevice& device, const KernelRequest& request) {
  return recurrent_choice(device, request, "gru", Gru(device, request));
}

KernelChoice select_gru_gradient(CudaDevice& device, const KernelRequest& request) {
  return recurrent_choice(device, request, "gru_gradient", GruGradient(device, request));
}

}  // namespace troika::cuda
