// What the kernels of recurrent layers (lstm, gru) share: sizes, places in their scratch, and products.
#pragma once

#include "backends/cuda/kernels.h"
#include "backends/cuda/matmul.h"
#include "backends/cuda/recurrent_step.h"
#include "ops/recurrent.h"

namespace troika::cuda {

// Of x [n, t, features] and weights [rows, ...].
struct RecurrentShape {
  int64_t n, t, features, hidden, rows;

  static RecurrentShape of(const KernelRequest& request) {
    const Shape &x = input_type(request, 0).shape, &weight_hh = input_type(request, 2).shape;
    return {x[0], x[1], x[2], weight_hh[1], weight_hh[0]};
  }

  SequenceStep at(int64_t step) const { return {n, t, step, hidden}; }
};

// Bytes of the scratch, handed out one run behind the other.
class ScratchPlan {
 public:
  size_t take(size_t bytes) {
    constexpr size_t kAligned = 256;  // which cuBLASLt wants
    const size_t begin = bytes_;
    bytes_ += (bytes + kAligned - 1) / kAligned * kAligned;
    return begin;
  }
  size_t take_floats(int64_t floats) { return take(static_cast<size_t>(floats) * sizeof(float)); }
  size_t bytes() const { return bytes_; }

 private:
  size_t bytes_ = 0;
};

inline float* scratch_at(const Arguments& a, size_t begin) {
  return reinterpret_cast<float*>(static_cast<std::byte*>(a.scratch) + begin);
}

// Both products of the sums before the nonlinearity. They share a workspace.
class RecurrentProducts {
 public:
  RecurrentProducts(const CudaDevice& device, const KernelRequest& request, const RecurrentShape& s,
                    ScratchPlan& scratch);

  std::string name() const { return state_ ? state_->name() : "any"; }  // of the product that each step waits for
  // sums [n t, rows] = x weight_ih^T: of all steps.
  void of_input(const Arguments& a, float* sums, cudaStream_t stream) const;
  // sums [n, rows] = h weight_hh^T: of one step.
  void of_state(const Arguments& a, const float* h, float* sums, cudaStream_t stream) const;

 private:
  std::unique_ptr<Matmul> input_, state_;
  size_t workspace_;
};

// What a backward node makes of the gradients of the sums. Its first inputs are x, weight_ih, weight_hh and the first h or none.
class RecurrentGradientProducts {
 public:
  // `adds`: to what dh holds of the state before.
  RecurrentGradientProducts(const CudaDevice& device, const KernelRequest& request, const RecurrentShape& s, bool adds,
                            ScratchPlan& scratch);

  const RecurrentGradients made;
  std::string name() const { return state_ ? state_->name() : "any"; }
  // dh [n, hidden] = dsums [n, rows] weight_hh: of one step.
  void of_state(const Arguments& a, const float* dsums, float* dh, cudaStream_t stream) const;
  // Of x, weights and biases: from y and the gradients of either part of the sums at all steps, [n t, rows], which may be the same.
  void of_sequence(const Arguments& a, const float* y, const float* dinput, const float* dstate,
                   cudaStream_t stream) const;

 private:
  const RecurrentShape s_;
  std::unique_ptr<Matmul> state_, input_, weight_ih_, weight_hh_;
  size_t workspace_, before_, sums_;
};

// The answer of a body with scratch and launches: everything plain. `op`: what its products serve.
template <typename Body>
KernelChoice recurrent_choice(const CudaDevice& device, const KernelRequest& request, const char* op, Body body) {
  const std::string name = text("cuda:cublaslt:", op, '_', body.products.name());
  const size_t bytes = body.scratch.bytes();
  KernelChoice choice = plain_choice(request, name, make_kernel(device, std::move(body)));
  choice.scratch_bytes = bytes;
  return choice;
}

}  // namespace troika::cuda
