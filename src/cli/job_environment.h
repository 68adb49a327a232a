// The environment variables of a job's processes.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "cli/launch_options.h"

namespace troika::cli {

class JobEnvironment {
 public:
  // Chooses the secret and the numbers of threads. Throws Failure if several nodes have no secret.
  explicit JobEnvironment(const LaunchOptions& options);

  // Chooses a new port if the launcher chooses the port.
  void begin_attempt(int attempt);

  // Returns the variables of a process as NAME=VALUE: those of Troika and of torchrun, and those of
  // this program.
  std::vector<std::string> variables(int process) const;

 private:
  void set(const std::string& name, const std::string& value) { common_[name] = value; }
  void set(const std::string& name, int value) { set(name, std::to_string(value)); }

  const LaunchOptions& options_;
  std::map<std::string, std::string> common_;
};

}  // namespace troika::cli
