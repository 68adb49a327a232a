// Prediction with a model, without a trainer: outputs and inner layers.
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <random>

#include "api/api_test.h"
#include "support/test_seed.h"

namespace troika::test {
namespace {

class ModelPredictApi : public ApiTest {
 protected:
  // A layer of a model that is being built: adds it, and returns its output.
  struct Step {
    std::string name;
    std::vector<int64_t> shape;  // without the batch
    std::function<troika_status(troika_model, troika_value&)> add;
  };

  // Builds a model from the first `count` layers, whose parameters depend on their names alone.
  troika_model build(const std::vector<int64_t>& image, int32_t dtype, const std::vector<Step>& steps, size_t count) {
    troika_model model = nullptr;
    troika_value x = 0;
    expect_ok(troika_model_create_empty(context_, "net", &model, &error_));
    expect_ok(troika_model_add_typed_input(model, "pixels", dtype, image.data(), static_cast<int32_t>(image.size()), &x,
                                           &error_));
    for (size_t i = 0; i < count; ++i) expect_ok(steps[i].add(model, x));
    expect_ok(troika_model_set_output(model, x, &error_));
    expect_ok(troika_model_initialize_default(model, 5, &error_));
    return model;
  }

  static size_t elements(const std::vector<int64_t>& dims) {
    size_t count = 1;
    for (int64_t d : dims) count *= static_cast<size_t>(d);
    return count;
  }

  std::vector<float> predict_layer(troika_model model, troika_device device, const void* inputs, int64_t n,
                                   const char* layer, const std::vector<int64_t>& shape) {
    std::vector<float> output(static_cast<size_t>(n) * elements(shape), std::numeric_limits<float>::quiet_NaN());
    expect_ok(troika_model_predict_into(model, device, inputs, n, layer, output.data(),
                                        static_cast<int64_t>(output.size() * sizeof(float)), &error_));
    EXPECT_TRUE(std::all_of(output.begin(), output.end(), [](float value) { return std::isfinite(value); }));
    return output;
  }

  // Expects that each layer has the bits of a model that ends with the layer.
  void compare_layers(const std::vector<int64_t>& image, int32_t dtype, const std::vector<Step>& steps,
                      const std::vector<std::vector<int32_t>>& batches) {
    troika_model whole = build(image, dtype, steps, steps.size());
    for (const auto& inputs : batches) {
      const auto n = static_cast<int64_t>(inputs.size() / elements(image));
      for (size_t i = steps.size(); i-- > 0;) {
        SCOPED_TRACE(steps[i].name);
        troika_model part = build(image, dtype, steps, i + 1);
        const auto expected = predict_layer(part, kCpu0, inputs.data(), n, nullptr, steps[i].shape);
        EXPECT_EQ(predict_layer(whole, kCpu1, inputs.data(), n, steps[i].name.c_str(), steps[i].shape), expected);
        troika_model_destroy(part);
      }
    }
    troika_model_destroy(whole);
  }

