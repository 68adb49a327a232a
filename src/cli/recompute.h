// The options --recompute-segments, --recompute-layers and --activation-budget.
#pragma once

#include <string>

#include "cli/client.h"
#include "cli/command_line.h"

namespace troika::cli {

struct RecomputeOptions {
  int segments = 0;
  std::string layers;  // empty: none
  int64_t budget_bytes = 0;
};

inline void add_recompute_options(const Command& command, RecomputeOptions& options) {
  command.option(
      "--recompute-segments", options.segments,
      "Cuts the forward pass into so many segments and computes their values again for backward; 0: keeps all");
  command.option("--recompute-layers", options.layers,
                 "Layers whose outputs are computed again for backward, such as 'layer1.*,layer2.*'", "PATTERNS");
  command.bytes(
      "--activation-budget", options.budget_bytes,
      "Computes values again until activations fit into so many bytes per device, such as 300MB; 0: no budget");
}

// Refuses values that the library would refuse by its own names.
inline void check_recompute(const RecomputeOptions& options) {
  if (options.segments < 0) refuse_value("--recompute-segments", options.segments, "at least 0");
  if (options.budget_bytes < 0) refuse_value("--activation-budget", options.budget_bytes, "at least 0");
  if (options.budget_bytes > 0 && (options.segments > 0 || !options.layers.empty()))
    throw Failure("--activation-budget chooses by itself; leave out --recompute-segments and --recompute-layers");
}

// `out`: the options of a trainer, or of a plan. `options` must live as long.
template <typename Options>
void set_recompute(const RecomputeOptions& options, Options& out) {
  out.recompute_segments = options.segments;
  out.recompute_layers = options.layers.empty() ? nullptr : options.layers.c_str();
  out.activation_budget_bytes = options.budget_bytes;
}

}  // namespace troika::cli
