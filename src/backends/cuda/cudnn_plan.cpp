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

constexpr int kMostCompiled = 3;  // of the engines that are tried

// The sources of cuDNN's engines: two different heuristics, the second with a fallback that always
// works, and the number tried.
struct Source {
  std::vector<fe::HeurMode_t> modes;
  size_t most;
};
const Source kSources[] = {{{fe::HeurMode_t::A}, 12}, {{fe::HeurMode_t::B, fe::HeurMode_t::FALLBACK}, 8}};

// The front end reports by status, and here and there by exception.
template <typename Call>
bool went_well(Call&& call) {
  try {
    return call().is_good();
  } catch (const std::exception&) {
    return false;
  }
}

// The properties of the GPU that is planned for, an H100, which cuDNN needs before it names
// engines. The text ends with a 0.
constexpr char kPlannedFor[] =
    R"({"deviceName":"NVIDIA H100 80GB HBM3","cudaDeviceId":0,"pciDeviceId":0,"deviceVer":900,"driverVer":13000,)"
    R"("isTccDriver":0,"supportCoopLaunch":1,"multiProcessorCount":132,"warpSize":32,"maxThreadsPerBlock":1024,)"
    R"("maxThreadsPerSM":2048,"maxCtasPerSM":32,"maxGridSize":[2147483647,65535,65535],"maxBlockSize":[1024,1024,64],)"
    R"("regsPerBlock":65536,"maxRegistersPerSM":65536,"maxSharedMemoryPerBlock":49152,)"
    R"("maxSharedMemoryPerBlockOptin":232448,"reservedSharedMemoryPerBlock":1024,"totalGlobalMem":85017624576,)"
    R"("l2CacheSize":52428800,"smClockRateKHz":1980000,"memClockRateKHz":2619000})";

std::shared_ptr<fe::DeviceProperties> planned_for() {
  auto properties = std::make_shared<fe::DeviceProperties>();
  const bool is_good = went_well([&] {
    return properties->deserialize({std::begin(kPlannedFor), std::end(kPlannedFor)});
  });
  return is_good ? properties : nullptr;
}

// Returns null if cuDNN refuses the graph.
std::shared_ptr<Graph> make_graph(CudaDevice& device, const DescribeGraph& describe) {
  // An engine's code is unloaded with its graph, from the context that it was loaded into.
  const auto destroy = [held = device.shared_from_this()](Graph* graph) {
    end_on(held->context(), [graph] { delete graph; });
  };
  std::shared_ptr<Graph> graph(new Graph, destroy);
  if (device.is_plan_only()) graph->set_device_properties(planned_for());
  describe(*graph);
  if (!went_well([&] { return graph->validate(); })) return nullptr;
  if (!went_well([&] {
        return device.is_plan_only() ? graph->build_operation_graph() : graph->build_operation_graph(device.cudnn());
      }))
    return nullptr;
  return graph;
}

// Returns the graph with the engines that may run it, not built, the probably fastest first. Null
// if there is none.
std::shared_ptr<Graph> offer_engines(CudaDevice& device, const DescribeGraph& describe, const Source& source,
                                     const EngineLimits& limits) {
  auto graph = make_graph(device, describe);
  if (!graph) return nullptr;
  if (!went_well([&] { return graph->create_execution_plans(source.modes); })) return nullptr;
  using Note = fe::NumericalNote_t;
  std::vector<Note> unwanted = {
      Note::NONDETERMINISTIC, Note::REDUCED_PRECISION_REDUCTION, Note::DOWN_CONVERT_INPUTS, Note::FFT,
      Note::WINOGRAD,         Note::WINOGRAD_TILE_4x4,           Note::WINOGRAD_TILE_6x6,   Note::WINOGRAD_TILE_13x13};
  if (!limits.tensor_cores) unwanted.push_back(Note::TENSOR_CORE);  // which multiply f32 as TF32
  graph->deselect_numeric_notes(unwanted);
  graph->deselect_workspace_greater_than(static_cast<int64_t>(limits.most_workspace));
  return graph;
}

// Returns the engine's name; empty if it is not known.
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

std::optional<CudnnPlan> CudnnPlan::build(CudaDevice& device, const DescribeGraph& describe, const EngineLimits& limits,
                                          const std::string& engine) {
  for (const Source& source : kSources) {
    const auto graph = offer_engines(device, describe, source, limits);
    if (!graph) continue;
    // Not from the numbers in the name: the front end's own list of knobs lacks some that engines
    // have.
    for (int64_t i = 0; i < graph->get_execution_plan_count(); ++i)
      if (engine_at(*graph, i) == engine && went_well([&] { return graph->build_plan_at_index(i); }))
        return CudnnPlan(device.cudnn(), graph, i, engine);
  }
  return std::nullopt;
}

std::vector<CudnnPlan> CudnnPlan::candidates(CudaDevice& device, const DescribeGraph& describe,
                                             const EngineLimits& limits) {
  std::vector<CudnnPlan> plans;
  int compiled = 0;
  for (const Source& source : kSources) {
    const auto graph = offer_engines(device, describe, source, limits);
    const size_t most = plans.size() + source.most;
    for (int64_t i = 0; graph && i < graph->get_execution_plan_count() && plans.size() < most; ++i) {
      const std::string engine = engine_at(*graph, i);
      // Lists repeat engines of those before.
      if (engine.empty() ||
          std::any_of(plans.begin(), plans.end(), [&](const CudnnPlan& plan) { return plan.engine() == engine; }))
        continue;
      const bool is_compiled = is_compiled_at(*graph, i);
      if (is_compiled && compiled == kMostCompiled) continue;
      if (!went_well([&] { return graph->build_plan_at_index(i); })) continue;
      compiled += is_compiled;
      plans.push_back(CudnnPlan(device.cudnn(), graph, i, engine));
    }
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

// The front end has kernels of its own, which NVRTC compiles. They are never asked for, so NVRTC is
// not linked for them; cuDNN opens it by itself for its engines.
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
