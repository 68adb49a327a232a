// `troika devices`: the devices, and the reason if a kind is not usable.
#include <iostream>

#include "cli/command_line.h"
#include "cli/commands.h"
#include "cli/device_list.h"
#include "cli/text.h"

namespace troika::cli {
namespace {

std::string gibibytes(int64_t bytes) { return formatted("%.1f GiB", static_cast<double>(bytes) / (1 << 30)); }

// CPU devices are slices of the same cores, so one line describes all of them.
void print_cpu(const Context& context) {
  int32_t count = 0;
  call(troika_device_count, context.get(), int32_t{TROIKA_DEVICE_CPU}, &count);
  troika_device_info info = TROIKA_DEVICE_INFO_INIT;
  call(troika_device_describe, context.get(), troika_device{TROIKA_DEVICE_CPU, 0}, &info);
  std::cout << formatted("%-14s %s, %d %s shared by the devices in use, %s (%s free)\n",
                         formatted("cpu:0..cpu:%d", count - 1).c_str(), info.name, info.cores,
                         info.cores == 1 ? "core" : "cores", gibibytes(info.memory_bytes).c_str(),
                         gibibytes(info.free_bytes).c_str());
}

void print_gpus(const Context& context) {
  int32_t count = 0;
  call(troika_device_count, context.get(), int32_t{TROIKA_DEVICE_CUDA}, &count);
  for (int32_t i = 0; i < std::max(count, 1); ++i) {  // describing cuda:0 reports why there is none
    const troika_device device{TROIKA_DEVICE_CUDA, i};
    troika_device_info info = TROIKA_DEVICE_INFO_INIT;
    troika_error error;
    const std::string name = count > 0 ? format_device(device) : "cuda";
    if (troika_device_describe(context.get(), device, &info, &error) != TROIKA_OK) {
      std::cout << formatted("%-14s %s\n", name.c_str(), error.message);
    } else {
      std::cout << formatted("%-14s %s, %d multiprocessors, %s (%s free)\n", name.c_str(), info.name, info.cores,
                             gibibytes(info.memory_bytes).c_str(), gibibytes(info.free_bytes).c_str());
    }
  }
}

}  // namespace

void add_devices_command(CommandLine& line) {
  const Command command = line.add_command("devices", "Lists the devices, and says why one is not usable");
  command.action([] {
    const Context context = create_context();
    print_cpu(context);
    print_gpus(context);
    return 0;
  });
}

}  // namespace troika::cli
