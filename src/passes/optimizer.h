// The optimizer's part of a step: conditioning of gradients, updates of parameters, their averages.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ops/optimizer.h"

namespace troika {

// The name of the loss scale: f32 [2], {scale, good steps}. The loss scale is state of the trainer,
// not of the model.
constexpr const char* kLossScale = "(loss scale)";
constexpr double kLossScaleGrowth = 2, kLossScaleBackoff = 0.5;  // powers of two, so that scaling rounds nothing

// The name of the numbers of updates: i64 [rows], by row of the settings.
constexpr const char* kUpdateCount = "(updates)";

constexpr double kClipEps = 1e-6;  // PyTorch's: the factor is max_norm / (norm + kClipEps), and at most 1

// The slot of the moving averages, of any optimizer.
constexpr const char* kAverageSlot = "average";

// Conditioning: what is done with all gradients of a step together, before the updates.
struct Conditioning {
  // Dynamic loss scaling: gradients are divided by the scale. Implies skips_not_finite.
  bool is_scaled = false;
  int64_t scale_interval = 2000;  // good steps until the scale doubles
  // Above 0: all gradients are multiplied by one factor, so that their common 2-norm is at most
  // this. The norm before clipping becomes an output, f32.
  double max_norm = 0;
  // If a gradient is not finite, the step changes nothing. The graph gets is_finite as an output.
  bool skips_not_finite = false;

  bool checks_finite() const { return is_scaled || skips_not_finite; }
};

// The gradients that a rank counts if several ranks hold the model together, each a part of it.
struct CountedGradients {
  int rank = 0, ranks = 1;
  // Gradients whose norm and finiteness the rank reports. Ranks of a channel group hold some of the
  // same gradients.
  std::vector<std::string> names;
};

// A run of parameters that one node updates.
struct UpdateGroup {
  std::vector<std::string> parameters;  // in bucket order
  int64_t row = 0;                      // of the settings
  bool skips_decay = false;
  bool has_norms = false;  // of an optimizer with norms

  bool has_settings_of(const UpdateGroup& other) const {
    return row == other.row && skips_decay == other.skips_decay && has_norms == other.has_norms;
  }
};

struct OptimizerStep {
  const OptimizerDef* optimizer = &sgd_optimizer;
  std::vector<std::string> slots;  // those that this run keeps, in the definition's order
  int64_t rows = 1;                // of the settings
  Conditioning conditioning;
  double average_decay = 0;  // above 0: the averages of all parameters that are updated
  std::vector<UpdateGroup> groups;
  CountedGradients counted;
  // If ranks of a channel group hold parts of a parameter: all parameters with norms that the group
  // trains, the same on each of its ranks. Then norms are sums over the group, of the parameters
  // that `counted` names.
  std::vector<std::string> split_norms;
};

// Returns the name of a slot of a parameter, such as "momentum/conv1.weight".
std::string slot_name(const std::string& slot, const std::string& parameter);
std::string parameter_of_slot(const std::string& slot_name);

// Appends everything that follows the backward pass. Gradients are values of Role::gradient. The
// host feeds the settings: one row for the trainer, and one for each group of parameters.
void append_optimizer(Graph& graph, const OptimizerStep& step);

}  // namespace troika
