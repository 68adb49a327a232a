// What one device holds of the model: the layers of its place in a pipeline, and its channels of them. Without such splits
// there is one part, the whole.
#pragma once

#include <string>
#include <vector>

#include "parallel/data_parallel.h"
#include "passes/passes.h"
#include "plan/state_table.h"

namespace troika {

struct ModelPart {
  std::vector<std::string> trainable;  // in the model's order
  std::vector<Bucket> buckets;
  std::vector<UpdateGroup> update_groups;  // of equal settings, each within a bucket
  StateTable state{{}, false};
};

}  // namespace troika
