// The options of an optimizer on the command line.
#include "cli/optimizer.h"

#include <algorithm>
#include <cmath>
#include <sstream>

#include "cli/text.h"

namespace troika::cli {
namespace {

constexpr double kLarge = 1e30;

// In the order of TROIKA_OPTIMIZER_*, with each optimizer's settings apart from learning rate and
// weight decay.
struct Optimizer {
  const char* name;
  const char* settings;
};
constexpr Optimizer kOptimizers[] = {
    {"sgd", "momentum nesterov"},
    {"adam", "beta1 beta2 eps"},
    {"adamw", "beta1 beta2 eps"},
    {"rmsprop", "alpha eps momentum"},
    {"lars", "momentum trust eps"},
    {"lamb", "beta1 beta2 eps"},
    {"adagrad", "eps"},
};

const Optimizer& find(const std::string& name) {
  const auto found = std::find_if(std::begin(kOptimizers), std::end(kOptimizers),
                                  [&name](const Optimizer& optimizer) { return name == optimizer.name; });
  if (found == std::end(kOptimizers))
    refuse_value("--optimizer", name, "sgd, adam, adamw, rmsprop, lars, lamb or adagrad");
  return *found;
}

void check_number(const char* option, double value) {
  if (!(value >= 0)) refuse_value(option, value, "a number of at least 0");
  if (!(value < kLarge)) refuse_value(option, value, formatted("a number below %g", kLarge));
}

void check_part(const std::string& option, double value) {
  if (!(value >= 0 && value < 1)) refuse_value(option.c_str(), value, "at least 0 and below 1");
}

}  // namespace

void add_optimizer_options(const Command& command, OptimizerOptions& options) {
  command.option("--optimizer", options.name, "sgd, adam, adamw, rmsprop, lars, lamb or adagrad");
  command.option("--lr", options.learning_rate, "Learning rate");
  command.option("--momentum", options.momentum, "Momentum of sgd, rmsprop and lars");
  command.option("--weight-decay", options.weight_decay, "Weight decay, as PyTorch defines it for the optimizer");
  command.flag("--skip-decay-one-axis", options.skip_decay_one_axis,
               "No weight decay for biases and BatchNorm's parameters");
  command.flag("--nesterov", options.nesterov, "Nesterov's momentum, of sgd");
  command.option("--beta1", options.beta1, "Beta1 of adam, adamw and lamb; below 0: 0.9");
  command.option("--beta2", options.beta2, "Beta2 of adam, adamw and lamb; below 0: 0.999");
  command.option("--eps", options.eps,
                 "Epsilon of every optimizer except sgd; below 0: 1e-8, lamb 1e-6, lars 1e-9, adagrad 1e-10");
  command.option("--alpha", options.alpha, "Alpha of rmsprop; below 0: 0.99");
  command.option("--trust", options.trust, "Trust ratio of lars; below 0: 0.001");
  command.option("--max-gradient-norm", options.max_gradient_norm,
                 "Clips the gradients of a step to this common 2-norm; 0: no clipping");
  command.option("--train-only", options.train_only,
                 "Parameters to train, such as 'fc.*'; all others are frozen. Empty: all are trained", "PATTERNS");
  command.option("--average-decay", options.average_decay,
                 "Above 0: evaluates and saves moving averages of the parameters, which decay by this factor per step");
}

void check_optimizer(const OptimizerOptions& options) {
  const Optimizer& optimizer = find(options.name);
  check_number("--lr", options.learning_rate);
  check_part("--momentum", options.momentum);
  if (options.nesterov && options.momentum == 0) throw Failure("--nesterov needs --momentum above 0");
  check_number("--weight-decay", options.weight_decay);
  check_number("--max-gradient-norm", options.max_gradient_norm);
  check_part("--average-decay", options.average_decay);
  const auto check_has = [&](const char* setting, bool is_given) {
    if (is_given && std::string(optimizer.settings).find(setting) == std::string::npos)
      throw Failure(std::string("--optimizer ") + optimizer.name + " has no --" + setting);
  };
  check_has("momentum", options.momentum != 0);
  check_has("nesterov", options.nesterov);
  const std::pair<const char*, double> settings[] = {{"beta1", options.beta1},
                                                     {"beta2", options.beta2},
                                                     {"eps", options.eps},
                                                     {"alpha", options.alpha},
                                                     {"trust", options.trust}};
  for (const auto& [setting, value] : settings) {
    if (value < 0) continue;
    check_has(setting, true);
    const std::string option = std::string("--") + setting, name = setting;
    if (name == "eps" || name == "trust") {
      if (!(value > 0 && value < kLarge)) refuse_value(option.c_str(), value, "a number above 0");
    } else {
      check_part(option, value);
    }
  }
}

// One group per pattern, and one that freezes the rest: a parameter belongs to the first group that
// matches it.
void set_groups(const OptimizerOptions& options, troika_trainer_options& out, ParameterGroups& groups) {
  std::istringstream parts(options.train_only);
  for (std::string pattern; std::getline(parts, pattern, ',');) groups.patterns.push_back(pattern);
  groups.patterns.push_back("*");
  for (const std::string& pattern : groups.patterns) {
    troika_parameter_group group = TROIKA_PARAMETER_GROUP_INIT;
    group.pattern = pattern.c_str();
    groups.groups.push_back(group);
  }
  groups.groups.back().frozen = 1;
  out.groups = groups.groups.data();
  out.group_count = static_cast<int32_t>(groups.groups.size());
}

void set_optimizer(const OptimizerOptions& options, troika_trainer_options& out, ParameterGroups& groups) {
  if (!options.train_only.empty()) set_groups(options, out, groups);
  out.optimizer = static_cast<int32_t>(&find(options.name) - kOptimizers) + 1;
  out.learning_rate = options.learning_rate;
  out.momentum = options.momentum;
  out.weight_decay = options.weight_decay;
  out.nesterov = options.nesterov ? 1 : 0;
  out.max_gradient_norm = options.max_gradient_norm;
  out.decay_one_axis = options.skip_decay_one_axis ? 0 : 1;
  out.average_decay = options.average_decay;
  if (options.beta1 >= 0) out.beta1 = options.beta1;
  if (options.beta2 >= 0) out.beta2 = options.beta2;
  if (options.eps >= 0) out.eps = options.eps;
  if (options.alpha >= 0) out.alpha = options.alpha;
  if (options.trust >= 0) out.trust = options.trust;
}

}  // namespace troika::cli
