// The time of a training step, launch by launch.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "cli/client.h"

namespace troika::cli {

// The best time of each launch and wait over several steps of a trainer that collects traces.
class Profile {
 public:
  void add(const Trainer& trainer);  // the trace of the last step

  // Returns one line per launch, in the order of the step: milliseconds of each replica and the
  // name; then their sums.
  std::string table() const;

 private:
  struct Event {
    std::string name;
    double milliseconds;
  };
  std::map<int, std::vector<Event>> replicas_;
};

}  // namespace troika::cli
