// --shares auto: parts of a batch as large as the devices are fast.
#pragma once

#include <functional>
#include <vector>

#include "cli/client.h"
#include "cli/data_source.h"
#include "cli/job.h"
#include "cli/mesh.h"

namespace troika::cli {

// Throws Failure if shares are to be measured that cannot be: those of several processes, or of a
// mesh that may split by layer or channel, and logical shards.
void check_measured_shares(const MeshOptions& options, const Job& job);

// If `options` ask for it, measures training steps of each device alone on a part of a batch, and
// writes the sizes of the parts to `options` as numbers. The fastest device has 1, and devices that
// are as fast within 3 % too. The steps train models that `create` creates.
void settle_shares(MeshOptions& options, const std::function<Model()>& create,
                   const std::vector<troika_device>& devices, const Samples& samples, int batch,
                   const troika_trainer_options& trainer_options);

}  // namespace troika::cli
