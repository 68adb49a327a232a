// troika_device_*.
#include <troika/device.h>

#include "api/context_handle.h"
#include "api/structs.h"
#include "api/tensor_handle.h"

using namespace troika;
using namespace troika::api;

troika_status troika_device_count(troika_context context, int32_t kind, int32_t* out_device_count,
                                  troika_error* error) {
  return guard(error, [&] {
    const auto c = object_of(context, "troika_device_count", "context");
    required(out_device_count, "troika_device_count", "out_device_count");
    if (kind != TROIKA_DEVICE_CPU && kind != TROIKA_DEVICE_CUDA)
      throw Error(Status::invalid_argument,
                  text("troika_device_count: kind is ", kind, ", need TROIKA_DEVICE_CPU or TROIKA_DEVICE_CUDA"));
    *out_device_count = c->backends().device_count(static_cast<DeviceKind>(kind));
  });
}

troika_status troika_device_describe(troika_context context, troika_device device, troika_device_info* out_info,
                                     troika_error* error) {
  return guard(error, [&] {
    const auto c = object_of(context, "troika_device_describe", "context");
    required(out_info, "troika_device_describe", "out_info");
    check_device_kind(device, "troika_device_describe");
    const DeviceInfo found = c->backends().require(device_id(device)).describe(device.index);
    troika_device_info info{};
    info.cores = found.cores;
    info.memory_bytes = found.memory_bytes;
    info.free_bytes = found.free_bytes;
    write_text(found.name, info.name, sizeof info.name, nullptr, "troika_device_describe");
    write_result(out_info, info, "troika_device_describe", "out_info");
  });
}

troika_status troika_device_parse(const char* source, troika_device* out_device, troika_error* error) {
  return guard(error, [&] {
    required(source, "troika_device_parse", "text");
    required(out_device, "troika_device_parse", "out_device");
    const DeviceId id = parse_device(source);
    *out_device = {static_cast<int32_t>(id.kind), id.index};
  });
}

troika_status troika_device_format(troika_device device, char* buffer, int64_t capacity, int64_t* out_size,
                                   troika_error* error) {
  return guard(error, [&] {
    check_device_kind(device, "troika_device_format");
    write_text(to_string(device_id(device)), buffer, capacity, out_size, "troika_device_format");
  });
}

troika_status troika_device_try(troika_context context, int32_t index, troika_device* out_device, troika_error* error) {
  return guard(error, [&] {
    const auto c = object_of(context, "troika_device_try", "context");
    required(out_device, "troika_device_try", "out_device");
    if (index < 0)
      throw Error(Status::invalid_argument, text("troika_device_try: index is ", index, ", need at least 0"));
    *out_device = index < c->backends().device_count(DeviceKind::cuda) ? troika_device{TROIKA_DEVICE_CUDA, index}
                                                                       : troika_device{TROIKA_DEVICE_CPU, 0};
  });
}

troika_status troika_devices_all(troika_context context, troika_device* devices, int32_t device_capacity,
                                 int32_t* out_device_count, troika_error* error) {
  return guard(error, [&] {
    const auto c = object_of(context, "troika_devices_all", "context");
    required(out_device_count, "troika_devices_all", "out_device_count");
    if (device_capacity < 0 || (device_capacity > 0 && !devices))
      throw Error(Status::invalid_argument, text("troika_devices_all: device_capacity is ", device_capacity,
                                                 ", need 0 with NULL or an array of that many"));
    const int gpus = c->backends().device_count(DeviceKind::cuda);
    const int count = gpus > 0 ? gpus : 1;
    for (int i = 0; i < std::min(count, device_capacity); ++i)
      devices[i] = {gpus > 0 ? TROIKA_DEVICE_CUDA : TROIKA_DEVICE_CPU, i};
    *out_device_count = count;
  });
}
