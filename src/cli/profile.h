// The time of a training step, launch by launch.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "cli/ceilings.h"
#include "cli/client.h"

namespace troika::cli {

// The best time of each launch and wait over several steps of a trainer that collects traces.
class Profile {
 public:
  void add(const Trainer& trainer);  // the trace of the last step
  // Adds kernels, bytes and operations of the launches, from the trace of the last step.
  void describe_launches(const Trainer& trainer);

  // Returns one line per launch, in the order of the step: milliseconds, part of the sum, what it
  // reached of the ceilings, replica, name and kernel; then sums by kind of launch, and of each
  // replica. `step_seconds`: of a step that is not traced.
  std::string table(const Ceilings& ceilings, double step_seconds) const;

 private:
  struct Event {
    std::string name;  // "conv2d layer1.0.conv1"
    double milliseconds;
    std::string kernel = {};
    double bytes = 0, operations = 0;
  };

  static std::string row(const Event& event, const Ceilings& ceilings, double sum);
  static std::string sums_by_kind(const std::vector<Event>& events, const Ceilings& ceilings, double sum);

  std::map<int, std::vector<Event>> replicas_;
};

}  // namespace troika::cli
