// The C functions of device.h.
#include <tuple>

#include "api/api_test.h"

namespace troika::test {
namespace {

class DeviceApi : public ApiTest {};

TEST_F(DeviceApi, counts_what_is_usable) {
  int32_t count = -1;
  expect_ok(troika_device_count(context_, TROIKA_DEVICE_CPU, &count, &error_));
  EXPECT_GE(count, 8);
  expect_ok(troika_device_count(context_, TROIKA_DEVICE_CUDA, &count, &error_));
  EXPECT_GE(count, 0);
  count = 77;
  for (int32_t kind : {0, -1, 3})
    expect_refused(troika_device_count(context_, kind, &count, &error_), kInvalid,
                   "troika_device_count: kind is " + std::to_string(kind));
  EXPECT_EQ(count, 77);
  expect_refused(troika_device_count(nullptr, TROIKA_DEVICE_CPU, &count, &error_), kInvalid,
                 "argument 'context' is NULL");
  expect_refused(troika_device_count(context_, TROIKA_DEVICE_CPU, nullptr, &error_), kInvalid,
                 "argument 'out_device_count' is NULL");
  make_model();
  expect_refused(troika_device_count(cast<troika_context>(model_), TROIKA_DEVICE_CPU, &count, &error_), kInvalid,
                 "argument 'context' is not a live handle");
}

TEST_F(DeviceApi, describes_a_device_or_says_why_there_is_none) {
  troika_device_info info = TROIKA_DEVICE_INFO_INIT;
  expect_ok(troika_device_describe(context_, kCpu1, &info, &error_));
  EXPECT_GT(info.cores, 0);
  EXPECT_GT(info.memory_bytes, info.free_bytes);
  EXPECT_NE(info.name[0], '\0');
  expect_refused(troika_device_describe(context_, {TROIKA_DEVICE_CPU, -1}, &info, &error_),
                 TROIKA_ERROR_DEVICE_UNAVAILABLE, "cpu:-1");
  expect_refused(troika_device_describe(context_, {TROIKA_DEVICE_CPU, 100000}, &info, &error_),
                 TROIKA_ERROR_DEVICE_UNAVAILABLE, "cpu:100000");
  expect_refused(troika_device_describe(context_, {TROIKA_DEVICE_CUDA, 1000}, &info, &error_),
                 TROIKA_ERROR_DEVICE_UNAVAILABLE, "cuda:1000");
  expect_refused(troika_device_describe(context_, {7, 0}, &info, &error_), kInvalid, "device.kind is 7");
  expect_refused(troika_device_describe(nullptr, kCpu0, &info, &error_), kInvalid, "argument 'context' is NULL");
  expect_refused(troika_device_describe(context_, kCpu0, nullptr, &error_), kInvalid, "argument 'out_info' is NULL");
  info.struct_size = 2;
  expect_refused(troika_device_describe(context_, kCpu0, &info, &error_), kInvalid, "out_info->struct_size is 2");
}

TEST_F(DeviceApi, reads_and_writes_text) {
  troika_device device{};
  for (const auto& [text, kind, index] : {std::tuple{"cpu", TROIKA_DEVICE_CPU, 0},
                                          {"cpu:7", TROIKA_DEVICE_CPU, 7},
                                          {"cuda:12", TROIKA_DEVICE_CUDA, 12}}) {
    expect_ok(troika_device_parse(text, &device, &error_));
    EXPECT_EQ(device.kind, kind);
    EXPECT_EQ(device.index, index);
  }
  for (const char* text :
       {"", "gpu", "cpu:", "cpu:-1", "cpu:1x", " cpu", "cpu:99999999999", "cpu:0:0", "cuda0", "c\npu"})
    expect_refused(troika_device_parse(text, &device, &error_), kInvalid, "device");
  const std::string endless(5000, 'c');
  expect_refused(troika_device_parse(endless.c_str(), &device, &error_), kInvalid, "device");
  expect_refused(troika_device_parse(nullptr, &device, &error_), kInvalid, "argument 'text' is NULL");
  expect_refused(troika_device_parse("cpu", nullptr, &error_), kInvalid, "argument 'out_device' is NULL");

  char buffer[8];
  int64_t size = 0;
  expect_ok(troika_device_format({TROIKA_DEVICE_CUDA, 3}, buffer, sizeof buffer, &size, &error_));
  EXPECT_STREQ(buffer, "cuda:3");
  EXPECT_EQ(size, 7);
  expect_ok(troika_device_format({TROIKA_DEVICE_CUDA, 3}, buffer, 3, nullptr, &error_));
  EXPECT_STREQ(buffer, "cu");
  expect_ok(troika_device_format(kCpu0, nullptr, 0, &size, &error_));
  EXPECT_EQ(size, 6);
  expect_refused(troika_device_format({0, 0}, buffer, 8, &size, &error_), kInvalid, "device.kind is 0");
  expect_refused(troika_device_format(kCpu0, nullptr, 8, &size, &error_), kInvalid, "buffer");
  expect_refused(troika_device_format(kCpu0, buffer, -8, &size, &error_), kInvalid, "buffer of -8 bytes");
}

TEST_F(DeviceApi, falls_back_only_where_asked_to_try) {
  troika_device device{}, devices[4] = {};
  int32_t count = 0, gpus = 0;
  expect_ok(troika_device_count(context_, TROIKA_DEVICE_CUDA, &gpus, &error_));
  expect_ok(troika_device_try(context_, gpus, &device, &error_));
  EXPECT_EQ(device.kind, TROIKA_DEVICE_CPU);
  EXPECT_EQ(device.index, 0);
  expect_ok(troika_devices_all(context_, devices, 4, &count, &error_));
  EXPECT_EQ(count, std::max(gpus, 1));
  expect_ok(troika_devices_all(context_, nullptr, 0, &count, &error_));
  expect_refused(troika_device_try(context_, -1, &device, &error_), kInvalid, "troika_device_try: index is -1");
  expect_refused(troika_device_try(nullptr, 0, &device, &error_), kInvalid, "argument 'context' is NULL");
  expect_refused(troika_device_try(context_, 0, nullptr, &error_), kInvalid, "argument 'out_device' is NULL");
  expect_refused(troika_devices_all(nullptr, devices, 4, &count, &error_), kInvalid, "argument 'context' is NULL");
  expect_refused(troika_devices_all(context_, nullptr, 4, &count, &error_), kInvalid, "capacity is 4");
  expect_refused(troika_devices_all(context_, devices, -4, &count, &error_), kInvalid, "capacity is -4");
  expect_refused(troika_devices_all(context_, devices, 4, nullptr, &error_), kInvalid,
                 "argument 'out_device_count' is NULL");
}

}  // namespace
}  // namespace troika::test
