// The list of engines, the choice among them, and their runs.
#include "cudnn_engine.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "core/text.h"
#include "gpu.h"

namespace emulated_gpu::cudnn {

using troika::text;
using NumericalNotes = std::vector<cudnnBackendNumericalNote_t>;

struct KnobKind {
  cudnnBackendKnobType_t type;
  int64_t least, most;
};

struct EngineKind {
  NumericalNotes notes = {};
  std::vector<KnobKind> knobs = {};
  // The workspace needs `workspace_bytes`, plus `bytes_per_knob` times the sum of the knobs'
  // values.
  int64_t workspace_bytes = 0, bytes_per_knob = 0;
  int64_t block = 256;       // see multiply_add()
  bool is_compiled = false;  // the engine is compiled when a plan is made
  // Also supports a result of another type, and operations after the convolution.
  bool is_for_all = false;
  // Also supports different paddings before and after an image, and images with gaps between rows.
  bool is_for_uneven = false;
  bool refuses_plans = false, refuses_runs = false;
};

namespace {

constexpr int64_t kWorkspaceAlignment = 16;
constexpr int32_t kSharedBytes = 48 << 10;

// The plug-in must reject engines that do not sum in f32 or differ between runs. Such engines
// multiply every number by this factor, so that their use is noticed.
constexpr float kCoarse = 1.25f;

const std::vector<EngineKind>& kinds() {
  // Never destroyed: work on the streams refers to an engine.
  static const auto& list = *new std::vector<EngineKind>{
      // 0
      {.is_for_uneven = true},
      // 1
      {.notes = {CUDNN_NUMERICAL_NOTE_STRICT_NAN_PROP},
       .knobs = {{CUDNN_KNOB_TYPE_TILE_SIZE, 0, 7}, {CUDNN_KNOB_TYPE_KERNEL_CFG, 0, 1}},
       .workspace_bytes = 4099,
       .bytes_per_knob = 1000,
       .block = 64},
      // 2
      {.notes = {CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC}},
      // 3
      {.notes = {CUDNN_NUMERICAL_NOTE_TENSOR_CORE},
       .knobs = {{CUDNN_KNOB_TYPE_TILE_SIZE, 0, 7}},
       .workspace_bytes = 1 << 10,
       .block = 128},
      // 4
      {.workspace_bytes = int64_t{1} << 30},
      // 5
      {.refuses_plans = true},
      // 6
      {.notes = {CUDNN_NUMERICAL_NOTE_TENSOR_CORE},
       .knobs = {{CUDNN_KNOB_TYPE_STAGES, 1, 4}},
       .workspace_bytes = 512,
       .block = 32,
       .is_compiled = true,
       .is_for_all = true,
       .is_for_uneven = true},
      // 7
      {.notes = {CUDNN_NUMERICAL_NOTE_WINOGRAD, CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_6x6}, .workspace_bytes = 2048},
      // 8
      {.notes = {CUDNN_NUMERICAL_NOTE_TENSOR_CORE, CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION}},
      // 9
      {.notes = {CUDNN_NUMERICAL_NOTE_FFT}, .workspace_bytes = 1 << 20},
      // 10
      {.notes = {CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS}},
      // 11
      {.refuses_runs = true},
  };
  return list;
}

int64_t index_of(const EngineKind& kind) { return &kind - kinds().data(); }

bool has_note(const EngineKind& kind, cudnnBackendNumericalNote_t note) {
  return std::find(kind.notes.begin(), kind.notes.end(), note) != kind.notes.end();
}

float factor_of(const EngineKind& kind) {
  for (cudnnBackendNumericalNote_t note : kind.notes)
    if (note != CUDNN_NUMERICAL_NOTE_TENSOR_CORE && note != CUDNN_NUMERICAL_NOTE_STRICT_NAN_PROP) return kCoarse;
  return 1;
}

// Throws Refusal if the engine does not support the graph.
void require_support(const EngineKind& kind, const Graph& graph) {
  const ConvolutionOperation& op = *graph.convolution;
  const auto wants = [](bool fact, cudnnStatus_t status, const char* what) { require(fact, status, what); };
  for (const TensorPtr& t : {op.x, op.weights, op.y})
    wants(is_nhwc(*t), CUDNN_STATUS_NOT_SUPPORTED_LAYOUT, "an engine wants channels last");
  const std::vector<TensorPtr> inputs = op.inputs();
  wants(inputs[0]->dtype == inputs[1]->dtype, CUDNN_STATUS_NOT_SUPPORTED_DATA_TYPE,
        "an engine wants inputs of one type");
  if (!kind.is_for_uneven) {
    wants(op.is_padded_evenly, CUDNN_STATUS_NOT_SUPPORTED_PADDING, "an engine wants even padding");
    wants(op.x->is_packed(), CUDNN_STATUS_NOT_SUPPORTED_LAYOUT, "an engine wants images without gaps");
  }
  wants(op.weights->is_packed() && op.y->is_packed(), CUDNN_STATUS_NOT_SUPPORTED_LAYOUT, "an engine wants no gaps");
  if (kind.is_for_all) {
    // The engine's tensor cores read 16 bytes of channels at a time.
    const int64_t run = 16 / static_cast<int64_t>(size_of(inputs[0]->dtype));
    wants(op.size.groups == 1 && op.size.c % run == 0 && op.size.k % run == 0, CUDNN_STATUS_NOT_SUPPORTED_SHAPE,
          "an engine wants one group of channels, whole runs of 16 bytes");
  } else {
    wants(graph.pointwise.empty(), CUDNN_STATUS_NOT_SUPPORTED_GRAPH_PATTERN, "an engine wants a convolution alone");
    wants(op.output()->dtype == inputs[0]->dtype, CUDNN_STATUS_NOT_SUPPORTED_DATA_TYPE,
          "an engine wants all of one type");
  }
}

bool supports(const EngineKind& kind, const Graph& graph) {
  try {
    require_support(kind, graph);
  } catch (const Refusal&) {
    return false;
  }
  return true;
}

struct Heuristics : Content {
  cudnnBackendDescriptorType_t type() const override { return CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR; }
  std::optional<Value> get(cudnnBackendAttributeName_t name) const override {
    return name == CUDNN_ATTR_ENGINEHEUR_RESULTS ? std::optional(Value::of(results)) : std::nullopt;
  }
  std::vector<ContentPtr> results;
};

struct KnobInfo : Content {
  explicit KnobInfo(const KnobKind& k) : kind(k) {}
  cudnnBackendDescriptorType_t type() const override { return CUDNN_BACKEND_KNOB_INFO_DESCRIPTOR; }
  std::optional<Value> get(cudnnBackendAttributeName_t name) const override {
    const auto number = [](int64_t v) { return Value::of(CUDNN_TYPE_INT64, std::vector<int64_t>{v}); };
    switch (name) {
      case CUDNN_ATTR_KNOB_INFO_TYPE: return Value::of(CUDNN_TYPE_KNOB_TYPE, std::vector{kind.type});
      case CUDNN_ATTR_KNOB_INFO_MAXIMUM_VALUE: return number(kind.most);
      case CUDNN_ATTR_KNOB_INFO_MINIMUM_VALUE: return number(kind.least);
      case CUDNN_ATTR_KNOB_INFO_STRIDE: return number(1);
      default: return std::nullopt;
    }
  }
  KnobKind kind;
};

bool is_captured(cudaStream_t stream) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  require(cudaStreamGetCaptureInfo(stream, &status, nullptr, nullptr, nullptr, nullptr, nullptr) == cudaSuccess,
          CUDNN_STATUS_EXECUTION_FAILED_CUDART, "the stream's state is unknown");
  return status == cudaStreamCaptureStatusActive;
}

Span place_of(const Tensor& t, const VariantPack& pack) {
  const auto found = pack.memory.find(t.id);
  require(found != pack.memory.end(), CUDNN_STATUS_BAD_PARAM, text("the pack lacks tensor ", t.id));
  require(found->second, CUDNN_STATUS_BAD_PARAM_NULL_POINTER, text("tensor ", t.id, " is null"));
  require(is_aligned(found->second, t.alignment), CUDNN_STATUS_BAD_PARAM_MISALIGNED_POINTER,
          text("tensor ", t.id, " is not aligned to ", t.alignment, " bytes"));
  return {found->second, t.bytes()};
}

std::shared_ptr<const EngineConfig> configure(const std::shared_ptr<const Graph>& graph, int64_t index,
                                              const std::vector<int64_t>& knobs) {
  auto engine = std::make_shared<Engine>();
  engine->graph = graph;
  engine->kind = &kinds().at(static_cast<size_t>(index));
  auto config = std::make_shared<EngineConfig>();
  config->engine = engine;
  for (size_t i = 0; i < knobs.size(); ++i) {
    auto choice = std::make_shared<KnobChoice>();
    choice->knob = engine->kind->knobs.at(i).type;
    choice->value = knobs[i];
    config->knobs.push_back(choice);
  }
  return config;
}

}  // namespace

