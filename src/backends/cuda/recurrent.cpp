// Products of recurrent layers by cuBLASLt: of all steps at once if no step waits for another.
#include "backends/cuda/recurrent.h"

#include "backends/cuda/epilogue.h"

namespace troika::cuda {
namespace {

// Makes a product in f32; the request says whether TF32 is allowed.
std::unique_ptr<Matmul> make_f32_matmul(const CudaDevice& device, const KernelRequest& request, Product product) {
  product.tf32 = request.node.attributes.flag("tf32");
  return make_matmul(device, request, product);
}

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

}  // namespace troika::cuda
