// The walk over the steps of a recurrent layer. A thread takes some samples through all steps:
// nothing waits inside a sequence, and no result depends on the number of threads.
// A row below belongs to one sample at one step.
#include "backends/cpu/recurrent.h"

#include <algorithm>
#include <functional>

#include "backends/cpu/packed_product.h"
#include "backends/cpu/threads.h"
#include "core/split.h"
#include "device/scratch.h"
#include "ops/recurrent.h"

namespace troika::cpu {
namespace {

// The arguments of a bound kernel, as floats. Inputs that are absent are null.
class Floats {
 public:
  Floats(void* const* in, void* const* out, void* scratch)
      : in_(in), out_(out), scratch_(static_cast<std::byte*>(scratch)) {}
  const float* in(size_t i) const { return static_cast<const float*>(in_[i]); }
  float* out(size_t i) const { return static_cast<float*>(out_[i]); }
  float* scratch(size_t offset) const { return reinterpret_cast<float*>(scratch_ + offset); }

 private:
  void* const* in_;
  void* const* out_;
  std::byte* const scratch_;
};

// The fewest samples per thread: fewer would not be worth waking it for.
int64_t sample_grain(const RecurrentSizes& s) {
  constexpr int64_t kLeastProducts = 1 << 17;
  return std::max<int64_t>(1, kLeastProducts / (s.steps * s.rows * (s.features + s.hidden)));
}

// Copies `given`, or zeros if it is null.
void copy_or_zeros(const float* given, int64_t floats, float* to) {
  if (given)
    std::copy_n(given, floats, to);
  else
    std::fill_n(to, floats, 0.0f);
}

// Sample n's state before a step. After step 0 it is in `every` [batch, steps, hidden]. At step 0
// it is in `first` [batch, hidden], or is `zeros` if `first` is null.
const float* state_before(const RecurrentSizes& s, int64_t n, int64_t step, const float* every, const float* first,
                          const float* zeros) {
  if (step > 0) return every + (n * s.steps + step - 1) * s.hidden;
  return first ? first + n * s.hidden : zeros;
}

struct RecurrentForward {
  const RecurrentCell& cell;
  RecurrentSizes s;

  const size_t carried = cell.states > 1 ? recurrent::every_c(cell.states) : recurrent::y,
               first_carried = recurrent::first_states + cell.states - 1;
  ScratchLedger scratch{kScratchAlignment};
  const size_t packed_ih = scratch.take_floats(packed_floats(s.features, s.rows)),
               packed_hh = scratch.take_floats(packed_floats(s.hidden, s.rows)),
               bias = scratch.take_floats((cell.splits_sums ? 2 : 1) * s.rows), zeros = scratch.take_floats(s.hidden),
               input_sums = scratch.take_floats(s.batch * s.rows),
               state_sums = cell.splits_sums ? scratch.take_floats(s.batch * s.rows) : input_sums;

  void run(const Floats& f) const {
    pack_matrix(f.in(recurrent::weight_ih), 1, s.features, s.features, s.rows, f.scratch(packed_ih));
    pack_matrix(f.in(recurrent::weight_hh), 1, s.hidden, s.hidden, s.rows, f.scratch(packed_hh));
    set_bias(f.in(recurrent::bias_ih), f.in(recurrent::bias_hh), f.scratch(bias));
    std::fill_n(f.scratch(zeros), s.hidden, 0.0f);
    parallel_for(s.batch, sample_grain(s), [&](int64_t begin, int64_t end) {
      for (int64_t step = 0; step < s.steps; ++step) run_step(f, {begin, end}, step);
      copy_last({begin, end}, f.out(recurrent::y), f.out(recurrent::last_states));
      if (cell.states > 1) copy_last({begin, end}, f.out(carried), f.out(recurrent::last_states + 1));
    });
  }

 private:
  // The sums begin with the biases: one row if both parts are added, else a row for each.
  void set_bias(const float* bias_ih, const float* bias_hh, float* to) const {
    copy_or_zeros(bias_ih, s.rows, to);
    if (cell.splits_sums)
      copy_or_zeros(bias_hh, s.rows, to + s.rows);
    else if (bias_hh)
      std::transform(to, to + s.rows, bias_hh, to, std::plus<>());
  }

