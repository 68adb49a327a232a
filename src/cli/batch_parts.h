// The parts of a batch that are computed apart, for layers that need several samples in each part.
#pragma once

#include <cstdint>
#include <string>

#include "cli/client.h"
#include "cli/mesh.h"
#include "core/split.h"

namespace troika::cli {

// A batch is cut into `portions`. Each is cut into `pieces`; sizes differ by at most one.
struct BatchParts {
  ShareSizes portions = {};
  int64_t pieces = 1;
  bool is_joined = false;  // the same piece of all portions counts as one part

  // Returns the samples of the smallest part of a batch that has any.
  int64_t smallest(int64_t batch) const;
  // Returns the smallest batch whose parts all have 2 samples.
  int64_t least_batch() const;
  // Returns the size of batch next to `batch` with which no part of an epoch of `samples` samples
  // has a single one. 0: there is none near.
  int64_t batch_near(int64_t batch, int64_t samples) const;
};

BatchParts batch_parts(const MeshOptions& mesh, bool syncs_statistics, int64_t devices);

// Returns the name of a BatchNorm that has one value per sample and channel. Empty: there is none.
std::string norm_of_single_values(const Model& model);

}  // namespace troika::cli