  std::mt19937 random_{static_cast<uint32_t>(test_seed())};
};

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

TEST_F(ModelPredictApi, predicts_into_memory_or_says_why_not) {
  make_model();
  const std::vector<float> inputs(32, 0.5f);
  std::vector<float> output(6, -7);
  const auto call = [&](troika_device device, const void* in, int64_t n, const char* layer, int64_t bytes) {
    return troika_model_predict_into(model_, device, in, n, layer, output.data(), bytes, &error_);
  };
  expect_refused(call(kCpu0, inputs.data(), 2, nullptr, 24), TROIKA_ERROR_NOT_INITIALIZED, "parameter 'fc.weight'");
  expect_ok(troika_model_initialize_default(model_, 1, &error_));
  expect_refused(call(kCpu0, nullptr, 2, nullptr, 24), kInvalid, "argument 'inputs' is NULL");
  expect_refused(call({5, 0}, inputs.data(), 2, nullptr, 24), kInvalid, "device.kind is 5");
  expect_refused(call({TROIKA_DEVICE_CPU, 9999}, inputs.data(), 2, nullptr, 24), TROIKA_ERROR_DEVICE_UNAVAILABLE,
                 "cpu:9999");
  for (int64_t n : {int64_t{0}, int64_t{-1}, INT64_MIN})
    expect_refused(call(kCpu0, inputs.data(), n, nullptr, 24), kInvalid, "needs at least 1");
  for (int64_t bytes : {int64_t{-1}, int64_t{0}, int64_t{23}, int64_t{25}, int64_t{12}, int64_t{36}, INT64_MAX})
    expect_refused(call(kCpu0, inputs.data(), 2, nullptr, bytes), kInvalid, "argument 'size_bytes' is");
  const int64_t most = INT64_MAX / 12;
  expect_refused(call(kCpu0, inputs.data(), most, nullptr, most * 12), TROIKA_ERROR_INVALID_ARGUMENT, "");
  expect_refused(call(kCpu0, inputs.data(), int64_t{1} << 30, nullptr, int64_t{12} << 30), TROIKA_ERROR_OUT_OF_MEMORY,
                 "smaller batch");
  expect_refused(call(kCpu0, inputs.data(), 2, "fd", 24), TROIKA_ERROR_NOT_FOUND, "the nearest name is 'fc'");
  for (const char* name : {"x", "", "fc.weight", "fla\xff\n"})
    expect_refused(call(kCpu0, inputs.data(), 2, name, 24), TROIKA_ERROR_NOT_FOUND, "is not in model 'net'");
  expect_refused(call(kCpu0, inputs.data(), 2, "flatten", 24), kInvalid, "argument 'size_bytes' is 24");
  expect_refused(troika_model_predict_into(model_, kCpu0, inputs.data(), 2, nullptr, nullptr, 24, &error_), kInvalid,
                 "argument 'output' is NULL");
  expect_refused(troika_model_predict_into(nullptr, kCpu0, inputs.data(), 2, nullptr, output.data(), 24, &error_),
                 kInvalid, "argument 'model' is NULL");
  EXPECT_EQ(output, std::vector<float>(6, -7)) << "refused calls write nothing";
  expect_ok(call(kCpu0, inputs.data(), 2, nullptr, 24));
  tensor_ = make_tensor(TROIKA_DTYPE_F32, {2, 1, 4, 4}, inputs.data());
  troika_tensor as_tensor = nullptr;
  expect_ok(troika_model_predict(model_, kCpu0, tensor_, &as_tensor, &error_));
  std::vector<float> same(6);
  expect_ok(troika_tensor_to_host(as_tensor, same.data(), 24, &error_));
  EXPECT_EQ(output, same);
  troika_tensor_destroy(as_tensor);
  troika_model unfinished = nullptr;
  expect_ok(troika_model_create_empty(context_, "unfinished", &unfinished, &error_));
  expect_refused(troika_model_predict_into(unfinished, kCpu0, inputs.data(), 2, nullptr, output.data(), 24, &error_),
                 kInvalid, "model 'unfinished'");
  troika_model_destroy(unfinished);
}

TEST_F(ModelPredictApi, returns_the_output_of_any_layer) {
  troika_error* const e = &error_;
  troika_value shortcut = 0;
  const auto conv = [e](const char* name, int64_t channels, int64_t kernel) {
    return [=](troika_model m, troika_value& x) {
      troika_conv2d_options options = TROIKA_CONV2D_OPTIONS_INIT;
      options.out_channels = channels;
      options.kernel[0] = options.kernel[1] = kernel;
      options.padding[0] = options.padding[1] = kernel / 2;
      return troika_model_add_conv2d(m, name, x, &options, &x, e);
    };
  };
  const std::vector<Step> steps = {
      {"drop", {3, 9, 7}, [&](auto m, auto& x) { return troika_model_add_dropout(m, "drop", x, 0.5, &x, e); }},
      {"conv1", {16, 9, 7}, conv("conv1", 16, 3)},
      {"relu1", {16, 9, 7}, [&](auto m, auto& x) { return troika_model_add_relu(m, "relu1", x, &x, e); }},
      {"drop1",
       {16, 9, 7},
       [&](auto m, auto& x) {
         const auto status = troika_model_add_dropout(m, "drop1", x, 0.5, &x, e);
         shortcut = x;
         return status;
       }},
      {"conv2", {16, 9, 7}, conv("conv2", 16, 3)},
      {"bn2",
       {16, 9, 7},
       [&](auto m, auto& x) { return troika_model_add_batch_norm2d(m, "bn2", x, 1e-5, 0.1, &x, e); }},
      {"add", {16, 9, 7}, [&](auto m, auto& x) { return troika_model_add_sum(m, "add", x, shortcut, &x, e); }},
      {"relu2", {16, 9, 7}, [&](auto m, auto& x) { return troika_model_add_relu(m, "relu2", x, &x, e); }},
      {"conv3", {20, 9, 7}, conv("conv3", 20, 1)},
      {"gelu", {20, 9, 7}, [&](auto m, auto& x) { return troika_model_add_gelu(m, "gelu", x, &x, e); }},
      {"pool",
       {20, 1, 1},
       [&](auto m, auto& x) { return troika_model_add_adaptive_avg_pool2d(m, "pool", x, 1, 1, &x, e); }},
      {"flatten", {20}, [&](auto m, auto& x) { return troika_model_add_flatten(m, "flatten", x, &x, e); }},
      {"fc", {5}, [&](auto m, auto& x) { return troika_model_add_linear(m, "fc", x, 5, 1, &x, e); }},
  };
  std::normal_distribution<float> normal;
  std::vector<std::vector<int32_t>> batches;
  for (int64_t n : {1, 3, 8}) {
    std::vector<int32_t>& inputs = batches.emplace_back(static_cast<size_t>(n) * 189);
    for (int32_t& bits : inputs) {
      const float value = normal(random_);
      std::memcpy(&bits, &value, sizeof bits);
    }
  }
  compare_layers({3, 9, 7}, TROIKA_DTYPE_F32, steps, batches);
  troika_model whole = build({3, 9, 7}, TROIKA_DTYPE_F32, steps, steps.size());
  const auto conv1 = predict_layer(whole, kCpu0, batches[1].data(), 3, "conv1", {16, 9, 7});
  auto relu1 = predict_layer(whole, kCpu0, batches[1].data(), 3, "relu1", {16, 9, 7});
  EXPECT_LT(*std::min_element(conv1.begin(), conv1.end()), 0) << "before ReLU";
  for (size_t i = 0; i < conv1.size(); ++i) EXPECT_NEAR(relu1[i], std::max(conv1[i], 0.0f), 1e-5);
  troika_model_destroy(whole);
}

TEST_F(ModelPredictApi, returns_the_output_of_layers_of_a_sequence) {
  troika_error* const e = &error_;
  const std::vector<Step> steps = {
      {"embed", {11, 6}, [&](auto m, auto& x) { return troika_model_add_embedding(m, "embed", x, 9, 6, &x, e); }},
      {"lstm", {11, 5}, [&](auto m, auto& x) { return troika_model_add_lstm(m, "lstm", x, 5, 1, &x, e); }},
      {"gru", {11, 4}, [&](auto m, auto& x) { return troika_model_add_gru(m, "gru", x, 4, 1, &x, e); }},
      {"each",
       {11, 3},
       [&](auto m, auto& x) { return troika_model_add_linear_per_position(m, "each", x, 3, 1, &x, e); }},
      {"last", {3}, [&](auto m, auto& x) { return troika_model_add_select_step(m, "last", x, -1, &x, e); }},
  };
  std::vector<std::vector<int32_t>> batches;
  for (int64_t n : {1, 4}) {
    std::vector<int32_t>& tokens = batches.emplace_back(static_cast<size_t>(n) * 11);
    for (int32_t& token : tokens) token = std::uniform_int_distribution<int32_t>(0, 8)(random_);
  }
  compare_layers({11}, TROIKA_DTYPE_I32, steps, batches);
  model_ = build({11}, TROIKA_DTYPE_I32, steps, steps.size());
  batches[0][3] = 9;
  float output[3];
  expect_refused(troika_model_predict_into(model_, kCpu0, batches[0].data(), 1, nullptr, output, 12, &error_), kInvalid,
                 "token 3 of sample 0 is 9");
}

}  // namespace
}  // namespace troika::test
