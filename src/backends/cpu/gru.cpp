// gru and its gradient. Threads take samples, through all steps, as in lstm.cpp. A row below is a sample's at one step.
#include "backends/cpu/activations.h"
#include "backends/cpu/recurrent.h"

namespace troika::cpu {
namespace {

// From sums [3 h] of the input's and the state's part, which meet before the nonlinearity: gates r, z, n, the state's part u of
// n's sum, and y, the new state.
TROIKA_VECTORIZE void forward_row(int64_t h, const float* __restrict of_input, const float* __restrict of_state,
                                  const float* __restrict before, float* __restrict gates, float* __restrict y) {
  for (int64_t j = 0; j < h; ++j) {
    const float r = sigmoid_lane(of_input[j] + of_state[j]), z = sigmoid_lane(of_input[h + j] + of_state[h + j]),
                u = of_state[2 * h + j], n = tanh_lane(of_input[2 * h + j] + r * u);
    gates[j] = r;
    gates[h + j] = z;
    gates[2 * h + j] = n;
    gates[3 * h + j] = u;
    y[j] = (1 - z) * n + z * before[j];
  }
}

// From the gradients of y by the loss (dy) and by later steps (dh): those of both sums, and in dh what the state before gets past
// the weights.
TROIKA_VECTORIZE void backward_row(int64_t h, const float* __restrict gates, const float* __restrict before,
                                   const float* __restrict dy, float* __restrict dh, float* __restrict dinput,
                                   float* __restrict dstate) {
  for (int64_t j = 0; j < h; ++j) {
    const float r = gates[j], z = gates[h + j], n = gates[2 * h + j], u = gates[3 * h + j];
    const float d = dy[j] + dh[j];
    const float dn = d * (1 - z) * (1 - n * n), dr = dn * u * r * (1 - r), dz = d * (before[j] - n) * z * (1 - z);
    dinput[j] = dr;
    dinput[h + j] = dz;
    dinput[2 * h + j] = dn;
    dstate[j] = dr;
    dstate[h + j] = dz;
    dstate[2 * h + j] = dn * r;
    dh[j] = d * z;
  }
}

struct Gru {
  RecurrentShape s;
  bool has_bias, has_state;

  FloatScratch scratch = {};
  int64_t packed_ih = scratch.take(packed_floats(s.features, s.rows)),
          packed_hh = scratch.take(packed_floats(s.hidden, s.rows)), biases = scratch.take(2 * s.rows),
          zeros = scratch.take(s.hidden), of_input = scratch.take(s.n * s.rows), of_state = scratch.take(s.n * s.rows);

  void run(const Floats& f) const {
    pack_matrix(f.in(1), 1, s.features, s.features, s.rows, f.scratch(packed_ih));
    pack_matrix(f.in(2), 1, s.hidden, s.hidden, s.rows, f.scratch(packed_hh));
    begin_with(has_bias ? f.in(3) : nullptr, s.rows, f.scratch(biases));
    begin_with(has_bias ? f.in(4) : nullptr, s.rows, f.scratch(biases) + s.rows);
    std::fill_n(f.scratch(zeros), s.hidden, 0.0f);
    parallel_for(s.n, sample_grain(s), [&](int64_t begin, int64_t end) {
      for (int64_t step = 0; step < s.t; ++step) run_step(f, {begin, end}, step);
      for (int64_t n = begin; n < end; ++n)
        std::copy_n(f.out(0) + ((n + 1) * s.t - 1) * s.hidden, s.hidden, f.out(1) + n * s.hidden);
    });
  }

 private:
  void run_step(const Floats& f, Range samples, int64_t step) const {
    const int64_t h = s.hidden, at = samples.begin * s.t + step;  // the first sample's row of this step
    float *const input_sums = f.scratch(of_input) + samples.begin * s.rows, *const state_sums = f.scratch(of_state) +
                                                                                                samples.begin * s.rows;
    for (int64_t n = 0; n < samples.size(); ++n) {
      std::copy_n(f.scratch(biases), s.rows, input_sums + n * s.rows);
      std::copy_n(f.scratch(biases) + s.rows, s.rows, state_sums + n * s.rows);
    }
    multiply_packed(f.in(0) + at * s.features, s.t * s.features, samples.size(), s.features, f.scratch(packed_ih),
                    s.rows, input_sums, s.rows, true);
    if (step > 0)
      multiply_packed(f.out(0) + (at - 1) * h, s.t * h, samples.size(), h, f.scratch(packed_hh), s.rows, state_sums,
                      s.rows, true);
    else if (has_state)
      multiply_packed(f.in(5) + samples.begin * h, h, samples.size(), h, f.scratch(packed_hh), s.rows, state_sums,
                      s.rows, true);
    for (int64_t n = samples.begin; n < samples.end; ++n) {
      const int64_t row = n * s.t + step;
      const float* const before = step > 0 ? f.out(0) + (row - 1) * h : has_state ? f.in(5) + n * h : f.scratch(zeros);
      forward_row(h, f.scratch(of_input) + n * s.rows, f.scratch(of_state) + n * s.rows, before, f.out(2) + row * 4 * h,
                  f.out(0) + row * h);
    }
  }
};

struct GruGradient {
  RecurrentShape s;
  RecurrentGradients made;
  bool has_state, has_dy, has_dh;

