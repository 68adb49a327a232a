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

}  // namespace troika
