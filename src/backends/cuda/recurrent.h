// The products of recurrent layers (lstm, gru), which their kernels share.
#pragma once

#include "backends/cuda/kernels.h"
#include "backends/cuda/matmul.h"
#include "backends/cuda/recurrent_step.h"
#include "core/text.h"
#include "device/scratch.h"
#include "ops/recurrent.h"

namespace troika::cuda {

// Parts of a kernel's scratch begin at multiples of these bytes, as cuBLASLt's workspaces must.
constexpr size_t kScratchAlignment = 256;

inline float* scratch_at(const Arguments& a, size_t offset) {
  return reinterpret_cast<float*>(static_cast<std::byte*>(a.scratch) + offset);
}

inline SequenceStep step_of(const RecurrentSizes& s, int64_t step) { return {s.batch, s.steps, step, s.hidden}; }

// Both products of the sums before the nonlinearity. They share a workspace.
class RecurrentProducts {
 public:
  RecurrentProducts(const CudaDevice& device, const KernelRequest& request, const RecurrentSizes& s,
                    ScratchLedger& scratch);

  std::string name() const { return state_ ? state_->name() : "any"; }  // of the product that each step waits for
  // sums [n t, rows] = x weight_ih^T: of all steps.
  void of_input(const Arguments& a, float* sums, cudaStream_t stream) const;
  // sums [n, rows] = h weight_hh^T: of one step.
  void of_state(const Arguments& a, const float* h, float* sums, cudaStream_t stream) const;

 private:
  std::unique_ptr<Matmul> input_, state_;
  size_t workspace_;
};

// The gradients that a backward node computes from those of the sums. Its first inputs are x,
// weight_ih, weight_hh and the first h or none.
class RecurrentGradientProducts {
 public:
  // `adds`: to what dh holds of the state before.
  RecurrentGradientProducts(const CudaDevice& device, const KernelRequest& request, const RecurrentSizes& s, bool adds,
                            ScratchLedger& scratch);

  const RecurrentGradients made;
  std::string name() const { return state_ ? state_->name() : "any"; }
  // dh [n, hidden] = dsums [n, rows] weight_hh: of one step.
  void of_state(const Arguments& a, const float* dsums, float* dh, cudaStream_t stream) const;
  // Computes the gradients of x, weights and biases from y and the gradients of either part of the
  // sums at all steps, [n t, rows]; both parts may be the same.
  void of_sequence(const Arguments& a, const float* y, const float* dinput, const float* dstate,
                   cudaStream_t stream) const;

 private:
  const RecurrentSizes s_;
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
