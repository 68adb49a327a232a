// The C functions of describe.h. The JSON is parsed, and must agree with the structs.
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>

#include "api/api_test.h"
#include "support/temp_directory.h"

namespace troika::test {
namespace {

using Json = nlohmann::json;

class DescribeApi : public ApiTest {
 protected:
  void create(const char* name) {
    troika_model_destroy(model_);
    expect_ok(troika_model_create(context_, name, nullptr, &model_, &error_));
  }
  troika_model_info model_info() {
    troika_model_info info = TROIKA_MODEL_INFO_INIT;
    expect_ok(troika_model_describe(model_, &info, &error_));
    return info;
  }
  troika_layer_info layer_info(int32_t index) {
    troika_layer_info info = TROIKA_LAYER_INFO_INIT;
    expect_ok(troika_model_describe_layer(model_, index, &info, &error_));
    return info;
  }
  int32_t find(const char* name) {
    int32_t index = -1;
    expect_ok(troika_model_find_layer(model_, name, &index, &error_));
    return index;
  }
  troika_trainer_info trainer_info(troika_trainer trainer) {
    troika_trainer_info info = TROIKA_TRAINER_INFO_INIT;
    expect_ok(troika_trainer_describe(trainer, &info, &error_));
    return info;
  }
  troika_trainer_options options_of(troika_trainer trainer) {
    troika_trainer_options options = TROIKA_TRAINER_OPTIONS_INIT;
    expect_ok(troika_trainer_get_options(trainer, &options, &error_));
    return options;
  }
  // Parses the text that a function writes into a buffer, and checks the rules for buffers.
  template <typename Handle>
  Json json_of(Handle handle, troika_status (*write)(Handle, char*, int64_t, int64_t*, troika_error*)) {
    int64_t size = 0;
    expect_ok(write(handle, nullptr, 0, &size, &error_));
    std::string all(static_cast<size_t>(size), '?'), part(10, '?');
    expect_ok(write(handle, all.data(), size, nullptr, &error_));
    EXPECT_EQ(all.find('\0'), all.size() - 1);
    all.pop_back();
    expect_ok(write(handle, part.data(), 10, nullptr, &error_));
    EXPECT_EQ(part, all.substr(0, 9) + '\0');
    expect_refused(write(handle, part.data(), -1, nullptr, &error_), kInvalid, "buffer of -1 bytes");
    return Json::parse(all);
  }
};

template <typename Info>
std::vector<int64_t> dims_of(const Info& info) {
  for (int i = info.rank; i < TROIKA_MAX_RANK; ++i) EXPECT_EQ(info.dims[i], 0);
  return std::vector<int64_t>(info.dims, info.dims + info.rank);
}

TEST_F(DescribeApi, names_the_models_of_the_zoo) {
  int32_t n = 0;
  for (const char* name; (name = troika_zoo_name(n)) != nullptr; ++n) {
    create(name);
    EXPECT_STREQ(model_info().name, name);
    EXPECT_EQ(troika_zoo_name(n), name) << "the text is static";
  }
  EXPECT_EQ(n, 9);
  for (int32_t beyond : {-1, n, n + 1, INT32_MIN, INT32_MAX}) EXPECT_EQ(troika_zoo_name(beyond), nullptr);
}

TEST_F(DescribeApi, describes_models) {
  create("resnet50");
  troika_model_info info = model_info();
  EXPECT_EQ(info.struct_size, sizeof info);
  EXPECT_EQ(info.is_complete, 1);
  EXPECT_EQ(info.entries, 320);
  EXPECT_EQ(info.parameters, 25557032);
  EXPECT_NEAR(info.operations, 2 * 4.1e9, 0.1e9);  // 4.1e9 products, as usually counted
  EXPECT_EQ(info.input_dtype, TROIKA_DTYPE_F32);
  EXPECT_EQ(std::vector<int64_t>(info.input_dims, info.input_dims + 4), (std::vector<int64_t>{3, 224, 224, 0}));
  EXPECT_EQ(info.output_dtype, TROIKA_DTYPE_F32);
  EXPECT_EQ(info.output_rank, 1);
  EXPECT_EQ(info.output_dims[0], 1000);
  create("char_lstm");
  info = model_info();
  EXPECT_EQ(info.input_dtype, TROIKA_DTYPE_I32);
  EXPECT_EQ(info.input_rank, 1);
  EXPECT_EQ(info.input_dims[0], 64);
  EXPECT_EQ(info.output_rank, 2);
  EXPECT_EQ(info.output_dims[1], 256);
}

TEST_F(DescribeApi, describes_a_model_from_its_first_layer_on) {
  expect_ok(troika_model_create_empty(context_, "Netz \xc3\xa4", &model_, &error_));
  const auto expect = [&](int32_t layers, int32_t input, int32_t output) {
    const troika_model_info info = model_info();
    EXPECT_EQ(info.layers, layers);
    EXPECT_EQ(info.input_dtype, input);
    EXPECT_EQ(info.is_complete, output != 0);
    EXPECT_EQ(info.output_dtype, output);
    const Json json = json_of(model_, troika_model_to_json);
    EXPECT_EQ(json["name"], "Netz \xc3\xa4");
    EXPECT_EQ(json["layers"].size(), static_cast<size_t>(layers));
    EXPECT_EQ(json["input"].is_null(), input == 0);
    EXPECT_EQ(json["output"].is_null(), output == 0);
  };
  expect(0, 0, 0);
  int32_t index = -5;
  expect_refused(troika_model_find_layer(model_, "x", &index, &error_), TROIKA_ERROR_NOT_FOUND, "which has 0 others");
  const int64_t tokens[] = {7};
  troika_value x = 0, a = 0, b = 0;
  expect_ok(troika_model_add_typed_input(model_, "tokens", TROIKA_DTYPE_I32, tokens, 1, &x, &error_));
  expect(1, TROIKA_DTYPE_I32, 0);
  expect_ok(troika_model_add_embedding(model_, "e \"1\"", x, 11, 5, &a, &error_));
  expect_ok(troika_model_add_sum(model_, "twice", a, a, &b, &error_));
  expect(3, TROIKA_DTYPE_I32, 0);
  expect_ok(troika_model_set_output(model_, b, &error_));
  expect(3, TROIKA_DTYPE_I32, TROIKA_DTYPE_F32);
  const troika_layer_info sum = layer_info(2);
  EXPECT_STREQ(sum.kind, "sum");
  EXPECT_EQ(sum.input_count, 2);
  EXPECT_EQ(sum.inputs[0], a);
  EXPECT_EQ(sum.inputs[1], a);
  EXPECT_EQ(sum.inputs[2], 0);
  EXPECT_EQ(sum.output, b);
  EXPECT_EQ(sum.operations, 35);
  EXPECT_STREQ(layer_info(1).name, "e \"1\"");
  EXPECT_EQ(layer_info(1).parameters, 55);
  EXPECT_STREQ(layer_info(0).kind, "input");
  EXPECT_STREQ(layer_info(0).name, "tokens");
  EXPECT_EQ(layer_info(0).input_count, 0);
  EXPECT_EQ(layer_info(0).output, x);
}

TEST_F(DescribeApi, counts_two_operations_for_a_product_and_its_sum) {
  ASSERT_EQ(troika_model_create_empty(context_, "net", &model_, &error_), TROIKA_OK);
  const int64_t image[] = {3, 9, 7};
  troika_value x = 0, dropout_input = 0;
  troika_conv2d_options conv = TROIKA_CONV2D_OPTIONS_INIT;
  conv.out_channels = 4;
  conv.kernel[0] = 3;
  conv.kernel[1] = 2;
  expect_ok(troika_model_add_input(model_, "x", image, 3, &x, &error_));
  expect_ok(troika_model_add_conv2d(model_, "conv", x, &conv, &x, &error_));  // [4, 7, 6]
  expect_ok(troika_model_add_flatten(model_, "flatten", x, &dropout_input, &error_));
  expect_ok(troika_model_add_dropout(model_, "drop", dropout_input, 0.5, &x, &error_));
  expect_ok(troika_model_add_linear(model_, "fc", x, 5, 0, &x, &error_));
  EXPECT_EQ(layer_info(1).operations, 2 * 4 * 7 * 6 * 3 * 3 * 2);
  EXPECT_EQ(layer_info(1).parameters, 4 * 3 * 3 * 2 + 4);
  EXPECT_EQ(dims_of(layer_info(1)), (std::vector<int64_t>{4, 7, 6}));
  EXPECT_EQ(layer_info(2).operations, 0) << "a view computes nothing";
  EXPECT_STREQ(layer_info(2).kind, "flatten");
  EXPECT_EQ(layer_info(3).input_count, 1) << "the counter is no layer";
  EXPECT_EQ(layer_info(3).inputs[0], dropout_input);
  EXPECT_EQ(layer_info(4).operations, 2 * 168 * 5);
  EXPECT_EQ(model_info().operations, layer_info(1).operations + layer_info(3).operations + layer_info(4).operations);
}

TEST_F(DescribeApi, json_of_models_agrees_with_the_structs) {
  for (int32_t n = 0; troika_zoo_name(n); ++n) {
    SCOPED_TRACE(troika_zoo_name(n));
    create(troika_zoo_name(n));
    const troika_model_info info = model_info();
    const Json json = json_of(model_, troika_model_to_json);
    EXPECT_EQ(json["name"], info.name);
    EXPECT_EQ(json["parameters"], info.parameters);
    EXPECT_EQ(json["operations"], info.operations);
    EXPECT_EQ(json["input"]["shape"], std::vector<int64_t>(info.input_dims, info.input_dims + info.input_rank));
    EXPECT_EQ(json["output"]["shape"], std::vector<int64_t>(info.output_dims, info.output_dims + info.output_rank));
    EXPECT_EQ(json["input"]["dtype"], info.input_dtype == TROIKA_DTYPE_I32 ? "i32" : "f32");
    ASSERT_EQ(json["layers"].size(), static_cast<size_t>(info.layers));
    double operations = 0;
    int64_t parameters = 0;
    for (int32_t i = 0; i < info.layers; ++i) {
      const troika_layer_info layer = layer_info(i);
      const Json& found = json["layers"][static_cast<size_t>(i)];
      operations += layer.operations;
      parameters += layer.parameters;
      EXPECT_EQ(found["name"], layer.name);
      EXPECT_EQ(found["kind"], layer.kind);
      EXPECT_EQ(found["shape"], dims_of(layer));
      EXPECT_EQ(found["parameters"], layer.parameters);
      EXPECT_EQ(found["operations"], layer.operations);
      ASSERT_EQ(found["inputs"].size(), static_cast<size_t>(layer.input_count));
      EXPECT_EQ(find(layer.name), i);
      troika_value_info value = TROIKA_VALUE_INFO_INIT;
      expect_ok(troika_model_describe_value(model_, layer.output, &value, &error_));
      EXPECT_EQ(value.layer, i);
      EXPECT_EQ(value.dtype, layer.dtype);
      EXPECT_EQ(dims_of(value), dims_of(layer));
      for (int32_t k = 0; k < layer.input_count; ++k) {
        expect_ok(troika_model_describe_value(model_, layer.inputs[k], &value, &error_));
        EXPECT_LT(value.layer, i);
        EXPECT_EQ(found["inputs"][static_cast<size_t>(k)], layer_info(value.layer).name);
      }
    }
    EXPECT_EQ(operations, info.operations);
    EXPECT_EQ(parameters, info.parameters);
    ASSERT_EQ(json["entries"].size(), static_cast<size_t>(info.entries));
    for (int32_t i = 0; i < info.entries; ++i) {
      troika_parameter_info entry = TROIKA_PARAMETER_INFO_INIT;
      expect_ok(troika_model_describe_parameter(model_, i, &entry, &error_));
      const Json& found = json["entries"][static_cast<size_t>(i)];
      EXPECT_EQ(found["name"], entry.name);
      EXPECT_EQ(found["shape"], dims_of(entry));
      EXPECT_EQ(found["is_buffer"], entry.is_buffer == 1);
      EXPECT_EQ(found["is_initialized"], false);
    }
  }
}

TEST_F(DescribeApi, refuses_what_is_not_in_the_model) {
  make_model();
  troika_layer_info layer = TROIKA_LAYER_INFO_INIT;
  for (int32_t index : {-1, 3, INT32_MIN, INT32_MAX})
    expect_refused(troika_model_describe_layer(model_, index, &layer, &error_), TROIKA_ERROR_NOT_FOUND,
                   "'index' is " + std::to_string(index) + ", model 'net' has 3 layers");
  int32_t index = 77;
  expect_refused(troika_model_find_layer(model_, "flaten", &index, &error_), TROIKA_ERROR_NOT_FOUND,
                 "layer 'flaten' is not in model 'net'; the nearest name is 'flatten'");
  expect_refused(troika_model_find_layer(model_, "", &index, &error_), TROIKA_ERROR_NOT_FOUND,
                 "layer '' is not in model 'net', which has 3 others");
  expect_refused(troika_model_find_layer(model_, std::string(100000, 'c').c_str(), &index, &error_),
                 TROIKA_ERROR_NOT_FOUND, "nearest name is 'fc'");
  expect_refused(troika_model_find_layer(model_, "\xff", &index, &error_), kInvalid, "not UTF-8");
  expect_refused(troika_model_find_layer(model_, nullptr, &index, &error_), kInvalid, "'name' is NULL");
  expect_refused(troika_model_find_layer(model_, "fc", nullptr, &error_), kInvalid, "'out_index' is NULL");
  EXPECT_EQ(index, 77);
  const troika_value output = layer_info(2).output, weight = output - 1;
  troika_value_info value = TROIKA_VALUE_INFO_INIT;
  for (troika_value other :
       {troika_value{0}, troika_value{-1}, weight, output + 1, INT64_MIN, INT64_MAX, output + (int64_t{1} << 32)})
    expect_refused(troika_model_describe_value(model_, other, &value, &error_), kInvalid,
                   std::to_string(other) + ", not a value of model 'net'");
  expect_refused(troika_model_describe(model_, nullptr, &error_), kInvalid, "'out_info' is NULL");
  layer.struct_size = 4;
  expect_refused(troika_model_describe_layer(model_, 0, &layer, &error_), kInvalid, "struct_size is 4");
  expect_refused(troika_model_describe(nullptr, nullptr, &error_), kInvalid, "'model' is NULL");
}

TEST_F(DescribeApi, a_layer_cannot_have_the_name_of_the_input) {
  ASSERT_EQ(troika_model_create_empty(context_, "net", &model_, &error_), TROIKA_OK);
  const int64_t image[] = {4};
  troika_value x = 0;
  expect_ok(troika_model_add_input(model_, "x", image, 1, &x, &error_));
  expect_refused(troika_model_add_relu(model_, "x", x, &x, &error_), kInvalid, "the name is taken");
}

TEST_F(DescribeApi, describes_trainers) {
  make_model();
  make_loader();
  const troika_device devices[] = {kCpu2, kCpu0, kCpu2, kCpu1};
  troika_trainer_options options = TROIKA_TRAINER_OPTIONS_INIT;
  options.schedule = TROIKA_SCHEDULE_STEP;
  options.schedule_period = 2;
  options.precision = TROIKA_PRECISION_F16;
  options.mesh = {0, 0, 2, 0};
  troika_parameter_group frozen = TROIKA_PARAMETER_GROUP_INIT;
  frozen.pattern = "*.bias";
  frozen.frozen = 1;
  options.groups = &frozen;
  options.group_count = 1;
  expect_ok(troika_model_attach(model_, devices, 4, &options, &trainer_, &error_));
  for (int i = 0; i < 3; ++i) {
    const troika_trainer_info info = trainer_info(trainer_);
    EXPECT_EQ(info.device_count, 4);
    EXPECT_EQ(info.mesh.data, 2);
    EXPECT_EQ(info.mesh.layer, 1);
    EXPECT_EQ(info.mesh.channel, 2);
    EXPECT_EQ(info.step, i);
    EXPECT_DOUBLE_EQ(info.learning_rate, i < 2 ? 0.1 : 0.01);
    EXPECT_EQ(info.loss_scale, 65536);
    EXPECT_EQ(info.trained_elements, 48);
    EXPECT_EQ(info.trained_entries, 1);
    EXPECT_EQ(info.is_usable, 1);
    const Json json = json_of(trainer_, troika_trainer_to_json);
    EXPECT_EQ(json["model"], "net");
    EXPECT_EQ(json["devices"], Json({"cpu:2", "cpu:0", "cpu:2", "cpu:1"}));
    EXPECT_EQ(json["mesh"], Json({{"data", 2}, {"layer", 1}, {"channel", 2}}));
    EXPECT_EQ(json["step"], i);
    EXPECT_EQ(json["learning_rate"], info.learning_rate);
    EXPECT_EQ(json["loss_scale"], info.loss_scale);
    EXPECT_EQ(json["trained_elements"], 48);
    EXPECT_EQ(json["is_usable"], true);
    EXPECT_EQ(json["options"]["groups"][0]["pattern"], "*.bias");
    EXPECT_EQ(json["options"]["precision"], "f16");
    EXPECT_EQ(json["options"]["beta1"], nullptr);
    EXPECT_EQ(step(), TROIKA_OK) << error_.message;
  }
  troika_device found[4] = {};
  int32_t count = 0;
  expect_ok(troika_trainer_get_devices(trainer_, nullptr, 0, &count, &error_));
  EXPECT_EQ(count, 4);
  expect_ok(troika_trainer_get_devices(trainer_, found, 3, nullptr, &error_));
  EXPECT_EQ(found[0].index, 2);
  EXPECT_EQ(found[1].index, 0);
  EXPECT_EQ(found[2].index, 2);
  EXPECT_EQ(found[3].kind, 0) << "there is no room for it";
  expect_refused(troika_trainer_get_devices(trainer_, found, -1, &count, &error_), kInvalid, "capacity is -1");
  expect_refused(troika_trainer_get_devices(trainer_, nullptr, 1, &count, &error_), kInvalid, "capacity is 1");

  troika_trainer later = nullptr;
  expect_ok(troika_model_attach(model_, devices, 1, nullptr, &later, &error_));
  EXPECT_EQ(trainer_info(trainer_).is_usable, 0) << "DETACHED";
  EXPECT_EQ(json_of(trainer_, troika_trainer_to_json)["is_usable"], false);
  EXPECT_EQ(trainer_info(trainer_).step, 3);
  EXPECT_EQ(options_of(trainer_).group_count, 1);
  EXPECT_EQ(trainer_info(later).is_usable, 1);
  EXPECT_EQ(trainer_info(later).loss_scale, 1);
  EXPECT_EQ(trainer_info(later).trained_elements, 51);
  troika_trainer_destroy(later);
}

TEST_F(DescribeApi, of_trainers_refuses_handles_and_structs) {
  make_trainer();
  troika_trainer_options options = TROIKA_TRAINER_OPTIONS_INIT;
  options.struct_size = 12;
  expect_refused(troika_trainer_get_options(trainer_, &options, &error_), kInvalid, "struct_size is 12");
  expect_refused(troika_trainer_get_options(trainer_, nullptr, &error_), kInvalid, "'out_options' is NULL");
  expect_refused(troika_trainer_get_options(nullptr, &options, &error_), kInvalid, "'trainer' is NULL");
  expect_refused(troika_trainer_describe(cast<troika_trainer>(model_), nullptr, &error_), kInvalid,
                 "'trainer' is not a live handle");
  expect_refused(troika_trainer_describe(trainer_, nullptr, &error_), kInvalid, "'out_info' is NULL");
}

TEST_F(DescribeApi, is_busy_inside_the_trainers_own_callback) {
  make_trainer();
  const auto describe = [](const troika_progress*, void* user) -> int32_t {
    auto trainer = static_cast<troika_trainer>(user);
    troika_trainer_info info = TROIKA_TRAINER_INFO_INIT;
    troika_trainer_options options = TROIKA_TRAINER_OPTIONS_INIT;
    EXPECT_EQ(troika_trainer_describe(trainer, &info, nullptr), TROIKA_ERROR_BUSY);
    EXPECT_EQ(troika_trainer_get_options(trainer, &options, nullptr), TROIKA_ERROR_BUSY);
    EXPECT_EQ(troika_trainer_get_devices(trainer, nullptr, 0, nullptr, nullptr), TROIKA_ERROR_BUSY);
    EXPECT_EQ(troika_trainer_to_json(trainer, nullptr, 0, nullptr, nullptr), TROIKA_ERROR_BUSY);
    return 0;
  };
  expect_ok(troika_trainer_set_progress(trainer_, describe, trainer_, nullptr, &error_));
  expect_ok(troika_trainer_train_epoch(trainer_, loader_, nullptr, &error_));
}

// Options in which every field that can be set differs from its default.
struct ManyOptions {
  troika_trainer_options options = TROIKA_TRAINER_OPTIONS_INIT;
  troika_parameter_group groups[2] = {TROIKA_PARAMETER_GROUP_INIT, TROIKA_PARAMETER_GROUP_INIT};
  std::string first = "*.bias", second = "fc.*";
  std::vector<int64_t> milestones = {3, 5, 8};
  std::vector<double> table = {1, 0.5, 0.25}, class_weights = {1, 0.5, 2}, shares = {3, 1};

