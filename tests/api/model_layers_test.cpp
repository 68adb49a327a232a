// The layers of layers.h that the models of the zoo lack: shapes, parameters and errors.
#include <cmath>

#include "api/api_test.h"

namespace troika::test {
namespace {

class LayersApi : public ApiTest {
 protected:
  void SetUp() override {
    ApiTest::SetUp();
    ASSERT_EQ(troika_model_create_empty(context_, "net", &model_, &error_), TROIKA_OK);
  }
  void begin(const std::vector<int64_t>& dims) {
    expect_ok(troika_model_add_input(model_, "x", dims.data(), static_cast<int32_t>(dims.size()), &x_, &error_));
  }
  // Returns the shape of a layer's output for one sample.
  std::vector<int64_t> shape_of(troika_value value) {
    troika_value_info info = TROIKA_VALUE_INFO_INIT;
    EXPECT_EQ(troika_model_describe_value(model_, value, &info, &error_), TROIKA_OK) << error_.message;
    return {info.dims, info.dims + info.rank};
  }
  std::vector<int64_t> parameter_shape(const char* name) {
    int32_t index = 0;
    troika_parameter_info info = TROIKA_PARAMETER_INFO_INIT;
    EXPECT_EQ(troika_model_find_parameter(model_, name, &index, &error_), TROIKA_OK) << error_.message;
    EXPECT_EQ(troika_model_describe_parameter(model_, index, &info, &error_), TROIKA_OK) << error_.message;
    return {info.dims, info.dims + info.rank};
  }
  std::vector<float> parameter(const char* name, size_t elements) {
    std::vector<float> values(elements);
    EXPECT_EQ(troika_model_get_parameter(model_, name, values.data(), static_cast<int64_t>(elements * sizeof(float)),
                                         &error_),
              TROIKA_OK)
        << error_.message;
    return values;
  }
  int32_t entries() {
    int32_t n = 0;
    EXPECT_EQ(troika_model_count_parameters(model_, &n, nullptr, &error_), TROIKA_OK);
    return n;
  }
  std::string printed() {
    std::string text(4096, ' ');
    EXPECT_EQ(troika_model_print(model_, text.data(), static_cast<int64_t>(text.size()), nullptr, &error_), TROIKA_OK);
    return text;
  }
  void expect_printed(const std::string& line) { EXPECT_NE(printed().find(line), std::string::npos) << printed(); }

