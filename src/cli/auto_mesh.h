// --mesh auto: the fastest mesh that fits the devices, by the library's plans.
#pragma once

#include <vector>

#include "cli/client.h"
#include "cli/mesh.h"

namespace troika::cli {

// Describes CPU devices, which share the host's cores and memory, or GPUs: memory, and guesses of
// their speed. `threads`: of the context, 0: every core.
void set_machine(const Context& context, int threads, const std::vector<troika_device>& devices,
                 troika_plan_options& out);

// If `options` ask for it, chooses the mesh for steps of `batch` samples with `trainer_options`,
// and writes it to both. Throws Failure if no mesh fits. `threads`: those of the context, 0: every
// core.
void settle_mesh(MeshOptions& options, const Context& context, int threads, const Model& model,
                 const std::vector<troika_device>& devices, int batch, troika_trainer_options& trainer_options);

}  // namespace troika::cli
