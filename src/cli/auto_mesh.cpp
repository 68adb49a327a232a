// The devices' speed and memory, as far as they are known, and the plan for them.
#include "cli/auto_mesh.h"

#include <algorithm>

#include "cli/text.h"

namespace troika::cli {
namespace {

// Guesses for a core of a CPU, per second; docs/planning.md has their basis.
constexpr double kOperationsOfCore = 1e11, kBytesOfCore = 1e10;
constexpr double kCpuLatency = 2e-5;  // seconds, until another thread has woken up

troika_device_info describe(const Context& context, troika_device device) {
  troika_device_info info = TROIKA_DEVICE_INFO_INIT;
  call(troika_device_describe, context.get(), device, &info);
  return info;
}

}  // namespace

// For GPUs the defaults hold, except for memory: the least of all GPUs.
void set_machine(const Context& context, int threads, const std::vector<troika_device>& devices,
                 troika_plan_options& out) {
  const auto count = static_cast<int64_t>(devices.size());
  out.devices = static_cast<int32_t>(count);
  out.device_kind = TROIKA_DEVICE_CPU;
  const troika_device_info first = describe(context, devices.front());
  out.memory_bytes = first.memory_bytes / count;
  const double cores =
      static_cast<double>(threads > 0 ? threads : first.cores) / static_cast<double>(count);  // of a device
  for (troika_device device : devices) {
    if (device.kind != TROIKA_DEVICE_CUDA) continue;
    const int64_t bytes = describe(context, device).memory_bytes;
    out.memory_bytes = out.device_kind == TROIKA_DEVICE_CUDA ? std::min(out.memory_bytes, bytes) : bytes;
    out.device_kind = TROIKA_DEVICE_CUDA;
  }
  if (out.device_kind == TROIKA_DEVICE_CUDA) return;
  out.operations_per_second = kOperationsOfCore * cores;
  out.memory_bandwidth = kBytesOfCore * cores;
  out.link_bandwidth = out.memory_bandwidth / 2;  // data are read on one side and written on the other
  out.link_latency = kCpuLatency;
}

void settle_mesh(MeshOptions& options, const Context& context, int threads, const Model& model,
                 const std::vector<troika_device>& devices, int batch, troika_trainer_options& trainer_options) {
  if (!options.is_auto()) return;
  // Plans are for devices of one kind; others are best split by data, with --shares.
  if (std::any_of(devices.begin(), devices.end(), [&](troika_device d) { return d.kind != devices.front().kind; })) {
    trainer_options.mesh = {static_cast<int32_t>(devices.size()), 1, 1, 0};
    options.mesh = name_of(trainer_options.mesh);
    return;
  }
  troika_plan_options plan_options = TROIKA_PLAN_OPTIONS_INIT;
  set_machine(context, threads, devices, plan_options);
  plan_options.batch = batch;
  plan_options.trainer = &trainer_options;
  troika_plan_result plan = TROIKA_PLAN_RESULT_INIT;
  call(troika_plan_choose, model.get(), &plan_options, &plan);
  options.mesh = name_of(plan.mesh);
  trainer_options.mesh = plan.mesh;
}

}  // namespace troika::cli
