// lstm and its gradient: the input's part of all sums as one product; then a product and a launch
// for the gates at each step.
#include "backends/cuda/recurrent.h"

namespace troika::cuda {
namespace {

constexpr size_t kLstmStates = 2;  // h and c

struct Lstm {
  static constexpr size_t kGatesInput = 0;  // none

  RecurrentSizes s;
  int multiprocessors;
  ScratchLedger scratch{kScratchAlignment};
  RecurrentProducts products;
  size_t sums, flags;  // [n, 4 h], the state's part; of teams

  Lstm(const CudaDevice& device, const KernelRequest& request)
      : s(RecurrentSizes::of(request.graph, request.node)),
        multiprocessors(device.multiprocessors()),
        products(device, request, s, scratch),
        sums(scratch.take_floats(s.batch * s.rows)),
        flags(scratch.take(recurrent_flag_bytes(multiprocessors))) {}

  void run_steps(const Arguments& a, cudaStream_t stream) const {
    float* const gates = a.out<float>(recurrent::gates(kLstmStates));
    products.of_input(a, gates, stream);
    for (int64_t step = 0; step < s.steps; ++step) {
      const float* const h = step > 0 ? a.out<float>(recurrent::last_states) : a.in<float>(recurrent::first_states);
      float* const of_state = h ? scratch_at(a, sums) : nullptr;
      if (h) products.of_state(a, h, of_state, stream);
      lstm_step(
          step_of(s, step),
          {.of_state = of_state,
           .bias_ih = a.in<float>(recurrent::bias_ih),
           .bias_hh = a.in<float>(recurrent::bias_hh),
           .c_before = step > 0 ? a.out<float>(recurrent::last_states + 1) : a.in<float>(recurrent::first_states + 1),
           .gates = gates,
           .c = a.out<float>(recurrent::every_c(kLstmStates)),
           .y = a.out<float>(recurrent::y),
           .last_c = a.out<float>(recurrent::last_states + 1),
           .last_h = a.out<float>(recurrent::last_states)},
          stream);
    }
  }

  void run_at_once(const Arguments& a, bool by_teams, cudaStream_t stream) const {
    float* const gates = a.out<float>(recurrent::gates(kLstmStates));
    products.of_input(a, gates, stream);
    (by_teams ? lstm_teams : lstm_sequence)(sequence_of(s, a, kLstmStates, gates, flags), multiprocessors, stream);
  }
};

struct LstmGradient {
  static constexpr size_t kGatesInput = recurrent_gradient::gates(kLstmStates);

  RecurrentSizes s;
  int multiprocessors;
  ScratchLedger scratch{kScratchAlignment};
  RecurrentGradientProducts products;
  size_t dsums, dsums_now, dh, dc;  // [n, t, 4 h], [n, 4 h]; [n, h] if they are not outputs
  size_t flags;                     // of teams

  LstmGradient(const CudaDevice& device, const KernelRequest& request)
      : s(RecurrentSizes::of(request.graph, request.node)),
        multiprocessors(device.multiprocessors()),
        products(device, request, s, false, scratch),
        dsums(scratch.take_floats(s.batch * s.steps * s.rows)),
        dsums_now(scratch.take_floats(s.batch * s.rows)),
        dh(scratch.take_floats(products.made.state ? 0 : s.batch * s.hidden)),
        dc(scratch.take_floats(products.made.state ? 0 : s.batch * s.hidden)),
        flags(scratch.take(recurrent_flag_bytes(multiprocessors))) {}

  void run_steps(const Arguments& a, cudaStream_t stream) const {
    const RecurrentGradients& made = products.made;
    float *const of_sums = scratch_at(a, dsums), *const now = scratch_at(a, dsums_now);
    float* const of_h = made.state ? a.out<float>(made.states_at) : scratch_at(a, dh);
    float* const of_c = made.state ? a.out<float>(made.states_at + 1) : scratch_at(a, dc);
    for (int64_t step = s.steps; step-- > 0;) {
      const bool is_last = step == s.steps - 1;
      lstm_step_gradient(step_of(s, step),
                         {.gates = a.in<float>(recurrent_gradient::gates(kLstmStates)),
                          .c = a.in<float>(recurrent_gradient::every_c(kLstmStates)),
                          .first_c = a.in<float>(recurrent_gradient::first_states + 1),
                          .dy = a.in<float>(recurrent_gradient::dy(kLstmStates)),
                          .dh = is_last ? a.in<float>(recurrent_gradient::dlast_states(kLstmStates)) : of_h,
                          .dc = is_last ? a.in<float>(recurrent_gradient::dlast_states(kLstmStates) + 1) : of_c,
                          .dsums = of_sums,
                          .dsums_now = now,
                          .dc_before = of_c},
                         stream);
      if (step > 0 || made.state) products.of_state(a, now, of_h, stream);
    }
    products.of_sequence(a, a.in<float>(recurrent_gradient::y(kLstmStates)), of_sums, of_sums, stream);
  }

  void run_at_once(const Arguments& a, bool by_teams, cudaStream_t stream) const {
    float* const of_sums = scratch_at(a, dsums);
    (by_teams ? lstm_teams_gradient : lstm_sequence_gradient)(
        sequence_gradient_of(s, products.made, a, kLstmStates, of_sums, nullptr, flags), multiprocessors, stream);
    products.of_sequence(a, a.in<float>(recurrent_gradient::y(kLstmStates)), of_sums, of_sums, stream);
  }
};

}  // namespace

KernelChoice select_lstm(CudaDevice& device, const KernelRequest& request) {
  return recurrent_choice(device, request, "lstm", Lstm(device, request));
}

KernelChoice select_lstm_gradient(CudaDevice& device, const KernelRequest& request) {
  return recurrent_choice(device, request, "lstm_gradient", LstmGradient(device, request));
}

}  // namespace troika::cuda
