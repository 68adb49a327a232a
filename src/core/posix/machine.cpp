// Names of the machine, as the system has them.
#include "core/machine.h"

#include <unistd.h>

#include <climits>
#include <fstream>

namespace troika {

std::string host_name() {
  char name[HOST_NAME_MAX + 1] = "";
  gethostname(name, HOST_NAME_MAX);
  return name;
}

std::string boot_id() {
  std::string id;
  std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), id);
  return id;
}

std::string processor_name() {
  std::ifstream cpus("/proc/cpuinfo");
  for (std::string line; std::getline(cpus, line);)
    if (line.rfind("model name", 0) == 0 && line.find(": ") != std::string::npos)
      return line.substr(line.find(": ") + 2);
  return "CPU";
}

std::string user_id() { return std::to_string(getuid()); }

}  // namespace troika