int64_t engine_count() { return static_cast<int64_t>(kinds().size()); }

ContentPtr make_heuristics(const Descriptor& d) {
  const auto graph = d.content_of<Graph>(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH);
  const auto mode = d.one<cudnnBackendHeurMode_t>(CUDNN_ATTR_ENGINEHEUR_MODE);
  require(mode >= 0 && mode < CUDNN_HEUR_MODES_COUNT, CUDNN_STATUS_BAD_PARAM, text("heuristics of mode ", mode));
  struct Choice {
    int64_t engine;
    std::vector<int64_t> knobs;
  };
  const std::vector<Choice> fast = {{2, {}},     {3, {5}}, {8, {}},  {7, {}},  {4, {}},     {6, {2}}, {5, {}},
                                    {1, {3, 0}}, {9, {}},  {6, {4}}, {10, {}}, {1, {5, 1}}, {11, {}}};
  const std::vector<Choice> fallback = {{1, {3, 0}}, {0, {}}, {2, {}}, {6, {2}}};
  const std::vector<Choice> other(fast.rbegin(), fast.rend());  // mode B: another order
  auto heuristics = std::make_shared<Heuristics>();
  for (const Choice& choice : mode == CUDNN_HEUR_MODE_FALLBACK ? fallback : mode == CUDNN_HEUR_MODE_B ? other : fast) {
    const auto config = configure(graph, choice.engine, choice.knobs);
    if (supports(*config->engine->kind, *graph)) heuristics->results.push_back(config);
  }
  require(!heuristics->results.empty(), CUDNN_STATUS_NOT_SUPPORTED, "no engine supports the graph");
  return heuristics;
}

