// A copy of the options that a trainer was attached with.
#pragma once

#include <troika/trainer.h>

#include <deque>
#include <string>
#include <vector>

namespace troika {
class Trainer;
}

namespace troika::api {

// Owns groups, texts and arrays. A field that the caller left unset has the value that the trainer
// uses, unless "unset" itself has a meaning that another trainer should take over: a group that
// follows the trainer, layers that are cut by cost, no ignored label.
class KeptOptions {
 public:
  // Copies options that have been checked. NULL: defaults.
  explicit KeptOptions(const troika_trainer_options* given);
  void resolve(const Trainer& trainer);
  const troika_trainer_options& get() const { return options_; }  // borrowed

 private:
  const char* keep(const char* value);  // NULL stays NULL

  troika_trainer_options options_;
  std::vector<troika_parameter_group> groups_;
  std::deque<std::string> texts_;  // their places do not change
  std::vector<int64_t> milestones_;
  std::vector<double> table_, class_weights_, shares_;
};

}  // namespace troika::api
