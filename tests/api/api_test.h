// The fixture of the interface's tests: a context, small objects, and checks of errors.
#pragma once

#include <gtest/gtest.h>
#include <troika/troika.h>

#include <cstring>
#include <string>
#include <vector>

namespace troika::test {

constexpr troika_status kInvalid = TROIKA_ERROR_INVALID_ARGUMENT;
constexpr troika_device kCpu0{TROIKA_DEVICE_CPU, 0}, kCpu1{TROIKA_DEVICE_CPU, 1}, kCpu2{TROIKA_DEVICE_CPU, 2};

class ApiTest : public testing::Test {
 protected:
  void SetUp() override {
    troika_context_options options = TROIKA_CONTEXT_OPTIONS_INIT;
    options.cpu_threads = 2;
    ASSERT_EQ(troika_context_create(&options, &context_, &error_), TROIKA_OK) << error_.message;
  }
  void TearDown() override {
    troika_trainer_destroy(trainer_);
    troika_loader_destroy(loader_);
    troika_dataset_destroy(dataset_);
    troika_tensor_destroy(tensor_);
    troika_model_destroy(model_);
    troika_context_destroy(context_);
  }

  // Expects an error with this status, and a message of one line that contains `part`. Clears the
  // struct, so that the next call must fill it.
  void expect_refused(troika_status status, troika_status expected, const std::string& part) {
    const std::string message = error_.message;
    EXPECT_EQ(status, expected) << troika_status_name(status) << ": " << message;
    EXPECT_EQ(error_.status, status);
    EXPECT_NE(message.find(part), std::string::npos) << "the message is: " << message << "\nit lacks: " << part;
    EXPECT_GT(message.size(), 10u);
    EXPECT_EQ(message.find_first_of("\n\r"), std::string::npos) << message;
    std::memset(&error_, 0x55, sizeof error_);
  }

  // Expects success, which clears the struct.
  void expect_ok(troika_status status) {
    EXPECT_EQ(status, TROIKA_OK) << error_.message;
    EXPECT_EQ(error_.status, TROIKA_OK);
    EXPECT_STREQ(error_.message, "");
    std::memset(&error_, 0x55, sizeof error_);
  }

  // Returns an invalid handle, for calls that must set it to NULL.
  template <typename Handle>
  Handle garbage() {
    return reinterpret_cast<Handle>(this);
  }

  // Makes a model with images [1, 4, 4], flattened, and 3 classes.
  void make_model(const char* name = "net") {
    ASSERT_EQ(troika_model_create_empty(context_, name, &model_, &error_), TROIKA_OK) << error_.message;
    const int64_t image[] = {1, 4, 4};
    troika_value x = 0;
    expect_ok(troika_model_add_input(model_, "x", image, 3, &x, &error_));
    expect_ok(troika_model_add_flatten(model_, "flatten", x, &x, &error_));
    expect_ok(troika_model_add_linear(model_, "fc", x, 3, 1, &x, &error_));
    expect_ok(troika_model_set_output(model_, x, &error_));
  }

  void make_loader(int64_t n = 10, int32_t batch = 4) {
    const int64_t image[] = {1, 4, 4};
    expect_ok(troika_dataset_create_synthetic(context_, image, 3, n, 3, 1, &dataset_, &error_));
    troika_loader_options options = TROIKA_LOADER_OPTIONS_INIT;
    options.batch = batch;
    expect_ok(troika_loader_create(dataset_, &options, &loader_, &error_));
  }

  // Makes a trainer on cpu:0 and cpu:1.
  void make_trainer() {
    make_model();
    make_loader();
    const troika_device devices[] = {kCpu0, kCpu1};
    troika_trainer_options options = TROIKA_TRAINER_OPTIONS_INIT;
    options.momentum = 0.9;
    expect_ok(troika_model_attach(model_, devices, 2, &options, &trainer_, &error_));
  }

  troika_tensor make_tensor(int32_t dtype, const std::vector<int64_t>& dims, const void* data = nullptr) {
    troika_tensor tensor = nullptr;
    EXPECT_EQ(troika_tensor_create(context_, kCpu0, dtype, dims.data(), static_cast<int32_t>(dims.size()), data,
                                   &tensor, &error_),
              TROIKA_OK)
        << error_.message;
    return tensor;
  }

  troika_status step() {
    troika_batch batch = nullptr;
    troika_status status = troika_loader_next(loader_, &batch, &error_);
    if (status == TROIKA_END_OF_DATA) status = troika_loader_next(loader_, &batch, &error_);
    return status == TROIKA_OK ? troika_trainer_step(trainer_, batch, nullptr, &error_) : status;
  }

  std::vector<float> weights() {
    std::vector<float> values(48);
    EXPECT_EQ(troika_model_get_parameter(model_, "fc.weight", values.data(), 192, &error_), TROIKA_OK)
        << error_.message;
    return values;
  }

  troika_context context_ = nullptr;
  troika_model model_ = nullptr;
  troika_tensor tensor_ = nullptr;
  troika_dataset dataset_ = nullptr;
  troika_loader loader_ = nullptr;
  troika_trainer trainer_ = nullptr;
  troika_error error_{};
};

// Returns a handle of one kind as a handle of another kind.
template <typename Handle, typename Other>
Handle cast(Other other) {
  return reinterpret_cast<Handle>(other);
}

}  // namespace troika::test
