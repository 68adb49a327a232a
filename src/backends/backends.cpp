// The one list that names the backends.
#include <algorithm>
#include <string_view>

#include "backends/cpu/cpu_backend.h"
#include "backends/kernel_list.h"
#include "core/build.h"
#include "core/text.h"
#include "device/plugin.h"

namespace troika {
namespace {

struct ListedKernel {
  std::string_view op;
  CpuKernel cpu;
  CudaKernel cuda;
};

constexpr std::string_view kOps[] = {
#define TROIKA_OP(name) #name,
#include "ops/ops.def"
#undef TROIKA_OP
};
constexpr ListedKernel kKernels[] = {
#define TROIKA_KERNEL(op, cpu, cuda) {#op, CpuKernel::cpu, CudaKernel::cuda},
#include "backends/kernels.def"
#undef TROIKA_KERNEL
};
static_assert(std::ranges::equal(kOps, kKernels, {}, {}, &ListedKernel::op),
              "kernels.def needs a line for each op of ops.def, in the same order");

}  // namespace

std::unique_ptr<BackendRegistry> BackendRegistry::create(const BackendSettings& settings) {
  struct Listed {
    const char* name;
    DeviceKind kind;
    Load load;
  };
  // The CUDA plug-in maps libraries of some hundred MB, so only hosts that ask for a GPU load it.
  const Listed listed[] = {
      {"cpu", DeviceKind::cpu,
       [] {
         return LoadedBackend{cpu::create_cpu_backend(),
                              text(TROIKA_VERSION_STRING, ", commit ", build_commit(), ", ", cpu::library_versions())};
       }},
      {"cuda", DeviceKind::cuda, [settings] { return load_backend("cuda", settings); }}};
  auto registry = std::make_unique<BackendRegistry>();
  const std::vector<std::string>& names = settings.names;
  const auto is_named = [&](const std::string& name) { return std::ranges::find(names, name) != names.end(); };
  for (const Listed& backend : listed) {
    if (names.empty() || is_named(backend.name))
      registry->add_on_demand(backend.kind, backend.load);
    else
      registry->add_unavailable(backend.kind, text("the context's backends are ", join(names, ",")));
  }
  for (const std::string& name : names)
    if (std::ranges::find(listed, name, &Listed::name) == std::end(listed))
      throw Error(Status::invalid_argument, text("backends: there is no '", name, "', there are cpu and cuda"));
  return registry;
}

}  // namespace troika
