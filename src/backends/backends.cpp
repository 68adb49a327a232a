// The one list that names the backends.
#include <algorithm>
#include <string_view>

#include "backends/cpu/cpu_backend.h"
#include "backends/kernel_list.h"
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