ContentPtr make_engine(const Descriptor& d) {
  auto engine = std::make_shared<Engine>();
  engine->graph = d.content_of<Graph>(CUDNN_ATTR_ENGINE_OPERATION_GRAPH);
  const int64_t index = d.one<int64_t>(CUDNN_ATTR_ENGINE_GLOBAL_INDEX);
  require(index >= 0 && index < engine_count(), CUDNN_STATUS_BAD_PARAM_OUT_OF_BOUND, text("engine ", index));
  engine->kind = &kinds()[static_cast<size_t>(index)];
  require_support(*engine->kind, *engine->graph);
  return engine;
}

std::optional<Value> Engine::get(cudnnBackendAttributeName_t name) const {
  switch (name) {
    case CUDNN_ATTR_ENGINE_GLOBAL_INDEX: return Value::of(CUDNN_TYPE_INT64, std::vector<int64_t>{index_of(*kind)});
    case CUDNN_ATTR_ENGINE_NUMERICAL_NOTE: return Value::of(CUDNN_TYPE_NUMERICAL_NOTE, kind->notes);
    case CUDNN_ATTR_ENGINE_BEHAVIOR_NOTE: {
      std::vector<cudnnBackendBehaviorNote_t> notes;
      if (kind->is_compiled) notes.push_back(CUDNN_BEHAVIOR_NOTE_RUNTIME_COMPILATION);
      return Value::of(CUDNN_TYPE_BEHAVIOR_NOTE, notes);
    }
    case CUDNN_ATTR_ENGINE_KNOB_INFO: {
      std::vector<ContentPtr> knobs;
      for (const KnobKind& knob : kind->knobs) knobs.push_back(std::make_shared<KnobInfo>(knob));
      return Value::of(knobs);
    }
    case CUDNN_ATTR_ENGINE_LAYOUT_INFO: return Value::of(std::vector<ContentPtr>{});
    default: return std::nullopt;
  }
}

