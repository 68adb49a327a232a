// lstm and its gradient. Threads take samples, through all steps: nothing waits inside a sequence, and nothing depends on the
// number of threads. A row below is a sample's at one step.
#include "backends/cpu/activations.h"
#include "backends/cpu/recurrent.h"

namespace troika::cpu {
namespace {

// From sums [4 h] before the nonlinearity: gates i, f, g, o, the new c and y.
TROIKA_VECTORIZE void forward_row(int64_t h, const float* __restrict sums, const float* __restrict c_before,
                                  float* __restrict gates, float* __restrict c, float* __restrict y) {
  for (int64_t j = 0; j < h; ++j) {
    const float i = sigmoid_lane(sums[j]), f = sigmoid_lane(sums[h + j]), g = tanh_lane(sums[2 * h + j]),
                o = sigmoid_lane(sums[3 * h + j]);
    const float now = f * c_before[j] + i * g;
    gates[j] = i;
    gates[h + j] = f;
    gates[2 * h + j] = g;
    gates[3 * h + j] = o;
    c[j] = now;
    y[j] = o * tanh_lane(now);
  }
}

// From the gradients of y by the loss (dy) and by later steps (dh), and of c by later steps (dc): that of the sums, and dc for
// the step before.
TROIKA_VECTORIZE void backward_row(int64_t h, const float* __restrict gates, const float* __restrict c,
                                   const float* __restrict c_before, const float* __restrict dy,
                                   const float* __restrict dh, float* __restrict dc, float* __restrict dsums) {
  for (int64_t j = 0; j < h; ++j) {
    const float i = gates[j], f = gates[h + j], g = gates[2 * h + j], o = gates[3 * h + j];
    const float tanh_c = tanh_lane(c[j]), d = dy[j] + dh[j];
    const float dnow = dc[j] + d * o * (1 - tanh_c * tanh_c);
    dsums[j] = dnow * g * i * (1 - i);
    dsums[h + j] = dnow * c_before[j] * f * (1 - f);
    dsums[2 * h + j] = dnow * i * (1 - g * g);
    dsums[3 * h + j] = d * tanh_c * o * (1 - o);
    dc[j] = dnow * f;
  }
}

struct Lstm {
  RecurrentShape s;
  bool has_bias, has_state;

  FloatScratch scratch = {};
  int64_t packed_ih = scratch.take(packed_floats(s.features, s.rows)),
          packed_hh = scratch.take(packed_floats(s.hidden, s.rows)), bias = scratch.take(s.rows),
          zeros = scratch.take(s.hidden), sums = scratch.take(s.n * s.rows);

  void run(const Floats& f) const {
    pack_matrix(f.in(1), 1, s.features, s.features, s.rows, f.scratch(packed_ih));
    pack_matrix(f.in(2), 1, s.hidden, s.hidden, s.rows, f.scratch(packed_hh));
    for (int64_t k = 0; k < s.rows; ++k) f.scratch(bias)[k] = has_bias ? f.in(3)[k] + f.in(4)[k] : 0.0f;
    std::fill_n(f.scratch(zeros), s.hidden, 0.0f);
    parallel_for(s.n, sample_grain(s), [&](int64_t begin, int64_t end) {
      for (int64_t step = 0; step < s.t; ++step) run_step(f, {begin, end}, step);
      const int64_t last = (s.t - 1) * s.hidden;
      for (int64_t n = begin; n < end; ++n) {
        std::copy_n(f.out(0) + n * s.t * s.hidden + last, s.hidden, f.out(1) + n * s.hidden);
        std::copy_n(f.out(4) + n * s.t * s.hidden + last, s.hidden, f.out(2) + n * s.hidden);
      }
    });
  }

 private:
  void run_step(const Floats& f, Range samples, int64_t step) const {
    const int64_t h = s.hidden, at = samples.begin * s.t + step;  // the first sample's row of this step
    float* const first = f.scratch(sums) + samples.begin * s.rows;
    for (int64_t n = 0; n < samples.size(); ++n) std::copy_n(f.scratch(bias), s.rows, first + n * s.rows);
    multiply_packed(f.in(0) + at * s.features, s.t * s.features, samples.size(), s.features, f.scratch(packed_ih),
                    s.rows, first, s.rows, true);
    if (step > 0)
      multiply_packed(f.out(0) + (at - 1) * h, s.t * h, samples.size(), h, f.scratch(packed_hh), s.rows, first, s.rows,
                      true);
    else if (has_state)
      multiply_packed(f.in(5) + samples.begin * h, h, samples.size(), h, f.scratch(packed_hh), s.rows, first, s.rows,
                      true);
    for (int64_t n = samples.begin; n < samples.end; ++n) {
      const int64_t row = n * s.t + step;
      const float* const c_before = step > 0    ? f.out(4) + (row - 1) * h
                                    : has_state ? f.in(6) + n * h
                                                : f.scratch(zeros);
      forward_row(h, f.scratch(sums) + n * s.rows, c_before, f.out(3) + row * s.rows, f.out(4) + row * h,
                  f.out(0) + row * h);
    }
  }
};

struct LstmGradient {
  RecurrentShape s;
  RecurrentGradients made;
  bool has_state, has_dy, has_dh, has_dc;