  troika_value x_ = 0, y_ = 0;
};

using Dims = std::vector<int64_t>;

TEST_F(LayersApi, conv_transpose2d_grows_images) {
  begin({4, 5, 6});
  troika_conv2d_options o = TROIKA_CONV2D_OPTIONS_INIT;
  o.out_channels = 6;
  o.kernel[0] = 3;
  o.kernel[1] = 4;
  o.stride[0] = o.stride[1] = 2;
  o.padding[0] = o.output_padding[0] = 1;
  o.groups = 2;
  const auto add = [&] { return troika_model_add_conv_transpose2d(model_, "up", x_, &o, &y_, &error_); };
  o.output_padding[0] = 2;
  expect_refused(add(), kInvalid, "output_padding is 2, needs 0 to below the stride 2");
  o.output_padding[0] = 1;
  o.groups = 3;
  expect_refused(add(), kInvalid, "conv_transpose2d 'up': groups is 3, must divide 4 input and 6 output channels");
  o.groups = 2;
  expect_ok(add());
  EXPECT_EQ(shape_of(y_), (Dims{6, 10, 14}));  // (5 - 1) 2 - 2 + 2 + 1 + 1; (6 - 1) 2 + 3 + 1
  EXPECT_EQ(parameter_shape("up.weight"), (Dims{4, 3, 3, 4}));
  EXPECT_EQ(parameter_shape("up.bias"), (Dims{6}));
  expect_printed(
      "ConvTranspose2d(4, 6, kernel_size=(3, 4), stride=(2, 2), padding=(1, 0), output_padding=(1, 0), groups=2)");
  EXPECT_EQ(entries(), 2);
  expect_refused(troika_model_add_conv2d(model_, "conv", x_, &o, &y_, &error_), kInvalid,
                 "output_padding is for a transposed convolution");
}

TEST_F(LayersApi, conv2d_takes_options_of_an_earlier_version) {
  begin({4, 5, 6});
  troika_conv2d_options o = TROIKA_CONV2D_OPTIONS_INIT;
  o.struct_size = 88;  // without output_padding
  o.output_padding[0] = 7;
  o.out_channels = o.kernel[0] = o.kernel[1] = 1;
  expect_ok(troika_model_add_conv2d(model_, "conv", x_, &o, &y_, &error_));
}

TEST_F(LayersApi, conv1d_has_options) {
  begin({4, 9});
  const auto add = [&](auto&& change) {
    troika_conv1d_options o = TROIKA_CONV1D_OPTIONS_INIT;
    o.out_channels = 6;
    o.kernel = 3;
    change(o);
    return troika_model_add_conv1d(model_, "conv", x_, &o, &y_, &error_);
  };
  expect_refused(add([](auto& o) { o.kernel = TROIKA_UNSET; }), kInvalid, "options.kernel is not set");
  expect_refused(add([](auto& o) { o.out_channels = TROIKA_UNSET; }), kInvalid, "options.out_channels is not set");
  for (int64_t bad : {0, -1, 10}) expect_refused(add([&](auto& o) { o.kernel = bad; }), kInvalid, "'conv'");
  expect_refused(add([](auto& o) { o.stride = 0; }), kInvalid, "'conv'");
  expect_refused(add([](auto& o) { o.padding = -1; }), kInvalid, "'conv'");
  expect_refused(add([](auto& o) { o.groups = 4; }), kInvalid,
                 "groups is 4, must divide 4 input and 6 output channels");
  expect_refused(add([](auto& o) { o.no_bias = 3; }), kInvalid, "options.no_bias is 3, needs 0 or 1");
  expect_ok(add([](auto& o) {
    o.stride = o.padding = o.dilation = o.groups = 2;
    o.no_bias = 1;
  }));
  EXPECT_EQ(shape_of(y_), (Dims{6, 5}));  // (9 + 4 - 4 - 1) / 2 + 1
  EXPECT_EQ(parameter_shape("conv.weight"), (Dims{6, 2, 3}));
  EXPECT_EQ(entries(), 1);
  expect_printed("Conv1d(4, 6, kernel_size=(3,), stride=(2,), padding=(2,), dilation=(2,), groups=2, bias=False)");
}

TEST_F(LayersApi, norms_have_parameters_of_their_shapes) {
  begin({6, 4, 5});
  expect_ok(troika_model_add_layer_norm(model_, "layer", x_, 2, 1e-3, &y_, &error_));
  expect_ok(troika_model_add_rms_norm(model_, "rms", y_, 3, 1e-5, &y_, &error_));
  expect_ok(troika_model_add_group_norm(model_, "group", y_, 3, 1e-5, &y_, &error_));
  EXPECT_EQ(shape_of(y_), (Dims{6, 4, 5}));
  EXPECT_EQ(parameter_shape("layer.weight"), (Dims{4, 5}));
  EXPECT_EQ(parameter_shape("layer.bias"), (Dims{4, 5}));
  EXPECT_EQ(parameter_shape("rms.weight"), (Dims{6, 4, 5}));
  EXPECT_EQ(parameter_shape("group.bias"), (Dims{6}));
  EXPECT_EQ(entries(), 5);
  expect_printed("LayerNorm((4, 5), eps=0.001, elementwise_affine=True)");
  expect_printed("RMSNorm((6, 4, 5), eps=1e-05, elementwise_affine=True)");
  expect_printed("GroupNorm(3, 6, eps=1e-05, affine=True)");

  expect_refused(troika_model_add_layer_norm(model_, "a", x_, 4, 1e-5, &y_, &error_), kInvalid,
                 "layer_norm 'a': axes is 4, input has shape [1, 6, 4, 5], needs 1 to 3");
  expect_refused(troika_model_add_rms_norm(model_, "a", x_, 0, 1e-5, &y_, &error_), kInvalid, "axes is 0");
  expect_refused(troika_model_add_group_norm(model_, "a", x_, 4, 1e-5, &y_, &error_), kInvalid,
                 "groups is 4, must divide 6 channels");
  for (double eps : {0.0, -1.0, double{NAN}, double{INFINITY}}) {
    expect_refused(troika_model_add_layer_norm(model_, "a", x_, 1, eps, &y_, &error_), kInvalid, "layer_norm 'a': eps");
    expect_refused(troika_model_add_group_norm(model_, "a", x_, 1, eps, &y_, &error_), kInvalid, "group_norm 'a': eps");
    expect_refused(troika_model_add_rms_norm(model_, "a", x_, 1, eps, &y_, &error_), kInvalid, "rms_norm 'a': eps");
  }
  // Weights begin at 1 and biases at 0, also those of several axes.
  expect_ok(troika_model_initialize_default(model_, 3, &error_));
  for (const auto& [name, elements, value] : {std::tuple{"layer.weight", size_t{20}, 1.0f},
                                              {"layer.bias", size_t{20}, 0.0f},
                                              {"rms.weight", size_t{120}, 1.0f},
                                              {"group.weight", size_t{6}, 1.0f},
                                              {"group.bias", size_t{6}, 0.0f}})
    EXPECT_EQ(parameter(name, elements), std::vector<float>(elements, value)) << name;
  // An initialiser that uses fans leaves them as they are.
  expect_ok(troika_model_add_linear(
      model_, "fc",
      [&] {
        expect_ok(troika_model_add_flatten(model_, "flatten", x_, &y_, &error_));
        return y_;
      }(),
      2, 0, &y_, &error_));
  expect_ok(troika_model_initialize(model_, nullptr, TROIKA_INIT_XAVIER_UNIFORM, 0, 3, &error_));
  EXPECT_EQ(parameter("rms.weight", 120), std::vector<float>(120, 1.0f));
}

TEST_F(LayersApi, batch_norm1d_takes_vectors_and_signals) {
  begin({6, 5});
  expect_ok(troika_model_add_batch_norm1d(model_, "signals", x_, 1e-5, 0.1, &y_, &error_));
  EXPECT_EQ(shape_of(y_), (Dims{6, 5}));
  expect_ok(troika_model_add_flatten(model_, "flatten", y_, &y_, &error_));
  expect_ok(troika_model_add_batch_norm1d(model_, "vectors", y_, 1e-5, 0.1, &y_, &error_));
  EXPECT_EQ(shape_of(y_), (Dims{30}));
  EXPECT_EQ(parameter_shape("signals.running_var"), (Dims{6}));
  EXPECT_EQ(parameter_shape("vectors.weight"), (Dims{30}));
  expect_printed("BatchNorm1d(30, eps=1e-05, momentum=0.1, affine=True, track_running_stats=True)");
  const int64_t image[] = {6, 5, 1};
  expect_ok(troika_model_add_reshape(model_, "image", x_, image, 3, &y_, &error_));
  expect_refused(
      troika_model_add_batch_norm1d(model_, "a", y_, 1e-5, 0.1, &y_, &error_), kInvalid,
      "batch_norm1d 'a': input has shape [1, 6, 5, 1], needs [batch, channels] or [batch, channels, length]");
  expect_refused(troika_model_add_batch_norm1d(model_, "a", x_, 1e-5, 2, &y_, &error_), kInvalid, "momentum is 2");
}

TEST_F(LayersApi, axes_count_from_the_end_and_are_not_the_batch) {
  begin({6, 4, 5});
  for (int32_t axis : {0, -4, 4, -5, INT32_MAX, INT32_MIN}) {
    const std::string message = "axis is " + std::to_string(axis) + ", input has shape [1, 6, 4, 5], needs 1 to 3";
    expect_refused(troika_model_add_softmax(model_, "a", x_, axis, &y_, &error_), kInvalid, message);
    expect_refused(troika_model_add_slice(model_, "a", x_, axis, 0, 1, &y_, &error_), kInvalid, message);
    expect_refused(troika_model_add_concat(model_, "a", &x_, 1, axis, &y_, &error_), kInvalid, message);
    expect_refused(troika_model_add_mean(model_, "a", x_, &axis, 1, 0, &y_, &error_), kInvalid, message);
  }
  expect_ok(troika_model_add_softmax(model_, "softmax", x_, -1, &y_, &error_));
  expect_printed("(softmax): Softmax(dim=3)");
  expect_ok(troika_model_add_slice(model_, "slice", x_, -2, 1, 4, &y_, &error_));
  EXPECT_EQ(shape_of(y_), (Dims{6, 3, 5}));
  for (auto [begin, end] : {std::pair<int64_t, int64_t>{-1, 2}, {0, 5}, {2, 2}, {3, 1}})
    expect_refused(troika_model_add_slice(model_, "a", x_, 2, begin, end, &y_, &error_), kInvalid,
                   "input has 4 on axis 2");
  const int32_t outer[] = {3, 1}, twice[] = {1, -3};
  expect_ok(troika_model_add_mean(model_, "kept", x_, outer, 2, 1, &y_, &error_));
  EXPECT_EQ(shape_of(y_), (Dims{1, 4, 1}));
  expect_ok(troika_model_add_mean(model_, "dropped", x_, outer, 2, 0, &y_, &error_));
  EXPECT_EQ(shape_of(y_), (Dims{4}));
  expect_ok(troika_model_add_mean(model_, "all", x_, nullptr, 0, 0, &y_, &error_));
  EXPECT_EQ(shape_of(y_), Dims{});
  expect_refused(troika_model_add_mean(model_, "a", x_, twice, 2, 0, &y_, &error_), kInvalid, "axis 1 is named twice");
  expect_refused(troika_model_add_mean(model_, "a", x_, outer, 0, 0, &y_, &error_), kInvalid, "'axis_count' is 0");
  expect_refused(troika_model_add_mean(model_, "a", x_, outer, 2, 2, &y_, &error_), kInvalid, "'keep_axes' is 2");
}

TEST_F(LayersApi, values_are_joined_multiplied_and_reshaped) {
  begin({6, 4});
  troika_value half = 0, row = 0;
  expect_ok(troika_model_add_slice(model_, "half", x_, 1, 0, 3, &half, &error_));
  expect_ok(troika_model_add_slice(model_, "row", x_, 1, 0, 1, &row, &error_));
  const troika_value parts[] = {x_, half, half};
  expect_ok(troika_model_add_concat(model_, "concat", parts, 3, 1, &y_, &error_));
  EXPECT_EQ(shape_of(y_), (Dims{12, 4}));
  expect_refused(troika_model_add_concat(model_, "a", parts, 2, 2, &y_, &error_), kInvalid, "'a'");
  expect_refused(troika_model_add_concat(model_, "a", parts, 0, 1, &y_, &error_), kInvalid, "'input_count' is 0");
  expect_refused(troika_model_add_concat(model_, "a", nullptr, 2, 1, &y_, &error_), kInvalid, "'inputs' is NULL");
  const troika_value wrong[] = {x_, 12345};
  expect_refused(troika_model_add_concat(model_, "a", wrong, 2, 1, &y_, &error_), kInvalid,
                 "argument 'inputs[1]' is 12345, not a value");

  expect_ok(troika_model_add_product(model_, "product", x_, row, &y_, &error_));
  EXPECT_EQ(shape_of(y_), (Dims{6, 4}));
  expect_refused(troika_model_add_product(model_, "a", x_, half, &y_, &error_), kInvalid,
                 "inputs have shapes [1, 6, 4] and [1, 3, 4], need sizes that are equal or 1");

  const int64_t inferred[] = {2, -1, 3}, two[] = {-1, -1}, wrong_size[] = {5, 5}, zero[] = {0, -1};
  expect_ok(troika_model_add_reshape(model_, "reshape", x_, inferred, 3, &y_, &error_));
  EXPECT_EQ(shape_of(y_), (Dims{2, 4, 3}));
  expect_printed("Reshape((2, 4, 3))");
  expect_refused(troika_model_add_product(model_, "a", x_, y_, &y_, &error_), kInvalid, "need the same number of axes");
  for (const int64_t* dims : {two, wrong_size, zero})
    expect_refused(troika_model_add_reshape(model_, "a", x_, dims, 2, &y_, &error_), kInvalid, "reshape 'a'");
  expect_refused(troika_model_add_reshape(model_, "a", x_, inferred, 0, &y_, &error_), kInvalid, "'rank' is 0");
  expect_refused(troika_model_add_reshape(model_, "a", x_, nullptr, 1, &y_, &error_), kInvalid, "'dims' is NULL");
  expect_refused(troika_model_add_leaky_relu(model_, "a", x_, double{NAN}, &y_, &error_), kInvalid, "slope is nan");
}

TEST_F(LayersApi, a_parameter_may_be_of_two_layers) {
  begin({8});
  const auto share = [&](const char* name, const char* of) {
    return troika_model_share_parameter(model_, name, of, &error_);
  };
  expect_ok(troika_model_add_linear(model_, "a", x_, 8, 1, &y_, &error_));
  expect_refused(share("b.weight", "c.weight"), TROIKA_ERROR_NOT_FOUND, "the nearest name is 'a.weight'");
  expect_refused(share("weight", "a.weight"), kInvalid, "needs a layer's name, a dot");
  expect_refused(share("a.weight", "a.bias"), kInvalid, "the model has layer 'a' already");
  expect_refused(share(nullptr, "a.weight"), kInvalid, "argument 'name' is NULL");
  expect_refused(share("b.weight", nullptr), kInvalid, "argument 'of' is NULL");
  expect_ok(share("b.weight", "a.weight"));
  expect_refused(share("b.weight", "a.weight"), kInvalid, "share 'b.weight': the name is shared already");
  expect_refused(troika_model_add_relu(model_, "b", y_, &x_, &error_), kInvalid,
                 "relu 'b': has no parameter 'b.weight', which is to be shared");
  expect_refused(troika_model_add_linear(model_, "b", y_, 4, 1, &y_, &error_), kInvalid,
                 "linear 'b': parameter 'b.weight' needs shape [4, 8], but shares 'a.weight' of shape [8, 8]");
  expect_refused(troika_model_set_output(model_, y_, &error_), kInvalid,
                 "no layer 'b' was added, whose parameter 'b.weight' is to be shared");
  expect_ok(troika_model_add_linear(model_, "b", y_, 8, 1, &y_, &error_));
  EXPECT_EQ(entries(), 3);  // a.weight, a.bias, b.bias
  expect_ok(troika_model_set_output(model_, y_, &error_));
  expect_refused(share("c.weight", "a.weight"), kInvalid, "model 'net' is complete");
  expect_ok(troika_model_initialize_default(model_, 1, &error_));
  EXPECT_EQ(parameter("b.weight", 64), parameter("a.weight", 64));

  // A file has the parameter once. A model that is opened from it shares it, too.
  int64_t size = 0;
  expect_ok(troika_model_save_memory(model_, nullptr, 0, &size, &error_));
  std::vector<char> file(static_cast<size_t>(size));
  expect_ok(troika_model_save_memory(model_, file.data(), size, &size, &error_));
  EXPECT_EQ(std::string(file.data(), file.size()).find("\"b.weight\":{"), std::string::npos);
  troika_model opened = nullptr;
  expect_ok(troika_model_open_memory(context_, file.data(), size, &opened, &error_));
  std::swap(opened, model_);
  EXPECT_EQ(entries(), 3);
  std::vector<float> ones(64, 1.0f);
  expect_ok(troika_model_set_parameter(model_, "b.weight", ones.data(), 256, &error_));
  EXPECT_EQ(parameter("a.weight", 64), ones);
  std::swap(opened, model_);
  troika_model_destroy(opened);
}

TEST_F(LayersApi, a_buffer_is_not_shared) {
  begin({4});
  expect_ok(troika_model_add_linear(model_, "a", x_, 4, 1, &y_, &error_));
  expect_ok(troika_model_share_parameter(model_, "bn.running_mean", "a.bias", &error_));
  expect_refused(troika_model_add_batch_norm1d(model_, "bn", y_, 1e-5, 0.1, &y_, &error_), kInvalid,
                 "batch_norm1d 'bn': 'bn.running_mean' is a buffer, which cannot be shared");
  const std::string longest(196, 'n');
  expect_ok(troika_model_share_parameter(model_, (longest + ".weight").c_str(), "a.weight", &error_));
  expect_ok(troika_model_add_linear(model_, longest.c_str(), y_, 4, 1, &y_, &error_));
}

// Errors name the layer's kind, whatever ops it is made of.
TEST_F(LayersApi, errors_name_the_kind_of_layer) {
  begin({4, 6});
  troika_value part = 0;
  expect_ok(troika_model_add_slice(model_, "part", x_, 1, 0, 3, &part, &error_));
  const troika_value parts[] = {x_, part};
  expect_refused(troika_model_add_concat(model_, "part", parts, 2, 1, &y_, &error_), kInvalid,
                 "concat 'part': the name");
  expect_refused(troika_model_add_concat(model_, "a", parts, 2, 2, &y_, &error_), kInvalid, "concat 'a': parts have");
  expect_refused(troika_model_add_slice(model_, "a", x_, 1, 0, 9, &y_, &error_), kInvalid,
                 "slice 'a': the part is 0 to 9");
  expect_refused(troika_model_add_sum(model_, "a", x_, part, &y_, &error_), kInvalid, "sum 'a': inputs have shapes");
  expect_refused(troika_model_add_flatten(model_, "part", x_, &y_, &error_), kInvalid, "flatten 'part': the name");
}

// A sample may have one number, without an axis: [batch].
TEST_F(LayersApi, an_output_may_be_one_number_per_sample) {
  begin({4});
  expect_ok(troika_model_add_linear(model_, "fc", x_, 3, 1, &y_, &error_));
  expect_ok(troika_model_add_mean(model_, "mean", y_, nullptr, 0, 0, &y_, &error_));
  expect_refused(troika_model_add_mean(model_, "again", y_, nullptr, 0, 0, &x_, &error_), kInvalid,
                 "mean 'again': input has one number per sample");
  expect_ok(troika_model_set_output(model_, y_, &error_));
  expect_ok(troika_model_initialize(model_, nullptr, TROIKA_INIT_CONSTANT, 0.5, 0, &error_));
  const float samples[] = {1, 2, 3, 4, 0, 0, 0, 2};
  float found[2] = {};
  expect_ok(troika_model_predict_into(model_, kCpu0, samples, 2, nullptr, found, sizeof found, &error_));
  EXPECT_EQ(found[0], 5.5f);
  EXPECT_EQ(found[1], 1.5f);
  troika_trainer_options options = TROIKA_TRAINER_OPTIONS_INIT;
  expect_refused(troika_model_attach(model_, &kCpu0, 1, &options, &trainer_, &error_), kInvalid,
                 "needs [batch, classes]");
  options.loss = TROIKA_LOSS_MEAN_SQUARED_ERROR;
  const troika_device devices[] = {kCpu0, kCpu1};
  expect_ok(troika_model_attach(model_, devices, 2, &options, &trainer_, &error_));
  const float values[] = {4.5, 1.5};
  const int64_t dims[] = {4};
  expect_ok(troika_dataset_create_arrays(context_, samples, dims, 1, 2, nullptr, values, 1, &dataset_, &error_));
  troika_loader_options batches = TROIKA_LOADER_OPTIONS_INIT;
  batches.batch = 2;
  expect_ok(troika_loader_create(dataset_, &batches, &loader_, &error_));
  troika_batch batch = nullptr;
  expect_ok(troika_loader_next(loader_, &batch, &error_));
  troika_step_result result = TROIKA_STEP_RESULT_INIT;
  expect_ok(troika_trainer_step(trainer_, batch, &result, &error_));
  EXPECT_DOUBLE_EQ(result.loss, 0.5);
}

// The shape that a linear layer reads is that of the reshape before it.
TEST_F(LayersApi, one_number_becomes_a_feature_by_reshape) {
  begin({4});
  expect_ok(troika_model_add_mean(model_, "mean", x_, nullptr, 0, 0, &y_, &error_));
  const int64_t one[] = {1};
  expect_ok(troika_model_add_reshape(model_, "feature", y_, one, 1, &y_, &error_));
  expect_ok(troika_model_add_linear(model_, "fc", y_, 2, 0, &y_, &error_));
  expect_ok(troika_model_set_output(model_, y_, &error_));
  expect_ok(troika_model_initialize(model_, nullptr, TROIKA_INIT_CONSTANT, 2, 0, &error_));
  const float sample[] = {1, 2, 3, 6};
  float found[2] = {};
  expect_ok(troika_model_predict_into(model_, kCpu0, sample, 1, nullptr, found, sizeof found, &error_));
  EXPECT_EQ(found[1], 6.0f);
}

// Every call that takes the name of a parameter takes both names.
TEST_F(LayersApi, both_names_find_a_shared_parameter) {
  begin({4});
  expect_ok(troika_model_add_linear(model_, "a", x_, 4, 0, &y_, &error_));
  expect_ok(troika_model_share_parameter(model_, "b.weight", "a.weight", &error_));
  expect_ok(troika_model_add_linear(model_, "b", y_, 4, 0, &y_, &error_));
  expect_ok(troika_model_add_linear(model_, "c", y_, 2, 0, &y_, &error_));
  expect_ok(troika_model_set_output(model_, y_, &error_));
  expect_ok(troika_model_initialize_default(model_, 1, &error_));
  expect_ok(troika_model_initialize(model_, "b.*", TROIKA_INIT_CONSTANT, 0.25, 0, &error_));
  EXPECT_EQ(parameter("a.weight", 16), std::vector<float>(16, 0.25f));
  troika_trainer_options options = TROIKA_TRAINER_OPTIONS_INIT;
  troika_parameter_group group = TROIKA_PARAMETER_GROUP_INIT;
  group.pattern = "b.weight";
  group.frozen = 1;
  options.groups = &group;
  options.group_count = 1;
  expect_ok(troika_model_attach(model_, &kCpu0, 1, &options, &trainer_, &error_));
  const int64_t dims[] = {4};
  expect_ok(troika_dataset_create_synthetic(context_, dims, 1, 8, 2, 1, &dataset_, &error_));
  troika_loader_options batches = TROIKA_LOADER_OPTIONS_INIT;
  batches.batch = 4;
  expect_ok(troika_loader_create(dataset_, &batches, &loader_, &error_));
  ASSERT_EQ(step(), TROIKA_OK) << error_.message;
  EXPECT_EQ(parameter("b.weight", 16), std::vector<float>(16, 0.25f)) << "it is frozen by the name of b";
  expect_ok(troika_trainer_set_option(trainer_, 0, TROIKA_OPTION_FROZEN, 0, &error_));
  ASSERT_EQ(step(), TROIKA_OK) << error_.message;
  std::vector<float> a(16), b(16);
  expect_ok(troika_trainer_get_gradient(trainer_, "a.weight", a.data(), 64, &error_));
  expect_ok(troika_trainer_get_gradient(trainer_, "b.weight", b.data(), 64, &error_));
  EXPECT_EQ(a, b);
  expect_ok(troika_trainer_get_parameter(trainer_, "b.weight", kCpu0, b.data(), 64, &error_));
  EXPECT_EQ(b, parameter("a.weight", 16));
  EXPECT_NE(b, std::vector<float>(16, 0.25f));
}

}  // namespace
}  // namespace troika::test