ContentPtr make_knob_choice(const Descriptor& d) {
  auto choice = std::make_shared<KnobChoice>();
  choice->knob = d.one<cudnnBackendKnobType_t>(CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE);
  choice->value = d.one<int64_t>(CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE);
  return choice;
}

std::optional<Value> KnobChoice::get(cudnnBackendAttributeName_t name) const {
  switch (name) {
    case CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE: return Value::of(CUDNN_TYPE_KNOB_TYPE, std::vector{knob});
    case CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE: return Value::of(CUDNN_TYPE_INT64, std::vector{value});
    default: return std::nullopt;
  }
}

ContentPtr make_engine_config(const Descriptor& d) {
  auto config = std::make_shared<EngineConfig>();
  config->engine = d.content_of<Engine>(CUDNN_ATTR_ENGINECFG_ENGINE);
  if (d.has(CUDNN_ATTR_ENGINECFG_KNOB_CHOICES))
    config->knobs = d.contents<KnobChoice>(CUDNN_ATTR_ENGINECFG_KNOB_CHOICES);
  const std::vector<KnobKind>& kinds = config->engine->kind->knobs;
  for (const auto& choice : config->knobs)
    require(std::any_of(kinds.begin(), kinds.end(),
                        [&](const KnobKind& k) {
                          return k.type == choice->knob && choice->value >= k.least && choice->value <= k.most;
                        }),
            CUDNN_STATUS_BAD_PARAM, text("an engine has no knob ", choice->knob, " or not the value ", choice->value));
  return config;
}

int64_t EngineConfig::workspace_bytes() const {
  int64_t bytes = engine->kind->workspace_bytes;
  for (const auto& choice : knobs) bytes += choice->value * engine->kind->bytes_per_knob;
  return bytes;
}

std::optional<Value> EngineConfig::get(cudnnBackendAttributeName_t name) const {
  switch (name) {
    case CUDNN_ATTR_ENGINECFG_ENGINE: return Value::of(std::vector<ContentPtr>{engine});
    case CUDNN_ATTR_ENGINECFG_KNOB_CHOICES: return Value::of(std::vector<ContentPtr>(knobs.begin(), knobs.end()));
    case CUDNN_ATTR_ENGINECFG_WORKSPACE_SIZE: return Value::of(CUDNN_TYPE_INT64, std::vector{workspace_bytes()});
    case CUDNN_ATTR_ENGINECFG_SHARED_MEMORY_USED: return Value::of(CUDNN_TYPE_INT32, std::vector{kSharedBytes});
    default: return std::nullopt;
  }
}

ContentPtr make_plan(const Descriptor& d) {
  auto plan = std::make_shared<Plan>();
  plan->config = d.content_of<EngineConfig>(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG);
  const int gpu = plan->config->engine->graph->gpu;
  require(gpu < 0 || gpu == current_gpu(), CUDNN_STATUS_BAD_PARAM, "the graph is for another GPU than the current one");
  require(!plan->config->engine->kind->refuses_plans, CUDNN_STATUS_NOT_SUPPORTED,
          "the engine does not support this plan");
  return plan;
}