  ManyOptions() {
    groups[0].pattern = first.c_str();
    groups[0].learning_rate = 0.03;
    groups[0].beta2 = 0.9;
    groups[1].pattern = second.c_str();
    groups[1].weight_decay = 0;
    troika_trainer_options& o = options;
    o.groups = groups;
    o.group_count = 2;
    o.reduction = TROIKA_REDUCTION_SUM;
    o.learning_rate = 0.02;
    o.weight_decay = 1e-3;
    o.optimizer = TROIKA_OPTIMIZER_ADAMW;
    o.beta1 = 0.8;
    o.schedule = TROIKA_SCHEDULE_MULTI_STEP;
    o.schedule_gamma = 0.5;
    o.schedule_milestones = milestones.data();
    o.schedule_milestone_count = 3;
    o.schedule_table = table.data();
    o.schedule_table_count = 3;
    o.warmup_steps = 2;
    o.bucket_bytes = 77;
    o.deadline_ms = 500000;
    o.collect_trace = 1;
    o.loss_scale_interval = 7;
    o.micro_batches = 2;
    o.max_gradient_norm = 3;
    o.average_decay = 0.5;
    o.evaluate_parameters = 1;
    o.skip_decay_one_axis = 1;
    o.shard_optimizer = 1;
    o.samples_on_host = 1;
    o.launches_in_turn = 1;
    o.label_smoothing = 0.1;
    o.class_weights = class_weights.data();
    o.class_weight_count = 3;
    o.sample_weights = 1;
    o.shares = shares.data();
    o.share_count = 2;
    o.ignore_index = -100;
    o.schedule_maximize = 1;
    o.schedule_patience = 4;
    o.schedule_threshold = 0.2;
    o.schedule_power = 2;
    o.schedule_rise = 0.4;
    o.schedule_divisor = 5;
    o.schedule_final_divisor = 6;
    o.schedule_min = 1e-5;
    o.schedule_period = 9;
    o.recompute_layers = "f*";
    o.no_fusion = 1;
    o.sync_batch_norm = 1;
    o.gradient_compression = TROIKA_COMPRESSION_BF16;
    o.skip_not_finite = 1;
    o.precision = TROIKA_PRECISION_BF16;
  }
};

bool same_bytes(const void* a, const void* b, size_t size) { return size == 0 || std::memcmp(a, b, size) == 0; }

// Expects that two structs of options say the same: texts and arrays are compared too.
void expect_same(troika_trainer_options a, troika_trainer_options b) {
  ASSERT_EQ(a.group_count, b.group_count);
  ASSERT_EQ(a.schedule_milestone_count, b.schedule_milestone_count);
  ASSERT_EQ(a.schedule_table_count, b.schedule_table_count);
  ASSERT_EQ(a.class_weight_count, b.class_weight_count);
  ASSERT_EQ(a.share_count, b.share_count);
  for (int32_t i = 0; i < a.group_count; ++i) {
    troika_parameter_group x = a.groups[i], y = b.groups[i];
    EXPECT_STREQ(x.pattern, y.pattern);
    x.pattern = y.pattern = nullptr;
    EXPECT_TRUE(same_bytes(&x, &y, sizeof x)) << "group " << i;
  }
  EXPECT_TRUE(same_bytes(a.schedule_milestones, b.schedule_milestones,
                         static_cast<size_t>(a.schedule_milestone_count) * sizeof(int64_t)));
  EXPECT_TRUE(
      same_bytes(a.schedule_table, b.schedule_table, static_cast<size_t>(a.schedule_table_count) * sizeof(double)));
  EXPECT_TRUE(same_bytes(a.shares, b.shares, static_cast<size_t>(a.share_count) * sizeof(double)));
  EXPECT_TRUE(same_bytes(a.class_weights, b.class_weights, static_cast<size_t>(a.class_weight_count) * sizeof(double)));
  EXPECT_STREQ(a.layer_cuts, b.layer_cuts);
  EXPECT_STREQ(a.recompute_layers, b.recompute_layers);
  for (auto* o : {&a, &b}) {
    o->groups = nullptr;
    o->schedule_milestones = nullptr;
    o->schedule_table = o->class_weights = o->shares = nullptr;
    o->layer_cuts = o->recompute_layers = nullptr;
  }
  for (size_t i = 0; i < sizeof a; ++i)
    if (reinterpret_cast<const unsigned char*>(&a)[i] != reinterpret_cast<const unsigned char*>(&b)[i]) {
      ADD_FAILURE() << "the options differ at byte " << i;
      return;
    }
}

TEST_F(DescribeApi, returns_the_options_with_which_another_model_can_be_attached) {
  make_model();
  make_loader();
  const troika_device devices[] = {kCpu0, kCpu1};
  {
    const ManyOptions given;  // ends before the options are read
    expect_ok(troika_model_attach(model_, devices, 2, &given.options, &trainer_, &error_));
  }
  const troika_trainer_options found = options_of(trainer_);
  ManyOptions expected;
  expected.options.seed = found.seed;  // the context's
  expected.options.mesh.data = 2;
  expected.options.beta2 = 0.999;
  expected.options.eps = 1e-8;
  expected.options.loss_scale = 0;
  expect_same(found, expected.options);
  const Json json = json_of(trainer_, troika_trainer_to_json)["options"];
  EXPECT_EQ(json["optimizer"], "adamw");
  EXPECT_EQ(json["schedule"], "multi_step");
  EXPECT_EQ(json["schedule_milestones"], Json({3, 5, 8}));
  EXPECT_EQ(json["groups"][0]["learning_rate"], 0.03);
  EXPECT_EQ(json["groups"][0]["weight_decay"], nullptr);
  EXPECT_EQ(json["alpha"], nullptr);
  EXPECT_EQ(json["eps"], 1e-8);
  EXPECT_EQ(json["recompute_layers"], "f*");

  troika_model first = model_;
  model_ = nullptr;
  make_model();
  troika_trainer second = nullptr;
  expect_ok(troika_model_attach(model_, devices, 2, &found, &second, &error_));
  expect_same(options_of(second), found);
  troika_trainer_destroy(second);
  troika_model_destroy(first);
}

TEST_F(DescribeApi, has_every_option_in_its_json) {
  make_trainer();
  std::ifstream file(TROIKA_SOURCE_DIR "/bindings/interface/interface.json");
  const Json structs = Json::parse(file)["structs"];
  const Json json = json_of(trainer_, troika_trainer_to_json)["options"];
  int fields = 0;
  for (const Json& one : structs)
    if (one["name"] == "troika_trainer_options")
      for (const Json& field : one["fields"]) {
        const std::string name = field["name"];
        if (name == "struct_size" || name.starts_with("reserved") || name.ends_with("_count")) continue;
        EXPECT_TRUE(json.contains(name)) << name;
        ++fields;
      }
  EXPECT_EQ(static_cast<size_t>(fields), json.size());
  EXPECT_GT(fields, 40);
}

TEST_F(DescribeApi, returns_resolved_defaults_for_each_optimizer) {
  make_model();
  const double unset = TROIKA_UNSET;
  const struct {
    int32_t optimizer;
    double beta1, beta2, eps, alpha, trust;
  } rows[] = {{TROIKA_OPTIMIZER_SGD, unset, unset, unset, unset, unset},
              {TROIKA_OPTIMIZER_ADAM, 0.9, 0.999, 1e-8, unset, unset},
              {TROIKA_OPTIMIZER_RMSPROP, unset, unset, 1e-8, 0.99, unset},
              {TROIKA_OPTIMIZER_LARS, unset, unset, 1e-9, unset, 0.001},
              {TROIKA_OPTIMIZER_LAMB, 0.9, 0.999, 1e-6, unset, unset},
              {TROIKA_OPTIMIZER_ADAGRAD, unset, unset, 1e-10, unset, unset}};
  for (const auto& row : rows) {
    troika_trainer_options options = TROIKA_TRAINER_OPTIONS_INIT;
    options.optimizer = row.optimizer;
    options.micro_batches = 0;
    options.layer_chunks = 0;
    options.mesh = {0, 0, 0, 0};
    options.seed = 9;
    troika_trainer_destroy(trainer_);
    expect_ok(troika_model_attach(model_, &kCpu0, 1, &options, &trainer_, &error_));
    const troika_trainer_options found = options_of(trainer_);
    options.beta1 = row.beta1;
    options.beta2 = row.beta2;
    options.eps = row.eps;
    options.alpha = row.alpha;
    options.trust = row.trust;
    options.micro_batches = options.layer_chunks = 1;
    options.mesh = {1, 1, 1, 0};
    options.loss_scale = 0;
    expect_same(found, options);
    troika_trainer again = nullptr;
    expect_ok(troika_model_attach(model_, &kCpu0, 1, &found, &again, &error_));
    expect_same(options_of(again), found);
    troika_trainer_destroy(again);
  }
}

}  // namespace
}  // namespace troika::test