  FloatScratch scratch = {};
  int64_t packed_ih = scratch.take(made.input ? packed_floats(s.rows, s.features) : 0),
          packed_hh = scratch.take(packed_floats(s.rows, s.hidden)), zeros = scratch.take(s.hidden),
          before = scratch.take(made.weights ? s.n * s.t * s.hidden : 0), dsums = scratch.take(s.n * s.t * s.rows),
          dh = scratch.take(s.n * s.hidden), dc = scratch.take(s.n * s.hidden),
          packed_dsums = scratch.take(made.weights ? packed_floats(s.n * s.t, s.rows) : 0),
          packed = scratch.take(made.weights ? packed_floats(s.n * s.t, std::max(s.features, s.hidden)) : 0);

  void run(const Floats& f) const {
    if (made.input) pack_matrix(f.in(1), s.features, 1, s.rows, s.features, f.scratch(packed_ih));
    pack_matrix(f.in(2), s.hidden, 1, s.rows, s.hidden, f.scratch(packed_hh));
    std::fill_n(f.scratch(zeros), s.hidden, 0.0f);
    parallel_for(s.n, sample_grain(s), [&](int64_t begin, int64_t end) { run_samples(f, {begin, end}); });
    if (made.weights) {
      pack_matrix(f.scratch(dsums), s.rows, 1, s.n * s.t, s.rows, f.scratch(packed_dsums));
      multiply_gradient(s, f.scratch(packed_dsums), f.in(0), s.features, f.scratch(packed), f.out(0));
      multiply_gradient(s, f.scratch(packed_dsums), f.scratch(before), s.hidden, f.scratch(packed), f.out(1));
    }
    if (made.bias) {
      sum_rows(f.scratch(dsums), s.n * s.t, s.rows, f.out(made.biases_at));
      std::copy_n(f.out(made.biases_at), s.rows, f.out(made.biases_at + 1));
    }
  }

 private:
  void run_samples(const Floats& f, Range samples) const {
    const int64_t own = samples.begin * s.hidden, floats = samples.size() * s.hidden;
    begin_with(has_dh ? f.in(9) + own : nullptr, floats, f.scratch(dh) + own);
    begin_with(has_dc ? f.in(10) + own : nullptr, floats, f.scratch(dc) + own);
    for (int64_t step = s.t; step-- > 0;) run_step(f, samples, step);
    if (made.state) {
      std::copy_n(f.scratch(dh) + own, floats, f.out(made.states_at) + own);
      std::copy_n(f.scratch(dc) + own, floats, f.out(made.states_at + 1) + own);
    }
    if (made.weights) copy_before(s, samples, has_state ? f.in(3) : nullptr, f.in(5), f.scratch(before));
  }

  void run_step(const Floats& f, Range samples, int64_t step) const {
    const int64_t h = s.hidden, at = samples.begin * s.t + step;
    for (int64_t n = samples.begin; n < samples.end; ++n) {
      const int64_t row = n * s.t + step;
      const float* const c_before = step > 0 ? f.in(7) + (row - 1) * h : has_state ? f.in(4) + n * h : f.scratch(zeros);
      backward_row(h, f.in(6) + row * s.rows, f.in(7) + row * h, c_before,
                   has_dy ? f.in(8) + row * h : f.scratch(zeros), f.scratch(dh) + n * h, f.scratch(dc) + n * h,
                   f.scratch(dsums) + row * s.rows);
    }
    const float* const first = f.scratch(dsums) + at * s.rows;
    if (step > 0 || made.state)
      multiply_packed(first, s.t * s.rows, samples.size(), s.rows, f.scratch(packed_hh), h,
                      f.scratch(dh) + samples.begin * h, h, false);
    if (made.input)
      multiply_packed(first, s.t * s.rows, samples.size(), s.rows, f.scratch(packed_ih), s.features,
                      f.out(made.input_at) + at * s.features, s.t * s.features, false);
  }
};

}  // namespace

KernelChoice select_lstm(const CpuDevice&, const KernelRequest& request) {
  const Lstm lstm{RecurrentShape::of(request), has_input(request, 3), has_input(request, 5)};
  return recurrent_choice(request, "cpu:lstm", lstm);
}

KernelChoice select_lstm_gradient(const CpuDevice&, const KernelRequest& request) {
  const LstmGradient gradient{RecurrentShape::of(request), RecurrentGradients(request.node.attributes),
                              has_input(request, 3),       has_input(request, 8),
                              has_input(request, 9),       has_input(request, 10)};
  return recurrent_choice(request, "cpu:lstm_gradient", gradient);
}

}  // namespace troika::cpu
