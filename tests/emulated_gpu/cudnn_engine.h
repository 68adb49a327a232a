// Engines that compute cuDNN's graphs. Many of them exist to be rejected by the plug-in: they round
// coarsely, need too much memory, or fail to run.
#pragma once

#include <atomic>

#include "cudnn_graph.h"

namespace emulated_gpu::cudnn {

struct EngineKind;  // an entry of the list of engines

// Returns the number of engines. It is the same for every graph, including graphs that no engine
// supports.
int64_t engine_count();

struct Engine : Content {
  cudnnBackendDescriptorType_t type() const override { return CUDNN_BACKEND_ENGINE_DESCRIPTOR; }
  std::optional<Value> get(cudnnBackendAttributeName_t name) const override;

  std::shared_ptr<const Graph> graph;
  const EngineKind* kind;
};

struct KnobChoice : Content {
  cudnnBackendDescriptorType_t type() const override { return CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR; }
  std::optional<Value> get(cudnnBackendAttributeName_t name) const override;

  cudnnBackendKnobType_t knob;
  int64_t value;
};

struct EngineConfig : Content {
  cudnnBackendDescriptorType_t type() const override { return CUDNN_BACKEND_ENGINECFG_DESCRIPTOR; }
  std::optional<Value> get(cudnnBackendAttributeName_t name) const override;
  int64_t workspace_bytes() const;

  std::shared_ptr<const Engine> engine;
  std::vector<std::shared_ptr<const KnobChoice>> knobs;
};

struct Plan : Content {
  ~Plan() override;
  cudnnBackendDescriptorType_t type() const override { return CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR; }
  std::optional<Value> get(cudnnBackendAttributeName_t name) const override;

  std::shared_ptr<const EngineConfig> config;
  // Whether the engine's code is loaded. Code that is compiled for a plan is unloaded with the
  // plan.
  std::shared_ptr<std::atomic<bool>> is_loaded = std::make_shared<std::atomic<bool>>(true);
};

struct VariantPack : Content {
  cudnnBackendDescriptorType_t type() const override { return CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR; }
  std::map<int64_t, void*> memory;  // by the tensors' ids
  void* workspace;
};

// Each makes the content of a descriptor whose attributes are set. Throws Refusal if the attributes
// do not fit each other.
ContentPtr make_heuristics(const Descriptor& d);
ContentPtr make_engine(const Descriptor& d);
ContentPtr make_knob_choice(const Descriptor& d);
ContentPtr make_engine_config(const Descriptor& d);
ContentPtr make_plan(const Descriptor& d);
ContentPtr make_variant_pack(const Descriptor& d);

// Enqueues the plan on the handle's stream. Throws Refusal if the tensors or the workspace do not
// meet the plan's needs.
void execute(const cudnnContext& handle, const Plan& plan, const VariantPack& pack);

}  // namespace emulated_gpu::cudnn
