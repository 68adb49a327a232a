// The products of recurrent layers (lstm, gru), which their kernels share.
#pragma once

#include <memory>

#include "backends/cuda/fastest_choice.h"
#include "backends/cuda/matmul.h"
#include "backends/cuda/node_tensors.h"
#include "backends/cuda/recurrent_sequence.h"
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

// All steps of a node, from the input's part of its sums on. `states`: h, or h and c. `flags`: the
// offset of teams' flags in the scratch.
RecurrentSequence sequence_of(const RecurrentSizes& s, const Arguments& a, size_t states, const float* of_input,
                              size_t flags);
RecurrentSequenceGradient sequence_gradient_of(const RecurrentSizes& s, const RecurrentGradients& made,
                                               const Arguments& a, size_t states, float* dinput, float* dstate,
                                               size_t flags);

// `states`: h, or h and c. `gates`: the input that has the gates of a gradient, or 0.
Problem recurrent_problem(const CudaDevice& device, const KernelRequest& request, const NodeTensors& tensors,
                          size_t gates);

// The answer of a body with scratch: everything plain. Its steps are launches of their own, or one
// launch. `op`: what its products serve.
template <typename Body>
KernelChoice recurrent_choice(CudaDevice& device, const KernelRequest& request, const char* op, Body body) {
  const auto shared = std::make_shared<Body>(std::move(body));
  const NodeTensors tensors(request);
  const auto launch_by = [&](auto run) -> LaunchWay {
    return [=, arguments = std::make_shared<Arguments>()](void* const* t, cudaStream_t stream) {
      tensors.restore(t, *arguments);
      run(*shared, *arguments, stream);
    };
  };
  const size_t scratch_bytes = shared->scratch.bytes();
  std::vector<Way> ways = {
      {.name = text(op, '_', shared->products.name()),
       .describe = {},
       .launch = launch_by([](const Body& b, const Arguments& a, cudaStream_t s) { b.run_steps(a, s); }),
       .scratch_bytes = scratch_bytes,
       .maker = "cublaslt"}};
  const auto add_at_once = [&](const char* name, bool by_teams) {
    const auto run = [by_teams](const Body& b, const Arguments& a, cudaStream_t s) { b.run_at_once(a, by_teams, s); };
    ways.push_back(
        {.name = name, .describe = {}, .launch = launch_by(run), .scratch_bytes = scratch_bytes, .must_prove = true});
  };
  const RecurrentSizes& s = shared->s;
  if (takes_recurrent_sequence(s.hidden, device.shared_bytes())) add_at_once("sequence1", false);
  if (takes_recurrent_teams(s.rows == 4 * s.hidden, s.batch, s.hidden, device.multiprocessors(), device.shared_bytes()))
    add_at_once("teams1", true);
  return fastest_choice(device, request, recurrent_problem(device, request, tensors, Body::kGatesInput), ways,
                        plain_choice, [=](const Arguments& a, cudaStream_t) { return tensors.of(a); });
}

}  // namespace troika::cuda
