// The time of a training step, launch by launch.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "cli/client.h"
#include "cli/measured_rates.h"

namespace troika::cli {

// The best time of each launch and wait over several steps of a trainer that collects traces.
class Profile {
 public:
  void add(const Trainer& trainer);  // the trace of the last step

  // Returns one line per launch in the order of the step, then sums. `rates`: by replica.
  // `step_seconds`: of a step that is not traced.
  std::string table(const std::vector<MeasuredRates>& rates, double step_seconds) const;

 private:
  struct Event {
    std::string name;  // "conv2d layer1.0.conv1"
    double milliseconds = 0;
    std::string kernel = {};
    double bytes = 0, operations = 0;
  };
  // The trace of a step; removed with this object.
  struct TemporaryFile {
    std::filesystem::path path;
    TemporaryFile();
    ~TemporaryFile();
  };

  static std::string row(const Event& event, const MeasuredRates& rates, double sum);
  static std::string sums_by_kind(const std::vector<Event>& events, const MeasuredRates& rates, double sum);

  const TemporaryFile file_;
  std::map<int, std::vector<Event>> replicas_;
};

}  // namespace troika::cli
