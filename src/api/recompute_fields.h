// Reads the recompute fields, which the options of trainers and of plans share.
#pragma once

#include "api/field_check.h"
#include "passes/recompute.h"

namespace troika::api {

template <typename Options>
RecomputeSettings read_recompute(const Options& o, const FieldCheck& check) {
  check.integer("recompute_segments", o.recompute_segments, 0, INT32_MAX);
  check.integer("activation_budget_bytes", o.activation_budget_bytes, 0, INT64_MAX);
  RecomputeSettings recompute{o.recompute_segments, {}, o.activation_budget_bytes};
  if (o.recompute_layers) recompute.layers = check.names("recompute_layers", o.recompute_layers);
  if (recompute.budget_bytes > 0 && (recompute.segments > 0 || !recompute.layers.empty()))
    check.conflict("activation_budget_bytes", text(recompute.budget_bytes, ", which chooses by itself"),
                   recompute.segments > 0 ? "options.recompute_segments of 0" : "options.recompute_layers of NULL");
  return recompute;
}

}  // namespace troika::api
