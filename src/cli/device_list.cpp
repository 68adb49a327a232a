// Lists of devices as text, and their context.
#include "cli/device_list.h"

#include <cstdio>

#include "cli/command_line.h"
#include "cli/text.h"

namespace troika::cli {
namespace {

constexpr int kMaxThreads = 4096;  // the library's limit

void write_log_line(int32_t, const char*, const char* line, void*) { std::fprintf(stderr, "troika: note: %s\n", line); }

}  // namespace

Context create_context(int threads, uint64_t seed) {
  if (threads < 0 || threads > kMaxThreads)
    refuse_value("--threads", threads, formatted("1 to %d, or 0 for every core", kMaxThreads));
  troika_context_options options = TROIKA_CONTEXT_OPTIONS_INIT;
  if (threads > 0) options.cpu_threads = threads;
  options.seed = seed;
  options.log = write_log_line;
  options.use_environment = 1;
  Context context;
  call(troika_context_create, &options, context.out());
  return context;
}

std::vector<troika_device> parse_devices(const Context& context, const std::string& option, const std::string& text) {
  if (text == "all") {
    int32_t count = 0;
    call(troika_devices_all, context.get(), static_cast<troika_device*>(nullptr), 0, &count);
    std::vector<troika_device> devices(static_cast<size_t>(count));
    call(troika_devices_all, context.get(), devices.data(), count, &count);
    return devices;
  }
  std::vector<troika_device> devices;
  for (const std::string& part : split(text, ',')) {
    if (part.empty()) refuse_value(option, text, "devices, such as cpu:0,cpu:1, or all");
    troika_device device;
    call(troika_device_parse, part.c_str(), &device);
    devices.push_back(device);
  }
  return devices;
}

std::string format_device(troika_device device) {
  char text[64];
  call(troika_device_format, device, text, int64_t{sizeof text}, static_cast<int64_t*>(nullptr));
  return text;
}

std::string short_devices(const std::vector<troika_device>& devices) {
  std::string out;
  for (size_t i = 0; i < devices.size();) {
    size_t last = i;
    while (last + 1 < devices.size() && devices[last + 1].kind == devices[i].kind &&
           devices[last + 1].index == devices[last].index + 1)
      ++last;
    out += (out.empty() ? "" : ",") + format_device(devices[i]);
    if (last > i + 1) out += formatted("..%d", devices[last].index);
    i = last > i + 1 ? last + 1 : i + 1;
  }
  return out;
}

std::string short_devices(const std::string& text) {
  std::vector<troika_device> devices;
  for (const std::string& part : split(text, ',')) {
    troika_device device = {TROIKA_DEVICE_CPU, 0};
    const bool is_gpu = std::sscanf(part.c_str(), "cuda:%d", &device.index) == 1;
    if (!is_gpu && std::sscanf(part.c_str(), "cpu:%d", &device.index) != 1) return text;
    if (is_gpu) device.kind = TROIKA_DEVICE_CUDA;
    devices.push_back(device);
  }
  return short_devices(devices);
}

std::string format_devices(const std::vector<troika_device>& devices) {
  std::string out;
  for (const troika_device& device : devices) out += (out.empty() ? "" : ",") + format_device(device);
  return out;
}

}  // namespace troika::cli
