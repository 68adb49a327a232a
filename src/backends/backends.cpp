// The one list that names the backends.
#include "backends/cpu/cpu_backend.h"
#include "device/backend.h"

namespace troika {

std::unique_ptr<BackendRegistry> BackendRegistry::create() {
  auto registry = std::make_unique<BackendRegistry>();
  registry->add(cpu::create_cpu_backend());
  registry->add_unavailable(DeviceKind::cuda, "this build has no CUDA backend");
  return registry;
}

}  // namespace troika
