// What the kernels of recurrent layers (lstm, gru) share: sizes, and places in their scratch.
#pragma once

#include <algorithm>

#include "backends/cpu/kernels.h"
#include "backends/cpu/packed_product.h"
#include "backends/cpu/threads.h"
#include "core/split.h"
#include "ops/recurrent.h"

namespace troika::cpu {

// Floats of the scratch, handed out one run behind the other.
class FloatScratch {
 public:
  int64_t take(int64_t floats) {
    const int64_t begin = floats_;
    floats_ += (floats + 15) / 16 * 16;
    return begin;
  }
  size_t bytes() const { return static_cast<size_t>(floats_) * sizeof(float); }

 private:
  int64_t floats_ = 0;
};

// Of x [n, t, features] and weights [gates * hidden, ...].
struct RecurrentShape {
  int64_t n, t, features, hidden, rows;

  static RecurrentShape of(const KernelRequest& request) {
    const auto shape = [&](size_t i) -> const Shape& { return request.graph.type(request.node.inputs[i]).shape; };
    return {shape(0)[0], shape(0)[1], shape(0)[2], shape(2)[1], shape(2)[0]};
  }
};

// Samples that a thread takes at least: fewer would not be worth waking it for.
inline int64_t sample_grain(const RecurrentShape& s) {
  constexpr int64_t kLeastProducts = 1 << 17;
  return std::max<int64_t>(1, kLeastProducts / (s.t * s.rows * (s.features + s.hidden)));
}

// The arguments of a bound kernel, as floats.
class Floats {
 public:
  Floats(void* const* in, void* const* out, void* scratch)
      : in_(in), out_(out), scratch_(static_cast<float*>(scratch)) {}
  const float* in(size_t i) const { return static_cast<const float*>(in_[i]); }
  float* out(size_t i) const { return static_cast<float*>(out_[i]); }
  float* scratch(int64_t at) const { return scratch_ + at; }

 private:
  void* const* in_;
  void* const* out_;
  float* const scratch_;
};

// The gradient of a state that later parts of the sequence give (null: none).
inline void begin_with(const float* given, int64_t floats, float* gradient) {
  if (given)
    std::copy_n(given, floats, gradient);
  else
    std::fill_n(gradient, floats, 0.0f);
}

// The states before each step [n, t, hidden]: the one that the steps begin with (null: zeros), then those of y but the last.
inline void copy_before(const RecurrentShape& s, Range samples, const float* first, const float* y, float* before) {
  for (int64_t n = samples.begin; n < samples.end; ++n) {
    float* const to = before + n * s.t * s.hidden;
    if (first)
      std::copy_n(first + n * s.hidden, s.hidden, to);
    else
      std::fill_n(to, s.hidden, 0.0f);
    std::copy_n(y + n * s.t * s.hidden, (s.t - 1) * s.hidden, to + s.hidden);
  }
}

// A weight's gradient [rows, columns] from those of sums, packed [n t, rows], and from what the weight was multiplied by
// [n t, columns], which is packed for it first.
inline void multiply_gradient(const RecurrentShape& s, const float* packed_dsums, const float* factor, int64_t columns,
                              float* packed, float* dweight) {
  pack_matrix(factor, columns, 1, s.n * s.t, columns, packed);
  multiply_transposed(packed_dsums, packed, s.n * s.t, s.rows, columns, dweight);
}

// The answer of a body with scratch and run(Floats): everything plain.
template <typename Body>
KernelChoice recurrent_choice(const KernelRequest& request, std::string name, const Body& body) {
  auto run = [body](void* const* in, void* const* out, void* scratch) { body.run(Floats(in, out, scratch)); };
  KernelChoice choice = uniform_choice(request, nullptr, std::move(name), make_kernel(run));
  choice.scratch_bytes = body.scratch.bytes();
  return choice;
}

}  // namespace troika::cpu
