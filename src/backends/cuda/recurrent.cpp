// Products of recurrent layers by cuBLASLt: of all steps at once if no step waits for another.
#include "backends/cuda/recurrent.h"

#include <algorithm>
#include <cmath>

#include "backends/cuda/difference.h"
#include "backends/cuda/epilogue.h"

namespace troika::cuda {
namespace {

// Makes a product in f32; the request says whether TF32 is allowed.
std::unique_ptr<Matmul> make_f32_matmul(const CudaDevice& device, const KernelRequest& request, Product product) {
  product.tf32 = request.node.attributes.flag("tf32");
  return make_matmul(device, request, product);
}

unsigned* flags_at(const Arguments& a, size_t offset) { return reinterpret_cast<unsigned*>(scratch_at(a, offset)); }

}  // namespace

RecurrentProducts::RecurrentProducts(const CudaDevice& device, const KernelRequest& request, const RecurrentSizes& s,
                                     ScratchLedger& scratch)
    : input_(make_f32_matmul(device, request,
                             {.m = s.batch * s.steps, .n = s.rows, .k = s.features, .transpose_b = true})),
      state_(make_f32_matmul(device, request, {.m = s.batch, .n = s.rows, .k = s.hidden, .transpose_b = true})),
      workspace_(scratch.take(std::max(workspace_of(input_), workspace_of(state_)))) {}

void RecurrentProducts::of_input(const Arguments& a, float* sums, cudaStream_t stream) const {
  input_->run(a.inputs[0], a.inputs[1], sums, nullptr, scratch_at(a, workspace_), stream);
}

void RecurrentProducts::of_state(const Arguments& a, const float* h, float* sums, cudaStream_t stream) const {
  state_->run(h, a.inputs[2], sums, nullptr, scratch_at(a, workspace_), stream);
}

RecurrentGradientProducts::RecurrentGradientProducts(const CudaDevice& device, const KernelRequest& request,
                                                     const RecurrentSizes& s, bool adds, ScratchLedger& scratch)
    : made(request.node.attributes),
      s_(s),
      state_(make_f32_matmul(device, request, {.m = s.batch, .n = s.hidden, .k = s.rows, .accumulates = adds})) {
  const int64_t all = s.batch * s.steps;
  if (made.input) input_ = make_f32_matmul(device, request, {.m = all, .n = s.features, .k = s.rows});
  if (made.weights) {
    weight_ih_ = make_f32_matmul(device, request, {.m = s.rows, .n = s.features, .k = all, .transpose_a = true});
    weight_hh_ = make_f32_matmul(device, request, {.m = s.rows, .n = s.hidden, .k = all, .transpose_a = true});
  }
  workspace_ = scratch.take(
      std::max({workspace_of(state_), workspace_of(input_), workspace_of(weight_ih_), workspace_of(weight_hh_)}));
  before_ = scratch.take_floats(made.weights ? all * s.hidden : 0);
  sums_ = scratch.take(made.bias ? sum_rows_scratch_bytes(DType::f32, all, s.rows) : 0);
}

void RecurrentGradientProducts::of_state(const Arguments& a, const float* dsums, float* dh, cudaStream_t stream) const {
  state_->run(dsums, a.inputs[2], dh, nullptr, scratch_at(a, workspace_), stream);
}

void RecurrentGradientProducts::of_sequence(const Arguments& a, const float* y, const float* dinput,
                                            const float* dstate, cudaStream_t stream) const {
  void* const workspace = scratch_at(a, workspace_);
  if (made.input) input_->run(dinput, a.inputs[1], a.outputs[made.input_at], nullptr, workspace, stream);
  if (made.weights) {
    float* const before = scratch_at(a, before_);
    states_before(s_.batch, s_.steps, s_.hidden, a.in<float>(3), y, before, stream);
    weight_ih_->run(dinput, a.inputs[0], a.outputs[0], nullptr, workspace, stream);
    weight_hh_->run(dstate, before, a.outputs[1], nullptr, workspace, stream);
  }
  if (!made.bias) return;
  float *const dbias_ih = a.out<float>(made.biases_at), *const dbias_hh = a.out<float>(made.biases_at + 1);
  sum_rows(DType::f32, dinput, dbias_ih, s_.batch * s_.steps, s_.rows, scratch_at(a, sums_), stream);
  if (dstate == dinput)
    check_launch(cudaMemcpyAsync(dbias_hh, dbias_ih, static_cast<size_t>(s_.rows) * sizeof(float),
                                 cudaMemcpyDeviceToDevice, stream));
  else
    sum_rows(DType::f32, dstate, dbias_hh, s_.batch * s_.steps, s_.rows, scratch_at(a, sums_), stream);
}

RecurrentSequence sequence_of(const RecurrentSizes& s, const Arguments& a, size_t states, const float* of_input,
                              size_t flags) {
  const bool has_c = states > 1;
  return {.n = s.batch,
          .t = s.steps,
          .hidden = s.hidden,
          .of_input = of_input,
          .weight_hh = a.in<float>(recurrent::weight_hh),
          .bias_ih = a.in<float>(recurrent::bias_ih),
          .bias_hh = a.in<float>(recurrent::bias_hh),
          .first_h = a.in<float>(recurrent::first_states),
          .first_c = has_c ? a.in<float>(recurrent::first_states + 1) : nullptr,
          .gates = a.out<float>(recurrent::gates(states)),
          .c = has_c ? a.out<float>(recurrent::every_c(states)) : nullptr,
          .y = a.out<float>(recurrent::y),
          .last_c = has_c ? a.out<float>(recurrent::last_states + 1) : nullptr,
          .last_h = a.out<float>(recurrent::last_states),
          .flags = flags_at(a, flags)};
}

RecurrentSequenceGradient sequence_gradient_of(const RecurrentSizes& s, const RecurrentGradients& made,
                                               const Arguments& a, size_t states, float* dinput, float* dstate,
                                               size_t flags) {
  const bool has_c = states > 1;
  return {.n = s.batch,
          .t = s.steps,
          .hidden = s.hidden,
          .weight_hh = a.in<float>(recurrent_gradient::weight_hh),
          .gates = a.in<float>(recurrent_gradient::gates(states)),
          .c = has_c ? a.in<float>(recurrent_gradient::every_c(states)) : nullptr,
          .y = a.in<float>(recurrent_gradient::y(states)),
          .first_h = a.in<float>(recurrent_gradient::first_states),
          .first_c = has_c ? a.in<float>(recurrent_gradient::first_states + 1) : nullptr,
          .dy = a.in<float>(recurrent_gradient::dy(states)),
          .dlast_h = a.in<float>(recurrent_gradient::dlast_states(states)),
          .dlast_c = has_c ? a.in<float>(recurrent_gradient::dlast_states(states) + 1) : nullptr,
          .dinput = dinput,
          .dstate = dstate,
          .dfirst_h = made.state ? a.out<float>(made.states_at) : nullptr,
          .dfirst_c = made.state && has_c ? a.out<float>(made.states_at + 1) : nullptr,
          .flags = flags_at(a, flags)};
}

Problem recurrent_problem(const CudaDevice& device, const KernelRequest& request, const NodeTensors& tensors,
                          size_t gates) {
  const Node& node = request.node;
  const RecurrentSizes s = RecurrentSizes::of(request.graph, node);
  Problem problem;
  problem.what = text(node.op, " '", node.name, "' on ", device.id());
  problem.text = text(node.op, ' ', s.batch, 'x', s.steps, 'x', s.features, " -> ", s.hidden, ", inputs ");
  for (const ValueId id : node.inputs) problem.text += id == kNoValue ? '_' : 'x';
  if (gates) {
    const RecurrentGradients made(node.attributes);
    problem.text += text(", gradients of", made.weights ? " weights" : "", made.bias ? " bias" : "",
                         made.input ? " input" : "", made.state ? " state" : "");
  }
  if (node.attributes.flag("tf32")) problem.text += ", tf32";
  problem.tensors = tensors.types(request);
  // Both ways share the large products. In f32 the others differ by the order of sums alone.
  const double unit = node.attributes.flag("tf32") ? 2e-3 : 1e-4;
  for (size_t i = 0; i < node.outputs.size(); ++i)
    problem.outputs.push_back({.place = tensors.place_of_output(i), .unit = unit});
  // Forward, weights are small: a difference by rounding does not grow from step to step. Backward,
  // steps are linear. Larger weights and gates let the product with weight_hh weigh.
  const float size = (gates ? 2.0f : 0.5f) / std::sqrt(static_cast<float>(s.hidden));
  problem.prepare = [=, types = problem.tensors](void* const* t, cudaStream_t stream) {
    const auto fill = [&](size_t input, float largest) {
      const size_t place = tensors.place_of_input(input);
      fill_with_noise(types[place], t[place], place, stream, largest);
    };
    fill(recurrent::weight_hh, size);
    if (gates) fill(gates, 0.5f);
  };
  return problem;
}

}  // namespace troika::cuda
