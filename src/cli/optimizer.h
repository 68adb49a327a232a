// The options --optimizer, --lr and related ones: how a step changes parameters.
#pragma once

#include <cmath>
#include <string>
#include <vector>

#include "cli/client.h"
#include "cli/command_line.h"

namespace troika::cli {

struct OptimizerOptions {
  std::string name = "sgd";    // empty: see complete_optimizer
  double learning_rate = NAN;  // not given: the optimizer's default
  double momentum = 0, weight_decay = 0, max_gradient_norm = 0, average_decay = 0;
  double beta1 = -1, beta2 = -1, eps = -1, alpha = -1, trust = -1;  // below 0: the optimizer's default
  bool nesterov = false, skip_decay_one_axis = false;
  // Patterns of parameters' names, separated by commas.
  std::string train_only, freeze;  // train_only empty: all
  std::string rates;               // rates of their own: PATTERN=RATE
};

// Memory for the groups in a trainer's options.
struct ParameterGroups {
  std::vector<std::string> patterns;
  std::vector<troika_parameter_group> groups;
};

void add_optimizer_options(const Command& command, OptimizerOptions& options);
// Refuses values that the library would refuse by its own names. Fills in the optimizer (adam, or
// sgd if a rate or momentum is given) and the learning rate, if they are not given.
void complete_optimizer(OptimizerOptions& options);
// Both must outlive the use of `out`.
void set_optimizer(const OptimizerOptions& options, troika_trainer_options& out, ParameterGroups& groups);

// Calls `visit(name, field)` for each option except the learning rate. Names are those of the
// command line without the dashes.
template <typename Visitor>
void visit_optimizer(OptimizerOptions& options, Visitor&& visit) {
  visit("optimizer", options.name);
  visit("momentum", options.momentum);
  visit("weight-decay", options.weight_decay);
  visit("nesterov", options.nesterov);
  visit("max-gradient-norm", options.max_gradient_norm);
  visit("beta1", options.beta1);
  visit("beta2", options.beta2);
  visit("eps", options.eps);
  visit("alpha", options.alpha);
  visit("trust", options.trust);
  visit("skip-decay-one-axis", options.skip_decay_one_axis);
  visit("average-decay", options.average_decay);
  visit("train-only", options.train_only);
  visit("freeze", options.freeze);
  visit("lr-of", options.rates);
}

}  // namespace troika::cli