  void run_step(const Floats& f, Range samples, int64_t step) const {
    const int64_t h = s.hidden, row = samples.begin * s.steps + step;  // the first sample's
    float* const of_input = f.scratch(input_sums) + samples.begin * s.rows;
    float* const of_state = f.scratch(state_sums) + samples.begin * s.rows;
    for (int64_t n = 0; n < samples.size(); ++n) {
      std::copy_n(f.scratch(bias), s.rows, of_input + n * s.rows);
      if (cell.splits_sums) std::copy_n(f.scratch(bias) + s.rows, s.rows, of_state + n * s.rows);
    }
    multiply_packed(f.in(recurrent::x) + row * s.features, s.steps * s.features, samples.size(), s.features,
                    f.scratch(packed_ih), s.rows, of_input, s.rows, true);
    const float* const h_before =
        state_before(s, samples.begin, step, f.out(recurrent::y), f.in(recurrent::first_states), nullptr);
    if (h_before)
      multiply_packed(h_before, step > 0 ? s.steps * h : h, samples.size(), h, f.scratch(packed_hh), s.rows, of_state,
                      s.rows, true);
    for (int64_t n = samples.begin; n < samples.end; ++n) compute_row(f, n, step);
  }

  void compute_row(const Floats& f, int64_t n, int64_t step) const {
    const int64_t h = s.hidden, row = n * s.steps + step;
    cell.forward({.hidden = h,
                  .input_sums = f.scratch(input_sums) + n * s.rows,
                  .state_sums = f.scratch(state_sums) + n * s.rows,
                  .before = state_before(s, n, step, f.out(carried), f.in(first_carried), f.scratch(zeros)),
                  .gates = f.out(recurrent::gates(cell.states)) + row * cell.kept * h,
                  .carried = f.out(carried) + row * h,
                  .y = f.out(recurrent::y) + row * h});
  }

  void copy_last(Range samples, const float* every, float* last) const {
    for (int64_t n = samples.begin; n < samples.end; ++n)
      std::copy_n(every + ((n + 1) * s.steps - 1) * s.hidden, s.hidden, last + n * s.hidden);
  }
};

struct RecurrentBackward {
  const RecurrentCell& cell;
  RecurrentSizes s;
  RecurrentGradients made;

  const size_t carried = cell.states > 1 ? recurrent_gradient::every_c(cell.states)
                                         : recurrent_gradient::y(cell.states),
               first_carried = recurrent_gradient::first_states + cell.states - 1;
  const int64_t all = s.batch * s.steps;               // rows of all samples and steps
  const int64_t weight_rows = made.weights ? all : 0;  // rows that gradients of weights read
  ScratchLedger scratch{kScratchAlignment};
  const size_t packed_ih = scratch.take_floats(made.input ? packed_floats(s.rows, s.features) : 0),
               packed_hh = scratch.take_floats(packed_floats(s.rows, s.hidden)), zeros = scratch.take_floats(s.hidden),
               before = scratch.take_floats(weight_rows * s.hidden), dinput_sums = scratch.take_floats(all * s.rows),
               dstate_sums = cell.splits_sums ? scratch.take_floats(all * s.rows) : dinput_sums,
               dh = scratch.take_floats(s.batch * s.hidden),
               dcarried = cell.states > 1 ? scratch.take_floats(s.batch*s.hidden) : dh,
               packed_dsums = scratch.take_floats(packed_floats(weight_rows, s.rows)),
               packed_factor = scratch.take_floats(packed_floats(weight_rows, std::max(s.features, s.hidden)));

  void run(const Floats& f) const {
    if (made.input)
      pack_matrix(f.in(recurrent_gradient::weight_ih), s.features, 1, s.rows, s.features, f.scratch(packed_ih));
    pack_matrix(f.in(recurrent_gradient::weight_hh), s.hidden, 1, s.rows, s.hidden, f.scratch(packed_hh));
    std::fill_n(f.scratch(zeros), s.hidden, 0.0f);
    parallel_for(s.batch, sample_grain(s), [&](int64_t begin, int64_t end) { run_samples(f, {begin, end}); });
    if (made.weights) {
      pack_matrix(f.scratch(dinput_sums), s.rows, 1, all, s.rows, f.scratch(packed_dsums));
      multiply_gradient(f, f.in(recurrent_gradient::x), s.features, f.out(0));
      if (cell.splits_sums) pack_matrix(f.scratch(dstate_sums), s.rows, 1, all, s.rows, f.scratch(packed_dsums));
      multiply_gradient(f, f.scratch(before), s.hidden, f.out(1));
    }
    if (made.bias) {
      sum_rows(f.scratch(dinput_sums), all, s.rows, f.out(made.biases_at));
      if (cell.splits_sums)
        sum_rows(f.scratch(dstate_sums), all, s.rows, f.out(made.biases_at + 1));
      else
        std::copy_n(f.out(made.biases_at), s.rows, f.out(made.biases_at + 1));
    }
  }

