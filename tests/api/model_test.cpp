// The C functions of model.h, except files and prediction.
#include <cmath>
#include <functional>

#include "api/api_test.h"

namespace troika::test {
namespace {

class ModelApi : public ApiTest {
 protected:
  // Begins a model with only an input [2, 8, 8] named "x".
  void begin() {
    ASSERT_EQ(troika_model_create_empty(context_, "net", &model_, &error_), TROIKA_OK);
    const int64_t image[] = {2, 8, 8};
    expect_ok(troika_model_add_input(model_, "x", image, 3, &x_, &error_));
  }
  int32_t entries() {
    int32_t n = 0;
    EXPECT_EQ(troika_model_count_parameters(model_, &n, nullptr, &error_), TROIKA_OK);
    return n;
  }

  troika_value x_ = -1, y_ = -1;
};

TEST_F(ModelApi, of_the_zoo_refuses_names_and_options) {
  const auto create = [&](const char* name, auto&& change) {
    troika_model_options options = TROIKA_MODEL_OPTIONS_INIT;
    change(options);
    troika_model model = garbage<troika_model>();
    const troika_status status = troika_model_create(context_, name, &options, &model, &error_);
    EXPECT_EQ(model, nullptr);
    return status;
  };
  const auto as_is = [](auto&) {};
  expect_refused(create("resnet17", as_is), TROIKA_ERROR_NOT_FOUND, "resnet17");
  create("resnet17", as_is);
  for (const char* name :
       {"d2l_lenet", "d2l_resnet18", "d2l_resnet18_stem7", "resnet9", "resnet18", "resnet34", "resnet50", "mlp"})
    EXPECT_NE(std::string(error_.message).find(name), std::string::npos) << error_.message;
  expect_refused(create("", as_is), TROIKA_ERROR_NOT_FOUND, "resnet50");
  expect_refused(create(std::string(5000, 'n').c_str(), as_is), TROIKA_ERROR_NOT_FOUND, "nnn");
  expect_refused(create("two\nlines", as_is), TROIKA_ERROR_NOT_FOUND, "two");
  expect_refused(create("\xff", as_is), kInvalid, "not UTF-8 at byte 0");
  expect_refused(create(nullptr, as_is), kInvalid, "argument 'name' is NULL");
  for (const int32_t value : {0, -5}) {
    const std::string is = " is " + std::to_string(value) + ", needs at least 1";
    expect_refused(create("mlp", [&](auto& o) { o.classes = value; }), kInvalid, "options.classes" + is);
    expect_refused(create("mlp", [&](auto& o) { o.input_channels = value; }), kInvalid, "options.input_channels" + is);
    expect_refused(create("mlp", [&](auto& o) { o.input_height = value; }), kInvalid, "options.input_height" + is);
    expect_refused(create("mlp", [&](auto& o) { o.input_width = value; }), kInvalid, "options.input_width" + is);
    expect_refused(create("mlp", [&](auto& o) { o.hidden = value; }), kInvalid, "options.hidden" + is);
  }
  expect_refused(create("mlp", [](auto& o) { o.struct_size = 0; }), kInvalid, "troika_model_options: struct_size is 0");
  expect_refused(create("d2l_lenet", [](auto& o) { o.input_height = 2; }), kInvalid, "'");
  expect_refused(create("resnet18", [](auto& o) { o.hidden = 8; }), kInvalid, "hidden");
  troika_model model = garbage<troika_model>();
  expect_refused(troika_model_create(nullptr, "mlp", nullptr, &model, &error_), kInvalid, "argument 'context' is NULL");
  EXPECT_EQ(model, nullptr);
  expect_refused(troika_model_create(context_, "mlp", nullptr, nullptr, &error_), kInvalid,
                 "argument 'out_model' is NULL");
  tensor_ = make_tensor(TROIKA_DTYPE_F32, {1});
  expect_refused(troika_model_create(cast<troika_context>(tensor_), "mlp", nullptr, &model, &error_), kInvalid,
                 "'context' is not a live handle");
}

TEST_F(ModelApi, that_is_empty_needs_a_name) {
  troika_model model = garbage<troika_model>();
  expect_refused(troika_model_create_empty(context_, nullptr, &model, &error_), kInvalid, "argument 'name' is NULL");
  EXPECT_EQ(model, nullptr);
  expect_refused(troika_model_create_empty(context_, "", &model, &error_), kInvalid,
                 "argument 'name' has 0 bytes, needs 1 to 200");
  expect_refused(troika_model_create_empty(context_, std::string(201, 'n').c_str(), &model, &error_), kInvalid,
                 "argument 'name' has 201 bytes");
  expect_refused(troika_model_create_empty(context_, "a\nb", &model, &error_), kInvalid, "control character");
  expect_refused(troika_model_create_empty(context_, "a\xc3", &model, &error_), kInvalid, "not UTF-8 at byte 1");
  expect_refused(troika_model_create_empty(nullptr, "net", &model, &error_), kInvalid, "argument 'context' is NULL");
  expect_refused(troika_model_create_empty(context_, "net", nullptr, &error_), kInvalid,
                 "argument 'out_model' is NULL");
}

TEST_F(ModelApi, refuses_inputs) {
  ASSERT_EQ(troika_model_create_empty(context_, "net", &model_, &error_), TROIKA_OK);
  const int64_t image[] = {2, 8, 8}, none[] = {2, 0, 8}, huge[] = {int64_t{1} << 31, int64_t{1} << 31, 8};
  expect_refused(troika_model_add_input(model_, "x", nullptr, 3, &x_, &error_), kInvalid, "argument 'dims' is NULL");
  for (int32_t rank : {0, -1, 8})
    expect_refused(troika_model_add_input(model_, "x", image, rank, &x_, &error_), kInvalid,
                   "'rank' is " + std::to_string(rank));
  expect_refused(troika_model_add_input(model_, "x", none, 3, &x_, &error_), kInvalid, "[2, 0, 8]");
  expect_refused(troika_model_add_input(model_, "x", huge, 3, &x_, &error_), kInvalid, "input 'x'");
  expect_refused(troika_model_add_input(model_, nullptr, image, 3, &x_, &error_), kInvalid, "argument 'name' is NULL");
  expect_refused(troika_model_add_input(model_, "x", image, 3, nullptr, &error_), kInvalid,
                 "argument 'out_value' is NULL");
  expect_refused(troika_model_add_input(nullptr, "x", image, 3, &x_, &error_), kInvalid, "argument 'model' is NULL");
  expect_refused(troika_model_add_input(cast<troika_model>(context_), "x", image, 3, &x_, &error_), kInvalid,
                 "'model' is not a live handle");
  expect_refused(troika_model_set_output(model_, 0, &error_), kInvalid, "value");
  expect_ok(troika_model_add_input(model_, "x", image, 3, &x_, &error_));
  expect_refused(troika_model_add_input(model_, "x2", image, 3, &y_, &error_), kInvalid, "has an input already");
}

// Errors that are the same for all functions that add layers.
TEST_F(ModelApi, layers_refuse_models_names_and_values) {
  begin();
  troika_conv2d_options conv = TROIKA_CONV2D_OPTIONS_INIT;
  conv.out_channels = 4;
  conv.kernel[0] = conv.kernel[1] = 3;
  troika_pool2d_options pool = TROIKA_POOL2D_OPTIONS_INIT;
  pool.kernel[0] = pool.kernel[1] = 2;
  troika_conv1d_options conv1d = TROIKA_CONV1D_OPTIONS_INIT;
  conv1d.out_channels = conv1d.kernel = 2;
  const int64_t flat[] = {128};
  using Add = std::function<troika_status(troika_model, const char*, troika_value, troika_value*)>;
  const std::pair<const char*, Add> layers[] = {
      {"conv2d", [&](auto m, auto n, auto v, auto* o) { return troika_model_add_conv2d(m, n, v, &conv, o, &error_); }},
      {"linear", [&](auto m, auto n, auto v, auto* o) { return troika_model_add_linear(m, n, v, 3, 1, o, &error_); }},
      {"batch_norm2d",
       [&](auto m, auto n, auto v, auto* o) { return troika_model_add_batch_norm2d(m, n, v, 1e-5, 0.1, o, &error_); }},
      {"relu", [&](auto m, auto n, auto v, auto* o) { return troika_model_add_relu(m, n, v, o, &error_); }},
      {"gelu", [&](auto m, auto n, auto v, auto* o) { return troika_model_add_gelu(m, n, v, o, &error_); }},
      {"max_pool2d",
       [&](auto m, auto n, auto v, auto* o) { return troika_model_add_max_pool2d(m, n, v, &pool, o, &error_); }},
      {"avg_pool2d",
       [&](auto m, auto n, auto v, auto* o) { return troika_model_add_avg_pool2d(m, n, v, &pool, o, &error_); }},
      {"adaptive_avg_pool2d", [&](auto m, auto n, auto v,
                                  auto* o) { return troika_model_add_adaptive_avg_pool2d(m, n, v, 2, 2, o, &error_); }},
      {"flatten", [&](auto m, auto n, auto v, auto* o) { return troika_model_add_flatten(m, n, v, o, &error_); }},
      {"sum", [&](auto m, auto n, auto v, auto* o) { return troika_model_add_sum(m, n, v, v, o, &error_); }},
      {"dropout", [&](auto m, auto n, auto v, auto* o) { return troika_model_add_dropout(m, n, v, 0.5, o, &error_); }},
      {"lstm", [&](auto m, auto n, auto v, auto* o) { return troika_model_add_lstm(m, n, v, 3, 1, o, &error_); }},
      {"gru", [&](auto m, auto n, auto v, auto* o) { return troika_model_add_gru(m, n, v, 3, 1, o, &error_); }},
      {"conv_transpose2d",
       [&](auto m, auto n, auto v, auto* o) { return troika_model_add_conv_transpose2d(m, n, v, &conv, o, &error_); }},
      {"conv1d",
       [&](auto m, auto n, auto v, auto* o) { return troika_model_add_conv1d(m, n, v, &conv1d, o, &error_); }},
      {"batch_norm1d",
       [&](auto m, auto n, auto v, auto* o) { return troika_model_add_batch_norm1d(m, n, v, 1e-5, 0.1, o, &error_); }},
      {"layer_norm",
       [&](auto m, auto n, auto v, auto* o) { return troika_model_add_layer_norm(m, n, v, 1, 1e-5, o, &error_); }},
      {"group_norm",
       [&](auto m, auto n, auto v, auto* o) { return troika_model_add_group_norm(m, n, v, 1, 1e-5, o, &error_); }},
      {"rms_norm",
       [&](auto m, auto n, auto v, auto* o) { return troika_model_add_rms_norm(m, n, v, 1, 1e-5, o, &error_); }},
      {"sigmoid", [&](auto m, auto n, auto v, auto* o) { return troika_model_add_sigmoid(m, n, v, o, &error_); }},
      {"tanh", [&](auto m, auto n, auto v, auto* o) { return troika_model_add_tanh(m, n, v, o, &error_); }},
      {"silu", [&](auto m, auto n, auto v, auto* o) { return troika_model_add_silu(m, n, v, o, &error_); }},
      {"leaky_relu",
       [&](auto m, auto n, auto v, auto* o) { return troika_model_add_leaky_relu(m, n, v, 0.1, o, &error_); }},
      {"softmax", [&](auto m, auto n, auto v, auto* o) { return troika_model_add_softmax(m, n, v, 1, o, &error_); }},
      {"product", [&](auto m, auto n, auto v, auto* o) { return troika_model_add_product(m, n, v, v, o, &error_); }},
      {"concat", [&](auto m, auto n, auto v, auto* o) { return troika_model_add_concat(m, n, &v, 1, 1, o, &error_); }},
      {"reshape",
       [&](auto m, auto n, auto v, auto* o) { return troika_model_add_reshape(m, n, v, flat, 1, o, &error_); }},
      {"slice", [&](auto m, auto n, auto v, auto* o) { return troika_model_add_slice(m, n, v, 1, 0, 1, o, &error_); }},
      {"mean",
       [&](auto m, auto n, auto v, auto* o) { return troika_model_add_mean(m, n, v, nullptr, 0, 0, o, &error_); }},
      {"select_step",
       [&](auto m, auto n, auto v, auto* o) { return troika_model_add_select_step(m, n, v, -1, o, &error_); }},
  };
  for (const auto& [op, add] : layers) {
    SCOPED_TRACE(op);
    const std::string function = std::string("troika_model_add_") + op;
    y_ = 77;
    expect_refused(add(nullptr, "a", x_, &y_), kInvalid, function + ": argument 'model' is NULL");
    expect_refused(add(cast<troika_model>(context_), "a", x_, &y_), kInvalid,
                   function + ": argument 'model' is not a live handle");
    expect_refused(add(model_, nullptr, x_, &y_), kInvalid, function + ": argument 'name' is NULL");
    expect_refused(add(model_, "", x_, &y_), kInvalid, "name is empty");
    expect_refused(add(model_, std::string(201, 'n').c_str(), x_, &y_), kInvalid,
                   "name has 201 bytes, may have at most 200");
    for (const char* name : {"a/b", ".a", "a.", "a..b"})
      expect_refused(add(model_, name, x_, &y_), kInvalid, std::string("'") + name + "'");
    expect_refused(add(model_, "a\tb", x_, &y_), kInvalid, "control character at byte 1");
    for (const char* name : {"a*", "a?", "a,b"})
      expect_refused(add(model_, name, x_, &y_), kInvalid, std::string("'") + name + "' has a '");
    expect_refused(add(model_, "\xc0\x80", x_, &y_), kInvalid, "not UTF-8");
    for (troika_value value :
         {int64_t{-1}, int64_t{0}, int64_t{999}, INT64_MIN, INT64_MAX, x_ + 1000, x_ + (int64_t{1} << 32)})
      expect_refused(add(model_, "a", value, &y_), kInvalid, std::to_string(value));
    expect_refused(add(model_, "a", x_, nullptr), kInvalid, function + ": argument 'out_value' is NULL");
    EXPECT_EQ(y_, 77) << "an output is untouched by a refused call";
    EXPECT_EQ(entries(), 0);
  }
  expect_ok(troika_model_add_relu(model_, "taken", x_, &x_, &error_));
  for (const auto& [op, add] : layers)
    if (std::string(op) != "linear")
      expect_refused(add(model_, "taken", x_, &y_), kInvalid, "'taken': the name is taken by another layer");
  expect_ok(troika_model_set_output(model_, x_, &error_));
  for (const auto& [op, add] : layers)
    expect_refused(add(model_, "late", x_, &y_), kInvalid, "model 'net' is complete");
  expect_refused(troika_model_set_output(model_, x_, &error_), kInvalid, "net");
}

TEST_F(ModelApi, convolutions_refuse_options) {
  begin();
  const auto add = [&](auto&& change) {
    troika_conv2d_options o = TROIKA_CONV2D_OPTIONS_INIT;
    o.out_channels = 4;
    o.kernel[0] = o.kernel[1] = 3;
    change(o);
    return troika_model_add_conv2d(model_, "conv", x_, &o, &y_, &error_);
  };
  expect_refused(add([](auto& o) { o.out_channels = TROIKA_UNSET; }), kInvalid, "options.out_channels is not set");
  expect_refused(add([](auto& o) { o.out_channels = 0; }), kInvalid, "conv2d 'conv': out_channels is 0");
  expect_refused(add([](auto& o) { o.kernel[1] = TROIKA_UNSET; }), kInvalid, "options.kernel[1] is not set");
  for (int i = 0; i < 2; ++i) {
    expect_refused(add([&](auto& o) { o.kernel[i] = 0; }), kInvalid, "conv2d 'conv'");
    expect_refused(add([&](auto& o) { o.kernel[i] = 9; }), kInvalid, "conv2d 'conv'");
    expect_refused(add([&](auto& o) { o.stride[i] = 0; }), kInvalid, "conv2d 'conv'");
    expect_refused(add([&](auto& o) { o.padding[i] = -1; }), kInvalid, "conv2d 'conv'");
    expect_refused(add([&](auto& o) { o.dilation[i] = 0; }), kInvalid, "conv2d 'conv'");
    expect_refused(add([&](auto& o) { o.dilation[i] = INT32_MAX; }), kInvalid, "conv2d 'conv'");
  }
  for (int32_t groups : {0, -1, 3}) expect_refused(add([&](auto& o) { o.groups = groups; }), kInvalid, "conv2d 'conv'");
  expect_refused(add([](auto& o) { o.no_bias = 2; }), kInvalid, "options.no_bias is 2, needs 0 or 1");
  for (uint32_t size : {1, 8})
    expect_refused(add([&](auto& o) { o.struct_size = size; }), kInvalid,
                   "troika_conv2d_options: struct_size is " + std::to_string(size));
  expect_refused(troika_model_add_conv2d(model_, "conv", x_, nullptr, &y_, &error_), kInvalid,
                 "argument 'options' is NULL");
  EXPECT_EQ(entries(), 0);
  expect_ok(add([](auto&) {}));
  EXPECT_EQ(entries(), 2);
}

TEST_F(ModelApi, other_layers_refuse_options) {
  begin();
  const auto pool = [&](bool is_max, auto&& change) {
    troika_pool2d_options o = TROIKA_POOL2D_OPTIONS_INIT;
    o.kernel[0] = o.kernel[1] = 2;
    change(o);
    return is_max ? troika_model_add_max_pool2d(model_, "pool", x_, &o, &y_, &error_)
                  : troika_model_add_avg_pool2d(model_, "pool", x_, &o, &y_, &error_);
  };
  for (bool is_max : {true, false}) {
    const std::string name = std::string(is_max ? "max" : "avg") + "_pool2d 'pool'";
    expect_refused(pool(is_max, [](auto& o) { o.kernel[0] = TROIKA_UNSET; }), kInvalid, "options.kernel[0] is not set");
    expect_refused(pool(is_max, [](auto& o) { o.kernel[0] = 0; }), kInvalid, name);
    expect_refused(pool(is_max, [](auto& o) { o.kernel[1] = 99; }), kInvalid, name);
    expect_refused(pool(is_max, [](auto& o) { o.stride[0] = -2; }), kInvalid, name);
    expect_refused(pool(is_max, [](auto& o) { o.padding[1] = 2; }), kInvalid, name);
    expect_refused(pool(is_max, [](auto& o) { o.padding[1] = -1; }), kInvalid, name);
    expect_refused(pool(is_max, [](auto& o) { o.struct_size = 2; }), kInvalid,
                   "troika_pool2d_options: struct_size is 2");
  }
  expect_refused(pool(false, [](auto& o) { o.exclude_padding = 7; }), kInvalid,
                 "options.exclude_padding is 7, needs 0 or 1");
  expect_refused(troika_model_add_max_pool2d(model_, "pool", x_, nullptr, &y_, &error_), kInvalid,
                 "argument 'options' is NULL");
  expect_refused(troika_model_add_avg_pool2d(model_, "pool", x_, nullptr, &y_, &error_), kInvalid,
                 "argument 'options' is NULL");
  for (int32_t size : {0, -1})
    expect_refused(troika_model_add_adaptive_avg_pool2d(model_, "pool", x_, size, 2, &y_, &error_), kInvalid,
                   "adaptive_avg_pool2d 'pool'");
  for (double eps : {0.0, -1.0, double(NAN), double(INFINITY)})
    expect_refused(troika_model_add_batch_norm2d(model_, "bn", x_, eps, 0.1, &y_, &error_), kInvalid,
                   "batch_norm2d 'bn': eps is");
  for (double momentum : {-0.1, 1.1, double(NAN)})
    expect_refused(troika_model_add_batch_norm2d(model_, "bn", x_, 1e-5, momentum, &y_, &error_), kInvalid,
                   "batch_norm2d 'bn': momentum is");
  for (double probability : {-0.1, 1.0, double(NAN)})
    expect_refused(troika_model_add_dropout(model_, "drop", x_, probability, &y_, &error_), kInvalid, "dropout 'drop'");
  expect_refused(troika_model_add_linear(model_, "fc", x_, 3, 1, &y_, &error_), kInvalid,
                 "linear 'fc': input has shape [1, 2, 8, 8]");
  troika_value flat = 0;
  expect_ok(troika_model_add_flatten(model_, "flat", x_, &flat, &error_));
  expect_refused(troika_model_add_linear(model_, "fc", flat, 0, 1, &y_, &error_), kInvalid,
                 "linear 'fc': out_features is 0");
  expect_refused(troika_model_add_linear(model_, "fc", flat, 3, 5, &y_, &error_), kInvalid,
                 "argument 'bias' is 5, needs 0 or 1");
  expect_refused(troika_model_add_sum(model_, "sum", x_, flat, &y_, &error_), kInvalid, "sum 'sum'");
  expect_refused(troika_model_add_lstm(model_, "rnn", x_, 3, 1, &y_, &error_), kInvalid,
                 "lstm 'rnn': input has shape [1, 2, 8, 8], needs [batch, steps, features]");
  expect_refused(troika_model_add_lstm(model_, "rnn", x_, 3, 5, &y_, &error_), kInvalid,
                 "argument 'bias' is 5, needs 0 or 1");
  expect_refused(troika_model_add_gru(model_, "rnn", x_, 3, 5, &y_, &error_), kInvalid,
                 "argument 'bias' is 5, needs 0 or 1");
  expect_refused(troika_model_add_gru(model_, "rnn", flat, 3, 1, &y_, &error_), kInvalid,
                 "gru 'rnn': input has shape [1, 128], needs [batch, steps, features]");
  expect_refused(troika_model_add_select_step(model_, "last", flat, -1, &y_, &error_), kInvalid,
                 "select_step 'last': input has shape [1, 128], needs [batch, steps, features]");
  expect_refused(troika_model_add_batch_norm2d(model_, "bn", flat, 1e-5, 0.1, &y_, &error_), kInvalid,
                 "batch_norm2d 'bn'");
  for (troika_value value : {-1, 0, 999})
    expect_refused(troika_model_set_output(model_, value, &error_), kInvalid, std::to_string(value));
  expect_refused(troika_model_set_output(nullptr, flat, &error_), kInvalid, "argument 'model' is NULL");
  EXPECT_EQ(entries(), 0);
}

TEST_F(ModelApi, initialisers_refuse_what_they_cannot_do) {
  make_model();
  for (int32_t kind : {0, 8, -1})
    expect_refused(troika_model_initialize(model_, "*", kind, 0.1, 0, &error_), kInvalid, std::to_string(kind));
  for (double a : {double(NAN), double(INFINITY)})
    expect_refused(troika_model_initialize(model_, "*", TROIKA_INIT_CONSTANT, a, 0, &error_), kInvalid, "initial");
  expect_refused(troika_model_initialize(model_, "*", TROIKA_INIT_NORMAL, -1, 0, &error_), kInvalid, "-1");
  expect_refused(troika_model_initialize(model_, "*.bias", TROIKA_INIT_KAIMING_NORMAL, 0, 0, &error_), kInvalid,
                 "parameter 'fc.bias' has shape [3], the initializer needs rank 2 or above");
  expect_refused(troika_model_initialize(model_, "nothing*", TROIKA_INIT_CONSTANT, 0, 0, &error_),
                 TROIKA_ERROR_NOT_FOUND, "nothing*");
  expect_refused(troika_model_initialize(nullptr, "*", TROIKA_INIT_CONSTANT, 0, 0, &error_), kInvalid,
                 "argument 'model' is NULL");
  expect_refused(troika_model_initialize_default(nullptr, 0, &error_), kInvalid, "argument 'model' is NULL");
  expect_refused(troika_model_initialize_default(cast<troika_model>(context_), 0, &error_), kInvalid,
                 "'model' is not a live handle");
  float values[3];
  expect_refused(troika_model_get_parameter(model_, "fc.bias", values, sizeof values, &error_),
                 TROIKA_ERROR_NOT_INITIALIZED, "parameter 'fc.bias' has no value yet");
  // It leaves the bias out, which takes the model's default if it has no value.
  expect_ok(troika_model_initialize(model_, "*", TROIKA_INIT_KAIMING_NORMAL, 0, 5, &error_));
  expect_ok(troika_model_get_parameter(model_, "fc.bias", values, sizeof values, &error_));
  EXPECT_LE(std::abs(values[0]), 0.25f);  // 1 / sqrt(16)
  EXPECT_NE(values[0], 0);
  const float own[] = {7, 8, 9};
  expect_ok(troika_model_set_parameter(model_, "fc.bias", own, sizeof own, &error_));
  expect_ok(troika_model_initialize(model_, nullptr, TROIKA_INIT_XAVIER_UNIFORM, 0, 5, &error_));
  expect_ok(troika_model_get_parameter(model_, "fc.bias", values, sizeof values, &error_));
  EXPECT_EQ(values[1], 8.0f);
  expect_ok(troika_model_initialize(model_, nullptr, TROIKA_INIT_CONSTANT, 2, 0, &error_));
  expect_ok(troika_model_get_parameter(model_, "fc.bias", values, sizeof values, &error_));
  EXPECT_EQ(values[2], 2.0f);
}

TEST_F(ModelApi, parameters_are_read_and_written_by_name_and_size) {
  make_model();
  float values[3] = {1, 2, 3};
  expect_ok(troika_model_set_parameter(model_, "fc.bias", values, sizeof values, &error_));
  expect_refused(troika_model_get_parameter(model_, "fc.weight", values, 12, &error_), kInvalid,
                 "parameter 'fc.weight': buffer has 12 bytes, f32[3, 16] needs 192");
  expect_refused(troika_model_get_parameter(model_, "fc.bias", values, -1, &error_), kInvalid, "'size_bytes' is -1");
  expect_refused(troika_model_set_parameter(model_, "fc.bias", values, 8, &error_), kInvalid,
                 "data has 8 bytes, f32[3] needs 12");
  expect_refused(troika_model_set_parameter(model_, "fc.bias", values, INT64_MIN, &error_), kInvalid, "'size_bytes'");
  for (const char* name : {"", "fc", "fc.bias2", "FC.BIAS"}) {
    expect_refused(troika_model_get_parameter(model_, name, values, 12, &error_), TROIKA_ERROR_NOT_FOUND,
                   std::string("parameter '") + name + "'");
    expect_refused(troika_model_set_parameter(model_, name, values, 12, &error_), TROIKA_ERROR_NOT_FOUND,
                   std::string("parameter '") + name + "'");
  }
  expect_refused(troika_model_get_parameter(model_, std::string(4000, 'p').c_str(), values, 12, &error_),
                 TROIKA_ERROR_NOT_FOUND, "parameter 'ppp");
  expect_refused(troika_model_get_parameter(model_, nullptr, values, 12, &error_), kInvalid, "argument 'name' is NULL");
  expect_refused(troika_model_get_parameter(model_, "fc.bias", nullptr, 12, &error_), kInvalid,
                 "argument 'data' is NULL");
  expect_refused(troika_model_get_parameter(nullptr, "fc.bias", values, 12, &error_), kInvalid,
                 "argument 'model' is NULL");
  expect_refused(troika_model_set_parameter(model_, nullptr, values, 12, &error_), kInvalid, "argument 'name' is NULL");
  expect_refused(troika_model_set_parameter(model_, "fc.bias", nullptr, 12, &error_), kInvalid,
                 "argument 'data' is NULL");
  expect_refused(troika_model_set_parameter(nullptr, "fc.bias", values, 12, &error_), kInvalid,
                 "argument 'model' is NULL");

  troika_parameter_info info = TROIKA_PARAMETER_INFO_INIT;
  for (int32_t index : {-1, 2, INT32_MAX})
    expect_refused(troika_model_describe_parameter(model_, index, &info, &error_), TROIKA_ERROR_NOT_FOUND,
                   "'index' is " + std::to_string(index) + ", model 'net' has 2 entries");
  expect_refused(troika_model_describe_parameter(model_, 0, nullptr, &error_), kInvalid, "argument 'out_info' is NULL");
  expect_refused(troika_model_describe_parameter(nullptr, 0, &info, &error_), kInvalid, "argument 'model' is NULL");
  expect_ok(troika_model_describe_parameter(model_, 1, &info, &error_));
  EXPECT_STREQ(info.name, "fc.bias");
  EXPECT_EQ(info.is_initialized, 1);
  int32_t found = -1;
  expect_ok(troika_model_find_parameter(model_, "fc.bias", &found, &error_));
  EXPECT_EQ(found, 1);
  expect_refused(troika_model_find_parameter(model_, "fc.bia", &found, &error_), TROIKA_ERROR_NOT_FOUND,
                 "the nearest name is 'fc.bias'");
  EXPECT_EQ(found, 1);
  expect_refused(troika_model_find_parameter(model_, nullptr, &found, &error_), kInvalid, "argument 'name' is NULL");
  expect_refused(troika_model_find_parameter(model_, "fc.bias", nullptr, &error_), kInvalid,
                 "argument 'out_index' is NULL");
  expect_refused(troika_model_find_parameter(nullptr, "fc.bias", &found, &error_), kInvalid,
                 "argument 'model' is NULL");
  expect_ok(troika_model_count_parameters(model_, nullptr, nullptr, &error_));
  expect_refused(troika_model_count_parameters(nullptr, nullptr, nullptr, &error_), kInvalid,
                 "argument 'model' is NULL");
}

TEST_F(ModelApi, names_of_200_bytes_fit_everywhere) {
  const std::string name(200, 'n');
  ASSERT_EQ(troika_model_create_empty(context_, name.c_str(), &model_, &error_), TROIKA_OK);
  const int64_t image[] = {2, 4, 4};
  expect_ok(troika_model_add_input(model_, std::string(200, 'x').c_str(), image, 3, &x_, &error_));
  expect_ok(troika_model_add_batch_norm2d(model_, name.c_str(), x_, 1e-5, 0.1, &x_, &error_));
  troika_parameter_info info = TROIKA_PARAMETER_INFO_INIT;
  expect_ok(troika_model_describe_parameter(model_, 4, &info, &error_));
  EXPECT_EQ(info.name, name + ".num_batches_tracked");
}

TEST_F(ModelApi, prints_into_the_callers_buffer) {
  make_model();
  int64_t size = 0;
  expect_ok(troika_model_print(model_, nullptr, 0, &size, &error_));
  std::string text(static_cast<size_t>(size), 'x');
  expect_ok(troika_model_print(model_, text.data(), size, nullptr, &error_));
  EXPECT_NE(text.find("(fc): Linear(in_features=16, out_features=3, bias=True)"), std::string::npos) << text;
  char small[4];
  expect_ok(troika_model_print(model_, small, sizeof small, &size, &error_));
  EXPECT_EQ(std::string(small), text.substr(0, 3));
  expect_refused(troika_model_print(nullptr, small, 4, &size, &error_), kInvalid, "argument 'model' is NULL");
  expect_refused(troika_model_print(model_, nullptr, 4, &size, &error_), kInvalid, "buffer of 4 bytes");
  expect_refused(troika_model_print(model_, small, -4, &size, &error_), kInvalid, "buffer of -4 bytes");
}

TEST_F(ModelApi, refuses_values_of_another_model) {
  begin();
  troika_model other = nullptr;
  ASSERT_EQ(troika_model_create_empty(context_, "other", &other, &error_), TROIKA_OK);
  const int64_t image[] = {2, 8, 8};
  troika_value x = 0, y = 0;
  expect_ok(troika_model_add_input(other, "x", image, 3, &x, &error_));
  EXPECT_NE(x, x_);
  expect_refused(troika_model_add_relu(other, "relu", x_, &y, &error_), kInvalid, "not a value of model 'other'");
  expect_refused(troika_model_add_sum(other, "sum", x, x_, &y, &error_), kInvalid, "argument 'b' is ");
  expect_refused(troika_model_set_output(other, x_, &error_), kInvalid, "not a value of model 'other'");
  expect_ok(troika_model_add_relu(other, "relu", x, &y, &error_));
  troika_model_destroy(other);
}

// Takes a second; with time that grows as the square of the layers it would take hours.
TEST_F(ModelApi, has_room_for_many_layers) {
  begin();
  for (int i = 0; i < 40000; ++i)
    ASSERT_EQ(troika_model_add_relu(model_, ("layer" + std::to_string(i)).c_str(), x_, &x_, &error_), TROIKA_OK);
  expect_refused(troika_model_add_relu(model_, "layer7", x_, &x_, &error_), kInvalid, "the name is taken");
}

}  // namespace
}  // namespace troika::test
