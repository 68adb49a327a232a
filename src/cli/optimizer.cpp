// The options of an optimizer on the command line.
#include "cli/optimizer.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "cli/text.h"

namespace troika::cli {
namespace {

constexpr double kLarge = 1e30;

// A setting of an optimizer, and the default that the help shows. Momentum is 0 by default.
struct Setting {
  const char* name = nullptr;
  double standard = 0;
};

struct Optimizer {
  const char* name;
  double learning_rate;  // if --lr is not given
  Setting settings[3];   // apart from learning rate and weight decay
};

// In the order of TROIKA_OPTIMIZER_*.
constexpr Optimizer kOptimizers[] = {
    {"sgd", 0.1, {{"momentum"}, {"nesterov"}}},
    {"adam", 0.001, {{"beta1", 0.9}, {"beta2", 0.999}, {"eps", 1e-8}}},
    {"adamw", 0.001, {{"beta1", 0.9}, {"beta2", 0.999}, {"eps", 1e-8}}},
    {"rmsprop", 0.001, {{"alpha", 0.99}, {"eps", 1e-8}, {"momentum"}}},
    {"lars", 0.1, {{"momentum"}, {"trust", 0.001}, {"eps", 1e-9}}},
    {"lamb", 0.001, {{"beta1", 0.9}, {"beta2", 0.999}, {"eps", 1e-6}}},
    {"adagrad", 0.01, {{"eps", 1e-10}}},
};

const Setting* find_setting(const Optimizer& optimizer, const std::string& name) {
  const auto found = std::find_if(std::begin(optimizer.settings), std::end(optimizer.settings),
                                  [&name](const Setting& setting) { return setting.name && name == setting.name; });
  return found == std::end(optimizer.settings) ? nullptr : found;
}

// Returns "sgd, rmsprop and lars". `last` comes before the last word.
std::string listed(const std::vector<std::string>& words, const std::string& last) {
  std::string list;
  for (size_t i = 0; i < words.size(); ++i)
    list += (i == 0 ? "" : i + 1 == words.size() ? " " + last + " " : ", ") + words[i];
  return list;
}

std::string names_of_optimizers() {
  std::vector<std::string> names;
  for (const Optimizer& optimizer : kOptimizers) names.emplace_back(optimizer.name);
  return listed(names, "or");
}

// Returns the optimizers that have the setting, such as "sgd, rmsprop and lars".
std::string users_of(const char* setting) {
  std::vector<std::string> names;
  for (const Optimizer& optimizer : kOptimizers)
    if (find_setting(optimizer, setting)) names.emplace_back(optimizer.name);
  return listed(names, "and");
}

// Returns the setting's default for each optimizer that has it, such as "adam 0.9, adamw 0.9 and
// lamb 0.9".
std::string defaults_of(const char* setting) {
  std::vector<std::string> defaults;
  for (const Optimizer& optimizer : kOptimizers)
    if (const Setting* own = find_setting(optimizer, setting))
      defaults.push_back(formatted("%s %g", optimizer.name, own->standard));
  return listed(defaults, "and");
}

std::string default_rates() {
  std::vector<std::string> rates;
  for (const Optimizer& optimizer : kOptimizers)
    rates.push_back(formatted("%s %g", optimizer.name, optimizer.learning_rate));
  return listed(rates, "and");
}

const Optimizer& find_optimizer(const std::string& name) {
  const auto found = std::find_if(std::begin(kOptimizers), std::end(kOptimizers),
                                  [&name](const Optimizer& optimizer) { return name == optimizer.name; });
  if (found == std::end(kOptimizers)) refuse_value("--optimizer", name, names_of_optimizers());
  return *found;
}

void check_number(const char* option, double value) {
  if (!(value >= 0)) refuse_value(option, value, "a number of at least 0");
  if (!(value < kLarge)) refuse_value(option, value, formatted("a number below %g", kLarge));
}

void check_part(const std::string& option, double value) {
  if (!(value >= 0 && value < 1)) refuse_value(option.c_str(), value, "at least 0 and below 1");
}

std::vector<std::string> parts_of(const std::string& list) {
  return list.empty() ? std::vector<std::string>() : split(list, ',');
}

struct OwnRate {
  std::string pattern;
  double rate = 0;
};

OwnRate parse_rate_of(const std::string& part) {
  const size_t at = part.find('=');
  char* end = nullptr;
  const double rate = at == std::string::npos ? -1 : std::strtod(part.c_str() + at + 1, &end);
  if (at == std::string::npos || at == 0 || end == part.c_str() + at + 1 || *end != '\0' ||
      !(rate >= 0 && rate < kLarge))
    refuse_value("--lr-of", part, "PATTERN=RATE, such as 'fc.*=0.001'");
  return {part.substr(0, at), rate};
}

}  // namespace

void add_optimizer_options(const Command& command, OptimizerOptions& options) {
  command.option("--optimizer", options.name,
                 names_of_optimizers() +
                     (options.name.empty() ? "; if it is not given: adam, or sgd with --lr or --momentum" : ""));
  // A command with a rate of its own shows that rate.
  const bool has_rate = !std::isnan(options.learning_rate);
  command.option("--lr", options.learning_rate,
                 has_rate ? "Learning rate" : "Learning rate; if it is not given: " + default_rates());
  command.option("--momentum", options.momentum, "Momentum of " + users_of("momentum"));
  command.option("--weight-decay", options.weight_decay, "Weight decay, as PyTorch defines it for the optimizer");
  command.flag("--skip-decay-one-axis", options.skip_decay_one_axis,
               "No weight decay for biases and BatchNorm's parameters");
  command.flag("--nesterov", options.nesterov, "Nesterov's momentum, of " + users_of("nesterov"));
  command.option("--beta1", options.beta1, "Beta1; below 0: " + defaults_of("beta1"));
  command.option("--beta2", options.beta2, "Beta2; below 0: " + defaults_of("beta2"));
  command.option("--eps", options.eps, "Epsilon; below 0: " + defaults_of("eps"));
  command.option("--alpha", options.alpha, "Alpha; below 0: " + defaults_of("alpha"));
  command.option("--trust", options.trust, "Trust ratio; below 0: " + defaults_of("trust"));
  command.option("--max-gradient-norm", options.max_gradient_norm,
                 "Clips the gradients of a step to this common 2-norm; 0: no clipping");
  command.option(
      "--train-only", options.train_only,
      "Parameters to train, such as 'fc.*'; all others but those of --lr-of are frozen. Empty: all are trained",
      "PATTERNS");
  command.option("--freeze", options.freeze, "Parameters that stay as they are, such as 'conv*,bn1.*'", "PATTERNS");
  command.option("--lr-of", options.rates,
                 "Learning rates of some parameters, which follow the schedule too, such as 'fc.*=0.001'",
                 "PATTERN=RATE");
  command.option("--average-decay", options.average_decay,
                 "Above 0: evaluates and saves moving averages of the parameters, which decay by this factor per step");
}

void complete_optimizer(OptimizerOptions& options) {
  // Most people who choose a rate or momentum by themselves mean SGD. Without a choice, a run
  // should learn from its first epoch on, whatever the model.
  if (options.name.empty())
    options.name = std::isnan(options.learning_rate) && options.momentum == 0 && !options.nesterov ? "adam" : "sgd";
  const Optimizer& optimizer = find_optimizer(options.name);
  if (std::isnan(options.learning_rate)) options.learning_rate = optimizer.learning_rate;
  check_number("--lr", options.learning_rate);
  check_part("--momentum", options.momentum);
  if (options.nesterov && options.momentum == 0) throw Failure("--nesterov needs --momentum above 0");
  check_number("--weight-decay", options.weight_decay);
  check_number("--max-gradient-norm", options.max_gradient_norm);
  check_part("--average-decay", options.average_decay);
  if (!options.freeze.empty() && !options.train_only.empty())
    throw Failure("--train-only freezes all other parameters; leave out --freeze");
  for (const std::string& part : parts_of(options.rates)) parse_rate_of(part);
  const auto check_has = [&](const char* setting, bool is_given) {
    if (is_given && !find_setting(optimizer, setting))
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

// A parameter belongs to the first group that matches it: those that freeze come first, then those
// with rates of their own, then those of --train-only, and last one that freezes the rest.
void set_groups(const OptimizerOptions& options, troika_trainer_options& out, ParameterGroups& groups) {
  struct Rule {
    std::string pattern;
    bool is_frozen;
    double rate;
  };
  std::vector<Rule> rules;
  for (const std::string& pattern : parts_of(options.freeze)) rules.push_back({pattern, true, -1});
  for (const std::string& part : parts_of(options.rates)) {
    const OwnRate own = parse_rate_of(part);
    rules.push_back({own.pattern, false, own.rate});
  }
  for (const std::string& pattern : parts_of(options.train_only)) rules.push_back({pattern, false, -1});
  if (!options.train_only.empty()) rules.push_back({"*", true, -1});
  for (const Rule& rule : rules) groups.patterns.push_back(rule.pattern);
  for (size_t i = 0; i < rules.size(); ++i) {
    troika_parameter_group group = TROIKA_PARAMETER_GROUP_INIT;
    group.pattern = groups.patterns[i].c_str();
    group.frozen = rules[i].is_frozen ? 1 : 0;
    group.learning_rate = rules[i].rate;
    groups.groups.push_back(group);
  }
  out.groups = groups.groups.data();
  out.group_count = static_cast<int32_t>(groups.groups.size());
}

void set_optimizer(const OptimizerOptions& options, troika_trainer_options& out, ParameterGroups& groups) {
  set_groups(options, out, groups);
  out.optimizer = static_cast<int32_t>(&find_optimizer(options.name) - kOptimizers) + 1;
  out.learning_rate = options.learning_rate;
  out.momentum = options.momentum;
  out.weight_decay = options.weight_decay;
  out.nesterov = options.nesterov ? 1 : 0;
  out.max_gradient_norm = options.max_gradient_norm;
  out.skip_decay_one_axis = options.skip_decay_one_axis;
  out.average_decay = options.average_decay;
  if (options.beta1 >= 0) out.beta1 = options.beta1;
  if (options.beta2 >= 0) out.beta2 = options.beta2;
  if (options.eps >= 0) out.eps = options.eps;
  if (options.alpha >= 0) out.alpha = options.alpha;
  if (options.trust >= 0) out.trust = options.trust;
}

}  // namespace troika::cli