  FloatScratch scratch = {};
  int64_t packed_ih = scratch.take(made.input ? packed_floats(s.rows, s.features) : 0),
          packed_hh = scratch.take(packed_floats(s.rows, s.hidden)), zeros = scratch.take(s.hidden),
          before = scratch.take(made.weights ? s.n * s.t * s.hidden : 0), dinput = scratch.take(s.n * s.t * s.rows),
          dstate = scratch.take(s.n * s.t * s.rows), dh = scratch.take(s.n * s.hidden),
          packed_dsums = scratch.take(made.weights ? packed_floats(s.n * s.t, s.rows) : 0),
          packed = scratch.take(made.weights ? packed_floats(s.n * s.t, std::max(s.features, s.hidden)) : 0);

  void run(const Floats& f) const {
    if (made.input) pack_matrix(f.in(1), s.features, 1, s.rows, s.features, f.scratch(packed_ih));
    pack_matrix(f.in(2), s.hidden, 1, s.rows, s.hidden, f.scratch(packed_hh));
    std::fill_n(f.scratch(zeros), s.hidden, 0.0f);
    parallel_for(s.n, sample_grain(s), [&](int64_t begin, int64_t end) { run_samples(f, {begin, end}); });
    if (made.weights) {
      pack_matrix(f.scratch(dinput), s.rows, 1, s.n * s.t, s.rows, f.scratch(packed_dsums));
      multiply_gradient(s, f.scratch(packed_dsums), f.in(0), s.features, f.scratch(packed), f.out(0));
      pack_matrix(f.scratch(dstate), s.rows, 1, s.n * s.t, s.rows, f.scratch(packed_dsums));
      multiply_gradient(s, f.scratch(packed_dsums), f.scratch(before), s.hidden, f.scratch(packed), f.out(1));
    }
    if (made.bias) {
      sum_rows(f.scratch(dinput), s.n * s.t, s.rows, f.out(made.biases_at));
      sum_rows(f.scratch(dstate), s.n * s.t, s.rows, f.out(made.biases_at + 1));
    }
  }

 private:
  void run_samples(const Floats& f, Range samples) const {
    const int64_t own = samples.begin * s.hidden, floats = samples.size() * s.hidden;
    begin_with(has_dh ? f.in(7) + own : nullptr, floats, f.scratch(dh) + own);
    for (int64_t step = s.t; step-- > 0;) run_step(f, samples, step);
    if (made.state) std::copy_n(f.scratch(dh) + own, floats, f.out(made.states_at) + own);
    if (made.weights) copy_before(s, samples, has_state ? f.in(3) : nullptr, f.in(4), f.scratch(before));
  }

  void run_step(const Floats& f, Range samples, int64_t step) const {
    const int64_t h = s.hidden, at = samples.begin * s.t + step;
    for (int64_t n = samples.begin; n < samples.end; ++n) {
      const int64_t row = n * s.t + step;
      const float* const state = step > 0 ? f.in(4) + (row - 1) * h : has_state ? f.in(3) + n * h : f.scratch(zeros);
      backward_row(h, f.in(5) + row * 4 * h, state, has_dy ? f.in(6) + row * h : f.scratch(zeros),
                   f.scratch(dh) + n * h, f.scratch(dinput) + row * s.rows, f.scratch(dstate) + row * s.rows);
    }
    if (step > 0 || made.state)
      multiply_packed(f.scratch(dstate) + at * s.rows, s.t * s.rows, samples.size(), s.rows, f.scratch(packed_hh), h,
                      f.scratch(dh) + samples.begin * h, h, true);
    if (made.input)
      multiply_packed(f.scratch(dinput) + at * s.rows, s.t * s.rows, samples.size(), s.rows, f.scratch(packed_ih),
                      s.features, f.out(made.input_at) + at * s.features, s.t * s.features, false);
  }
};

}  // namespace

KernelChoice select_gru(const CpuDevice&, const KernelRequest& request) {
  return recurrent_choice(request, "cpu:gru",
                          Gru{RecurrentShape::of(request), has_input(request, 3), has_input(request, 5)});
}

KernelChoice select_gru_gradient(const CpuDevice&, const KernelRequest& request) {
  return recurrent_choice(request, "cpu:gru_gradient",
                          GruGradient{RecurrentShape::of(request), RecurrentGradients(request.node.attributes),
                                      has_input(request, 3), has_input(request, 6), has_input(request, 7)});
}

}  // namespace troika::cpu
