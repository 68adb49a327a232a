// --shares auto: parts of a batch as large as the devices are fast.
#pragma once

#include <vector>

#include "cli/client.h"
#include "cli/data_source.h"
#include "cli/job.h"
#include "cli/mesh.h"

namespace troika::cli {

// If `options` ask for it, measures training steps of each device alone on a part of a batch, and
// writes the sizes of the parts to `options` as numbers. The fastest device has 1, and devices that
// are as fast within 3 % too. Throws Failure for a mesh that does not split by data alone, and for
// several processes.
void settle_shares(MeshOptions& options, const Model& model, const std::vector<troika_device>& devices,
                   const Samples& samples, int batch, const Job& job, const troika_trainer_options& trainer_options);

}  // namespace troika::cli
