// Engines of cuDNN graphs, by way of cuDNN's own C++ front end.
#include "backends/cuda/cudnn_plan.h"

#define CUDNN_FRONTEND_SKIP_JSON_LIB
#include <cudnn_frontend.h>
#include <nvrtc.h>

#include <algorithm>

#include "backends/cuda/check.h"
#include "core/text.h"

namespace troika::cuda {
namespace {

namespace fe = cudnn_frontend;
using fe::graph::Graph;

constexpr int64_t kMostWorkspace = 256 << 20;
constexpr size_t kMostCandidates = 12;
constexpr int kMostCompiled = 3;  // among them

// The front end reports by status, and here and there by exception.
template <typename Call>
bool went_well(Call&& call) {
  try {
    return call().is_good();
  } catch (const std::exception&) {
    return false;
  }
}

// Null where cuDNN refuses the graph.
std::shared_ptr<Graph> make_graph(CudaDevice& device, const DescribeGraph& describe) {
  // An engine's code is unloaded with its graph, from the context that it was loaded into.
  const auto destroy = [held = device.shared_from_this()](Graph* graph) {
    try {
      const ContextGuard guard(held->context());
      delete graph;
    } catch (const Error&) {  // the driver is gone, and the code with it
    }
  };
  std::shared_ptr<Graph> graph(new Graph, destroy);
  describe(*graph);
  if (!went_well([&] { return graph->validate(); })) return nullptr;
  if (!went_well([&] { return graph->build_operation_graph(device.cudnn()); })) return nullptr;
  return graph;
}

// The graph with the engines that may run it, unbuilt, the likeliest to be fast first. Null where there are none.
std::shared_ptr<Graph> offer_engines(CudaDevice& device, const DescribeGraph& describe, bool tensor_cores) {
  auto graph = make_graph(device, describe);
  if (!graph) return nullptr;
  if (!went_well([&] { return graph->create_execution_plans({fe::HeurMode_t::A, fe::HeurMode_t::FALLBACK}); }))
    return nullptr;
  using Note = fe::NumericalNote_t;
  std::vector<Note> unwanted = {
      Note::NONDETERMINISTIC, Note::REDUCED_PRECISION_REDUCTION, Note::DOWN_CONVERT_INPUTS, Note::FFT,
      Note::WINOGRAD,         Note::WINOGRAD_TILE_4x4,           Note::WINOGRAD_TILE_6x6,   Note::WINOGRAD_TILE_13x13};
  if (!tensor_cores) unwanted.push_back(Note::TENSOR_CORE);  // which multiply f32 as TF32
  graph->deselect_numeric_notes(unwanted);
  graph->deselect_workspace_greater_than(kMostWorkspace);
  return graph;
}

// Empty where it cannot be told.
std::string engine_at(const Graph& graph, int64_t index) {
  std::string engine;
  return went_well([&] { return graph.get_plan_name_at_index(index, engine); }) ? engine : "";
}

// Whether the engine is compiled when it is built, which takes about a second.
bool is_compiled_at(const Graph& graph, int64_t index) {
  std::vector<fe::BehaviorNote_t> notes;
  return went_well([&] { return graph.get_behavior_notes_for_plan_at_index(index, notes); }) &&
         std::find(notes.begin(), notes.end(), fe::BehaviorNote_t::RUNTIME_COMPILATION) != notes.end();
}

}  // namespace

CudnnPlan::CudnnPlan(cudnnHandle_t handle, std::shared_ptr<Graph> graph, int64_t index, std::string engine)
    : handle_(handle),
      graph_(std::move(graph)),
      index_(index),
      engine_(std::move(engine)),
      workspace_bytes_(static_cast<size_t>(std::max<int64_t>(graph_->get_workspace_size_plan_at_index(index), 0))) {}

std::optional<CudnnPlan> CudnnPlan::build(CudaDevice& device, const DescribeGraph& describe, bool tensor_cores,
                                          const std::string& engine) {
  const auto graph = offer_engines(device, describe, tensor_cores);
  if (!graph) return std::nullopt;
  // Not from the numbers in the name: the front end's own list of knobs lacks some that engines have.
  for (int64_t i = 0; i < graph->get_execution_plan_count(); ++i)
    if (engine_at(*graph, i) == engine && went_well([&] { return graph->build_plan_at_index(i); }))
      return CudnnPlan(device.cudnn(), graph, i, engine);
  return std::nullopt;
}

std::vector<CudnnPlan> CudnnPlan::candidates(CudaDevice& device, const DescribeGraph& describe, bool tensor_cores) {
  const auto graph = offer_engines(device, describe, tensor_cores);
  if (!graph) return {};
  std::vector<CudnnPlan> plans;
  int compiled = 0;
  for (int64_t i = 0; i < graph->get_execution_plan_count() && plans.size() < kMostCandidates; ++i) {
    const std::string engine = engine_at(*graph, i);
    // The list for fallback repeats engines of the first.
    if (engine.empty() ||
        std::any_of(plans.begin(), plans.end(), [&](const CudnnPlan& plan) { return plan.engine() == engine; }))
      continue;
    const bool is_compiled = is_compiled_at(*graph, i);
    if (is_compiled && compiled == kMostCompiled) continue;
    if (!went_well([&] { return graph->build_plan_at_index(i); })) continue;
    compiled += is_compiled;
    plans.push_back(CudnnPlan(device.cudnn(), graph, i, engine));
  }
  return plans;
}

void CudnnPlan::run(std::span<void* const> tensors, void* workspace) {
  for (size_t i = 0; i < tensors.size(); ++i) tensors_[static_cast<int64_t>(i + 1)] = tensors[i];
  auto status = graph_->execute_plan_at_index(handle_, tensors_, workspace, index_);
  if (status.is_good()) return;
  std::string message = status.get_message();
  std::replace(message.begin(), message.end(), '\n', ' ');
  throw Error(Status::internal, text("cuDNN engine ", engine_, ": ", message));
}

}  // namespace troika::cuda

// The front end has kernels of its own, which NVRTC compiles. They are never asked for, so NVRTC is not linked for them; cuDNN
// opens it by itself for its engines.
extern "C" {
nvrtcResult nvrtcCreateProgram(nvrtcProgram*, const char*, const char*, int, const char* const*, const char* const*) {
  return NVRTC_ERROR_INTERNAL_ERROR;
}
nvrtcResult nvrtcDestroyProgram(nvrtcProgram*) { return NVRTC_ERROR_INTERNAL_ERROR; }
nvrtcResult nvrtcCompileProgram(nvrtcProgram, int, const char* const*) { return NVRTC_ERROR_INTERNAL_ERROR; }
nvrtcResult nvrtcGetProgramLogSize(nvrtcProgram, size_t*) { return NVRTC_ERROR_INTERNAL_ERROR; }
nvrtcResult nvrtcGetProgramLog(nvrtcProgram, char*) { return NVRTC_ERROR_INTERNAL_ERROR; }
nvrtcResult nvrtcGetCUBINSize(nvrtcProgram, size_t*) { return NVRTC_ERROR_INTERNAL_ERROR; }
nvrtcResult nvrtcGetCUBIN(nvrtcProgram, char*) { return NVRTC_ERROR_INTERNAL_ERROR; }
}
