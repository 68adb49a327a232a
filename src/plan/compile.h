// From a model to a rank's plan: THE recipe.
#pragma once

#include "core/log.h"
#include "parallel/data_parallel.h"
#include "passes/passes.h"
#include "passes/recompute.h"
#include "plan/lower.h"

namespace troika {

enum class Mode { train, evaluate, predict };

struct CompileRequest {
  explicit CompileRequest(const Graph& graph) : model(graph) {}
  const Graph& model;
  Mode mode = Mode::train;
  int64_t local_batch = 0;    // samples of this rank; 0: it only takes part in the all-reduce and the update
  int64_t global_batch = 0;   // samples of all ranks
  int64_t sample_offset = 0;  // place of this rank's first sample in the whole batch
  int ranks = 1;
  Loss loss = Loss::cross_entropy;
  bool is_mean = true;  // the loss is the mean over global_batch samples, else the sum
  bool fuse = true;
  DType compute = DType::f32;  // bf16 or f16: mixed precision
  bool allow_tf32 = false;     // f32 products may be made with 10 bits of fraction
  // For training:
  std::vector<std::string> trainable;
  std::vector<Bucket> buckets;
  RecomputeSettings recompute;
  SgdSettings sgd;
  std::vector<UpdateGroup> groups;
  int64_t rates = 1;
};

// The graph that is lowered, after every pass.
Graph build_graph(const CompileRequest& request, const Log& log);

Plan compile(const CompileRequest& request, Device& device, StateTable& state, const Log& log);

}  // namespace troika
