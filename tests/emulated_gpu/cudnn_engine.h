// Engines that compute cuDNN's graphs, of which many are here to be passed over: they round coarsely, ask for too much
// memory, or cannot run after all.
#pragma once

#include <atomic>

#include "cudnn_graph.h"

namespace emulated_gpu::cudnn {

struct EngineKind;  // one of the list

// Of every graph, whether or not they support it.
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
  // Whether the engine's code is loaded. What is compiled for a plan is unloaded with it.
  std::shared_ptr<std::atomic<bool>> is_loaded = std::make_shared<std::atomic<bool>>(true);
};

struct VariantPack : Content {
  cudnnBackendDescriptorType_t type() const override { return CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR; }
  std::map<int64_t, void*> memory;  // by the tensors' ids
  void* workspace;
};

// Of descriptors that have their attributes. Throw Refusal where these do not fit each other.
ContentPtr make_heuristics(const Descriptor& d);
ContentPtr make_engine(const Descriptor& d);
ContentPtr make_knob_choice(const Descriptor& d);
ContentPtr make_engine_config(const Descriptor& d);
ContentPtr make_plan(const Descriptor& d);
ContentPtr make_variant_pack(const Descriptor& d);

// Enqueues it on the handle's stream. Throws Refusal where the tensors or the workspace are not as the plan needs them.
void execute(const cudnnContext& handle, const Plan& plan, const VariantPack& pack);

}  // namespace emulated_gpu::cudnn