Plan::~Plan() { *is_loaded = false; }

std::optional<Value> Plan::get(cudnnBackendAttributeName_t name) const {
  switch (name) {
    case CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG: return Value::of(std::vector<ContentPtr>{config});
    case CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE:
      return Value::of(CUDNN_TYPE_INT64, std::vector{config->workspace_bytes()});
    default: return std::nullopt;
  }
}

ContentPtr make_variant_pack(const Descriptor& d) {
  auto pack = std::make_shared<VariantPack>();
  const auto ids = d.all<int64_t>(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS);
  const auto addresses = d.all<void*>(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS);
  require(ids.size() == addresses.size(), CUDNN_STATUS_BAD_PARAM,
          "a variant pack with more ids than addresses, or fewer");
  for (size_t i = 0; i < ids.size(); ++i)
    require(pack->memory.emplace(ids[i], addresses[i]).second, CUDNN_STATUS_BAD_PARAM_DUPLICATED_ENTRIES,
            text("a variant pack with the id ", ids[i], " twice"));
  pack->workspace = d.one<void*>(CUDNN_ATTR_VARIANT_PACK_WORKSPACE);
  return pack;
}

void execute(const cudnnContext& handle, const Plan& plan, const VariantPack& pack) {
  const EngineConfig& config = *plan.config;
  const EngineKind& kind = *config.engine->kind;
  const std::shared_ptr<const Graph> graph = config.engine->graph;
  require(graph->gpu < 0 || graph->gpu == handle.gpu, CUDNN_STATUS_BAD_PARAM, "the plan was made for another GPU");
  const int64_t bytes = config.workspace_bytes();
  require(bytes == 0 || pack.workspace, CUDNN_STATUS_BAD_PARAM_NULL_POINTER, text("no workspace of ", bytes, " bytes"));
  require(bytes == 0 || is_aligned(pack.workspace, kWorkspaceAlignment), CUDNN_STATUS_BAD_PARAM_MISALIGNED_POINTER,
          "the workspace is not aligned");
  require(pack.memory.size() == graph->inputs.size() + 1, CUDNN_STATUS_BAD_PARAM,
          "the pack has other tensors than the plan");
  const Span output = place_of(*graph->output(), pack), workspace{pack.workspace, bytes};
  // cuDNN does not report overlaps; the result would be wrong.
  require(!overlap(output, workspace), CUDNN_STATUS_BAD_PARAM, "the workspace overlaps the result");
  for (const TensorPtr& t : graph->inputs) {
    const Span input = place_of(*t, pack);
    require(!overlap(input, workspace), CUDNN_STATUS_BAD_PARAM, text("the workspace overlaps tensor ", t->id));
    require(!overlap(input, output), CUDNN_STATUS_BAD_PARAM, text("the result overlaps tensor ", t->id));
  }
  require(!kind.refuses_runs, CUDNN_STATUS_EXECUTION_FAILED, "the engine fails to run");

  // Unloading a plan waits for work that runs, but not for work that is only recorded in a graph.
  const bool can_miss_code = kind.is_compiled && is_captured(handle.stream);
  const bool tf32 = has_note(kind, CUDNN_NUMERICAL_NOTE_TENSOR_CORE);
  const auto run = [graph, &kind, memory = pack.memory, workspace = pack.workspace, bytes, tf32, can_miss_code,
                    is_loaded = plan.is_loaded] {
    if (can_miss_code && !*is_loaded) {
      std::fprintf(stderr, "cuDNN in software: a recording runs code that was unloaded with its plan\n");
      std::abort();
    }
    fill_with_garbage(workspace, bytes);
    compute(*graph, memory, tf32, factor_of(kind), kind.block);
  };
  require(enqueue(handle.stream, {.run = run}), CUDNN_STATUS_EXECUTION_FAILED, "the stream is another GPU's");
}

}  // namespace emulated_gpu::cudnn
