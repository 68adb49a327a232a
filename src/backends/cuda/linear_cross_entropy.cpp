// linear_cross_entropy in two ways: by the kernels of its parts, and by one kernel, which must
// prove itself.
#include "backends/cuda/linear_cross_entropy.h"

#include <cublasLt.h>

#include <cmath>

#include "backends/cuda/difference.h"
#include "backends/cuda/fastest_choice.h"
#include "backends/cuda/node_chain.h"
#include "backends/cuda/node_tensors.h"
#include "core/text.h"
#include "ops/linear.h"
#include "ops/linear_cross_entropy.h"
#include "ops/relu.h"

namespace troika::cuda {
namespace {

namespace operands = troika::linear_cross_entropy;

// The parts of a node. `ends`: its inputs that are there, and its outputs.
struct Parts {
  Graph graph;
  std::vector<ValueId> ends;
};

Parts parts_of(const KernelRequest& request) {
  const Node& node = request.node;
  Parts parts;
  Graph& graph = parts.graph;
  std::vector<ValueId> inputs;
  for (const ValueId id : node.inputs) {
    inputs.push_back(id == kNoValue ? kNoValue : graph.add_value("", request.graph.type(id), Role::input));
    if (id != kNoValue) parts.ends.push_back(inputs.back());
  }
  TensorType x = graph.type(inputs[operands::x]);
  if (!is_per_position(node)) x.shape = {x.shape[0], x.shape.elements(1, x.shape.rank())};  // rows, also of images
  graph.value(inputs[operands::x]).type = x;
  const bool is_low = x.dtype != DType::f32;
  Attributes of_layer, of_loss;
  for (const char* flag : {"per_position", "tf32"})
    if (node.attributes.flag(flag)) of_layer.set(flag, int64_t{1});
  Attributes of_gradient = of_layer;
  of_gradient.set("input_shape", x.shape.dims());
  if (is_low) of_layer.set("f32_output", int64_t{1});
  of_loss.set("scale", node.attributes.real("scale"));
  LabelSettings::of(node.attributes).write(of_loss);

  const ValueId weight = inputs[operands::weight],
                y = append_node(graph, linear_op, node.name, {inputs[operands::x], weight, inputs[operands::bias]},
                                of_layer)[0];
  std::vector<ValueId> loss_inputs = {y};
  loss_inputs.insert(loss_inputs.end(), inputs.begin() + operands::target, inputs.end());
  const auto loss = append_node(graph, cross_entropy_op, node.name, loss_inputs, of_loss);
  loss_inputs[loss::x] = loss[loss::probabilities];
  ValueId dy = append_node(graph, cross_entropy_gradient_op, node.name, loss_inputs, of_loss)[0];
  if (is_low) dy = append_node(graph, cast_op, node.name, {dy}, {{"dtype", static_cast<int64_t>(x.dtype)}})[0];
  ValueId dx = append_node(graph, linear_input_gradient_op, node.name, {weight, dy}, of_gradient)[0];
  if (node.attributes.flag("input_relu"))
    dx = append_node(graph, relu_gradient_op, node.name, {inputs[operands::x], dx}, {})[0];
  parts.ends.insert(parts.ends.end(), {loss[loss::sum], loss[loss::correct], dy, dx});
  if (node.attributes.flag("logits")) parts.ends.push_back(y);
  return parts;
}

// Returns how sums of losses, or numbers of correct labels, differ by more than the order of sums.
std::string difference_of_totals(const std::vector<float>& found, const std::vector<float>& expected, float most) {
  if (found[0] >= 0 && std::fabs(found[0] - expected[0]) <= most) return "";  // -1: it was not written
  return text("its total is ", found[0], ", need ", expected[0]);
}

Problem problem_of(const CudaDevice& device, const KernelRequest& request, const NodeTensors& tensors) {
  const Node& node = request.node;
  const TensorType &x = input_type(request, operands::x), &weight = input_type(request, operands::weight),
                   &target = input_type(request, operands::target);
  const int64_t labels = target.shape.elements(), classes = weight.shape[0];
  Problem problem;
  problem.what = text(node.op, " '", node.name, "' on ", device.id());
  problem.text = text(node.op, ' ', name_of(x.dtype), x.shape, " -> ", classes, ", inputs ");
  for (const ValueId id : node.inputs) problem.text += id == kNoValue ? '_' : 'x';
  // Not `logits`: a step in pieces, which returns them, computes the same bits as a whole one.
  for (const char* flag : {"per_position", "input_relu", "tf32"})
    if (node.attributes.flag(flag)) problem.text += text(", ", flag);
  for (const char* setting : {"smoothing", "ignore_index"})
    if (node.attributes.has(setting)) problem.text += text(", ", setting);
  problem.text += text(", cuBLASLt ", cublasLtGetVersion());
  problem.tensors = tensors.types(request);
  // TF32 has 10 bits of fraction. Near a tie another order of sums may choose another class.
  const bool is_tf32 = node.attributes.flag("tf32");
  const auto rows = static_cast<float>(labels);
  const auto totals = [](float most) {
    return [=](const auto& found, const auto& expected) { return difference_of_totals(found, expected, most); };
  };
  problem.outputs = {{tensors.place_of_output(operands::sum), totals((is_tf32 ? 1e-2f : 1e-4f) * rows)},
                     {tensors.place_of_output(operands::correct), totals(1 + (is_tf32 ? 1e-2f : 1e-3f) * rows)}};
  const double unit = x.dtype != DType::f32 ? 1.0 / 256 : is_tf32 ? 2e-3 : 1e-4;
  for (size_t i = operands::dy; i < node.outputs.size(); ++i)
    problem.outputs.push_back({.place = tensors.place_of_output(i), .unit = unit});
  std::vector<int32_t> numbers(static_cast<size_t>(labels));
  for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<int32_t>(static_cast<int64_t>(i) % classes);
  problem.prepare = [=, place = tensors.place_of_input(operands::target)](void* const* t, cudaStream_t stream) {
    check_launch(cudaMemcpyAsync(t[place], numbers.data(), target.bytes(), cudaMemcpyHostToDevice, stream));
    check_launch(cudaStreamSynchronize(stream));
  };
  return problem;
}

}  // namespace

KernelChoice select_linear_cross_entropy(CudaDevice& device, const KernelRequest& request) {
  const NodeTensors tensors(request);
  const Problem problem = problem_of(device, request, tensors);
  const Parts parts = parts_of(request);
  const auto chain = std::make_shared<NodeChain>(device, parts.graph, parts.ends);
  const auto run_parts = [=, count = problem.tensors.size()](void* const* t, cudaStream_t) {
    chain->launch(t, t[count]);
  };
  const ClassifierKernel kernel = classifier_kernel(device, request);
  const auto run_kernel = [=, arguments = std::make_shared<Arguments>()](void* const* t, cudaStream_t stream) {
    tensors.restore(t, *arguments);
    kernel.launch(*arguments, stream);
  };
  const std::vector<Way> ways = {{.name = "parts",
                                  .describe = {},
                                  .launch = run_parts,
                                  .scratch_bytes = chain->scratch_bytes(),
                                  .maker = "cublaslt"},
                                 {.name = "classifier1",
                                  .describe = {},
                                  .launch = run_kernel,
                                  .scratch_bytes = kernel.scratch_bytes,
                                  .must_prove = true}};
  KernelChoice choice = fastest_choice(device, request, problem, ways, plain_choice,
                                       [=](const Arguments& a, cudaStream_t) { return tensors.of(a); });
  choice.notes.insert(choice.notes.begin(), chain->notes().begin(), chain->notes().end());
  return choice;
}

}  // namespace troika::cuda
