// Prediction with a model, without a trainer.
#include "api/api_test.h"

namespace troika::test {
namespace {

class ModelPredictApi : public ApiTest {};

TEST_F(ModelPredictApi, predicts_or_says_why_not) {
  make_model();
  tensor_ = make_tensor(TROIKA_DTYPE_F32, {2, 1, 4, 4});
  troika_tensor output = garbage<troika_tensor>();
  const auto refuse = [&](troika_device device, troika_tensor input, troika_status status, const std::string& message) {
    expect_refused(troika_model_predict(model_, device, input, &output, &error_), status, message);
    EXPECT_EQ(output, nullptr);
    output = garbage<troika_tensor>();
  };
  refuse(kCpu0, tensor_, TROIKA_ERROR_NOT_INITIALIZED, "parameter 'fc.weight' has no value yet");
  expect_ok(troika_model_initialize_default(model_, 1, &error_));
  refuse({5, 0}, tensor_, kInvalid, "device.kind is 5");
  refuse({TROIKA_DEVICE_CPU, 9999}, tensor_, TROIKA_ERROR_DEVICE_UNAVAILABLE, "cpu:9999");
  refuse(kCpu0, nullptr, kInvalid, "argument 'input' is NULL");
  refuse(kCpu0, cast<troika_tensor>(model_), kInvalid, "'input' is not a live handle");
  for (const auto& dims :
       std::vector<std::vector<int64_t>>{{}, {2}, {2, 1, 4}, {2, 1, 4, 5}, {0, 1, 4, 4}, {2, 1, 4, 4, 1}}) {
    troika_tensor wrong = make_tensor(TROIKA_DTYPE_F32, dims);
    refuse(kCpu0, wrong, kInvalid, "batch");
    troika_tensor_destroy(wrong);
  }
  troika_tensor integers = make_tensor(TROIKA_DTYPE_I32, {2, 1, 4, 4});
  refuse(kCpu0, integers, kInvalid, "input is i32, needs f32");
  troika_tensor_destroy(integers);
  expect_refused(troika_model_predict(nullptr, kCpu0, tensor_, &output, &error_), kInvalid, "argument 'model' is NULL");
  expect_refused(troika_model_predict(model_, kCpu0, tensor_, nullptr, &error_), kInvalid,
                 "argument 'out_output' is NULL");
  troika_model unfinished = nullptr;
  expect_ok(troika_model_create_empty(context_, "unfinished", &unfinished, &error_));
  expect_refused(troika_model_predict(unfinished, kCpu0, tensor_, &output, &error_), kInvalid, "model 'unfinished'");
  troika_model_destroy(unfinished);
  expect_ok(troika_model_predict(model_, kCpu2, tensor_, &output, &error_));
  troika_tensor_destroy(output);
}

}  // namespace
}  // namespace troika::test
