// The one list that names the backends.
#include "backends/cpu/cpu_backend.h"
#include "device/plugin.h"

namespace troika {

std::unique_ptr<BackendRegistry> BackendRegistry::create() {
  auto registry = std::make_unique<BackendRegistry>();
  registry->add(cpu::create_cpu_backend());
  std::string reason;
  if (auto cuda = load_backend("cuda", reason))
    registry->add(std::move(cuda));
  else
    registry->add_unavailable(DeviceKind::cuda, std::move(reason));
  return registry;
}

}  // namespace troika