 private:
  void run_samples(const Floats& f, Range samples) const {
    const int64_t own = samples.begin * s.hidden, floats = samples.size() * s.hidden;
    const size_t dstates[] = {dh, dcarried};
    for (size_t state = 0; state < cell.states; ++state) {
      const float* const given = f.in(recurrent_gradient::dlast_states(cell.states) + state);
      copy_or_zeros(given ? given + own : nullptr, floats, f.scratch(dstates[state]) + own);
    }
    for (int64_t step = s.steps; step-- > 0;) run_step(f, samples, step);
    for (size_t state = 0; made.state && state < cell.states; ++state)
      std::copy_n(f.scratch(dstates[state]) + own, floats, f.out(made.states_at + state) + own);
    for (int64_t n = samples.begin; made.weights && n < samples.end; ++n) copy_h_before(f, n);
  }

  void run_step(const Floats& f, Range samples, int64_t step) const {
    const int64_t h = s.hidden, row = samples.begin * s.steps + step;  // the first sample's
    for (int64_t n = samples.begin; n < samples.end; ++n) compute_row(f, n, step);
    if (step > 0 || made.state)
      multiply_packed(f.scratch(dstate_sums) + row * s.rows, s.steps * s.rows, samples.size(), s.rows,
                      f.scratch(packed_hh), h, f.scratch(dh) + samples.begin * h, h, cell.adds_to_dh);
    if (made.input)
      multiply_packed(f.scratch(dinput_sums) + row * s.rows, s.steps * s.rows, samples.size(), s.rows,
                      f.scratch(packed_ih), s.features, f.out(made.input_at) + row * s.features, s.steps * s.features,
                      false);
  }

  void compute_row(const Floats& f, int64_t n, int64_t step) const {
    const int64_t h = s.hidden, row = n * s.steps + step;
    const float* const dy = f.in(recurrent_gradient::dy(cell.states));
    cell.backward({.hidden = h,
                   .gates = f.in(recurrent_gradient::gates(cell.states)) + row * cell.kept * h,
                   .carried = f.in(carried) + row * h,
                   .before = state_before(s, n, step, f.in(carried), f.in(first_carried), f.scratch(zeros)),
                   .dy = dy ? dy + row * h : f.scratch(zeros),
                   .dh = f.scratch(dh) + n * h,
                   .dcarried = f.scratch(dcarried) + n * h,
                   .dinput_sums = f.scratch(dinput_sums) + row * s.rows,
                   .dstate_sums = f.scratch(dstate_sums) + row * s.rows});
  }

  // The h before every step of sample n: weight_hh was multiplied by it.
  void copy_h_before(const Floats& f, int64_t n) const {
    const float* const every = f.in(recurrent_gradient::y(cell.states)) + n * s.steps * s.hidden;
    const float* const first = f.in(recurrent_gradient::first_states);
    float* const to = f.scratch(before) + n * s.steps * s.hidden;
    copy_or_zeros(first ? first + n * s.hidden : nullptr, s.hidden, to);
    std::copy_n(every, (s.steps - 1) * s.hidden, to + s.hidden);
  }

  // A weight's gradient [rows, columns]: the packed gradients of sums [all, rows], transposed,
  // times `factor` [all, columns], which the weight was multiplied by.
  void multiply_gradient(const Floats& f, const float* factor, int64_t columns, float* dweight) const {
    pack_matrix(factor, columns, 1, all, columns, f.scratch(packed_factor));
    multiply_transposed(f.scratch(packed_dsums), f.scratch(packed_factor), all, s.rows, columns, dweight);
  }
};

// The choice of a body with scratch and run(Floats). All its layouts are plain.
template <typename Body>
KernelChoice choose(const KernelRequest& request, std::string name, const Body& body) {
  auto run = [body](void* const* in, void* const* out, void* scratch) { body.run(Floats(in, out, scratch)); };
  KernelChoice choice = uniform_choice(request, nullptr, std::move(name), make_kernel(run));
  choice.scratch_bytes = body.scratch.bytes();
  return choice;
}

}  // namespace

KernelChoice recurrent_forward(const KernelRequest& request, const RecurrentCell& cell) {
  return choose(request, text("cpu:", cell.name),
                RecurrentForward{cell, RecurrentSizes::of(request.graph, request.node)});
}

KernelChoice recurrent_backward(const KernelRequest& request, const RecurrentCell& cell) {
  return choose(request, text("cpu:", cell.name, "_gradient"),
                RecurrentBackward{cell, RecurrentSizes::of(request.graph, request.node),
                                  RecurrentGradients(request.node.attributes)});
}

}  // namespace troika::cpu
