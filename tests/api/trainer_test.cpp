// The C functions of trainer.h, except attaching.
#include <cmath>
#include <cstddef>
#include <functional>
#include <memory>
#include <thread>

#include "api/api_test.h"
#include "support/temp_directory.h"

namespace troika::test {
namespace {

class TrainerApi : public ApiTest {
 protected:
  void TearDown() override {
    troika_batch_destroy(batch_);
    ApiTest::TearDown();
  }

  // Makes a batch of zeros with the given targets in `batch_`.
  void make_batch(const std::vector<int64_t>& dims, const std::vector<int32_t>& labels) {
    troika_batch_destroy(batch_);
    batch_ = nullptr;
    troika_tensor inputs = make_tensor(TROIKA_DTYPE_F32, dims),
                  targets = make_tensor(TROIKA_DTYPE_I32, {static_cast<int64_t>(labels.size())}, labels.data());
    expect_ok(troika_batch_create(inputs, targets, &batch_, &error_));
    troika_tensor_destroy(inputs);
    troika_tensor_destroy(targets);
  }

  // Returns everything that a step could change (parameters, momentum, step and rates) as the bytes
  // of a saved state.
  std::string state() {
    const std::string path = (folder_.path() / "state").string();
    EXPECT_EQ(troika_trainer_save(trainer_, path.c_str(), &error_), TROIKA_OK) << error_.message;
    int64_t size = 0;
    EXPECT_EQ(troika_file_inspect(path.c_str(), nullptr, 0, &size, &error_), TROIKA_OK);
    std::string bytes;
    FILE* file = std::fopen(path.c_str(), "rb");
    for (int c = std::fgetc(file); c != EOF; c = std::fgetc(file)) bytes += static_cast<char>(c);
    std::fclose(file);
    return bytes;
  }

  troika_batch batch_ = nullptr;
  TempDirectory folder_;
};

// Errors that are the same for all calls of a trainer.
TEST_F(TrainerApi, calls_refuse_what_is_no_trainer) {
  make_trainer();
  tensor_ = make_tensor(TROIKA_DTYPE_F32, {2, 1, 4, 4});
  troika_batch batch = nullptr;
  expect_ok(troika_loader_next(loader_, &batch, &error_));
  troika_metrics metrics = TROIKA_METRICS_INIT;
  troika_memory_info memory = TROIKA_MEMORY_INFO_INIT;
  troika_tensor output = nullptr;
  troika_model model = nullptr;
  double rate = 0;
  float values[48];
  char text[8];
  using Call = std::function<troika_status(troika_trainer)>;
  const std::pair<const char*, Call> calls[] = {
      {"step", [&](auto t) { return troika_trainer_step(t, batch, nullptr, &error_); }},
      {"set_progress", [&](auto t) { return troika_trainer_set_progress(t, nullptr, nullptr, nullptr, &error_); }},
      {"train_epoch", [&](auto t) { return troika_trainer_train_epoch(t, loader_, &metrics, &error_); }},
      {"evaluate", [&](auto t) { return troika_trainer_evaluate(t, loader_, &metrics, &error_); }},
      {"evaluate_on", [&](auto t) { return troika_trainer_evaluate_on(t, kCpu0, loader_, &metrics, &error_); }},
      {"predict", [&](auto t) { return troika_trainer_predict(t, tensor_, &output, &error_); }},
      {"request_stop", [&](auto t) { return troika_trainer_request_stop(t, &error_); }},
      {"set_learning_rate", [&](auto t) { return troika_trainer_set_learning_rate(t, -1, 0.1, &error_); }},
      {"set_option", [&](auto t) { return troika_trainer_set_option(t, -1, TROIKA_OPTION_MOMENTUM, 0.5, &error_); }},
      {"get_option", [&](auto t) { return troika_trainer_get_option(t, -1, TROIKA_OPTION_MOMENTUM, &rate, &error_); }},
      {"report_metric", [&](auto t) { return troika_trainer_report_metric(t, 0.5, &error_); }},
      {"save_average", [&](auto t) { return troika_trainer_save_average(t, "average", &error_); }},
      {"get_learning_rate", [&](auto t) { return troika_trainer_get_learning_rate(t, -1, &rate, &error_); }},
      {"get_parameter",
       [&](auto t) { return troika_trainer_get_parameter(t, "fc.weight", kCpu0, values, 192, &error_); }},
      {"get_gradient", [&](auto t) { return troika_trainer_get_gradient(t, "fc.weight", values, 192, &error_); }},
      {"check_replicas", [&](auto t) { return troika_trainer_check_replicas(t, &error_); }},
      {"save", [&](auto t) { return troika_trainer_save(t, "/dev/null", &error_); }},
      {"load", [&](auto t) { return troika_trainer_load(t, "/dev/null", nullptr, &error_); }},
      {"unwrap", [&](auto t) { return troika_trainer_unwrap(t, &model, &error_); }},
      {"memory", [&](auto t) { return troika_trainer_memory(t, 0, &memory, &error_); }},
      {"explain", [&](auto t) { return troika_trainer_explain(t, 4, text, sizeof text, nullptr, &error_); }},
      {"trace", [&](auto t) { return troika_trainer_trace(t, text, sizeof text, nullptr, &error_); }},
      {"save_trace", [&](auto t) { return troika_trainer_save_trace(t, "/nowhere/step.json", &error_); }},
  };
  for (const auto& [name, call] : calls) {
    const std::string function = std::string("troika_trainer_") + name;
    expect_refused(call(nullptr), kInvalid, function + ": argument 'trainer' is NULL");
    expect_refused(call(cast<troika_trainer>(model_)), kInvalid,
                   function + ": argument 'trainer' is not a live handle of the type it should be");
    EXPECT_EQ(output, nullptr);
    EXPECT_EQ(model, nullptr);
  }
}

TEST_F(TrainerApi, calls_refuse_missing_and_wrong_arguments) {
  make_trainer();
  float values[48];
  double rate = 0;
  expect_refused(troika_trainer_step(trainer_, nullptr, nullptr, &error_), kInvalid, "argument 'batch' is NULL");
  expect_refused(troika_trainer_step(trainer_, cast<troika_batch>(loader_), nullptr, &error_), kInvalid,
                 "'batch' is not a live handle");
  expect_refused(troika_trainer_train_epoch(trainer_, nullptr, nullptr, &error_), kInvalid,
                 "argument 'loader' is NULL");
  expect_refused(troika_trainer_train_epoch(trainer_, cast<troika_loader>(dataset_), nullptr, &error_), kInvalid,
                 "'loader' is not a live handle");
  expect_refused(troika_trainer_evaluate(trainer_, nullptr, nullptr, &error_), kInvalid, "argument 'loader' is NULL");
  expect_refused(troika_trainer_evaluate_on(trainer_, kCpu0, nullptr, nullptr, &error_), kInvalid,
                 "argument 'loader' is NULL");
  expect_refused(troika_trainer_evaluate_on(trainer_, {8, 0}, loader_, nullptr, &error_), kInvalid, "device.kind is 8");
  expect_refused(troika_trainer_evaluate_on(trainer_, kCpu2, loader_, nullptr, &error_), TROIKA_ERROR_NOT_ON_DEVICE,
                 "model 'net' is not on cpu:2; it is on cpu:0, cpu:1");
  troika_tensor output = garbage<troika_tensor>();
  expect_refused(troika_trainer_predict(trainer_, nullptr, &output, &error_), kInvalid, "argument 'input' is NULL");
  EXPECT_EQ(output, nullptr);
  expect_refused(troika_trainer_predict(trainer_, tensor_, nullptr, &error_), kInvalid,
                 "argument 'out_output' is NULL");
  for (double wrong : {-1.0, double(NAN), double(INFINITY)})
    expect_refused(troika_trainer_set_learning_rate(trainer_, -1, wrong, &error_), kInvalid,
                   "trainer: learning_rate is");
  for (int32_t group : {-2, 0, 7}) {
    expect_refused(troika_trainer_set_learning_rate(trainer_, group, 0.1, &error_), kInvalid,
                   "trainer: group is " + std::to_string(group) + ", need -1; there are no groups");
    expect_refused(troika_trainer_get_learning_rate(trainer_, group, &rate, &error_), kInvalid,
                   "trainer: group is " + std::to_string(group) + ", need -1; there are no groups");
  }
  expect_refused(troika_trainer_get_learning_rate(trainer_, -1, nullptr, &error_), kInvalid,
                 "argument 'out_learning_rate' is NULL");
  expect_refused(troika_trainer_get_parameter(trainer_, nullptr, kCpu0, values, 192, &error_), kInvalid,
                 "argument 'name' is NULL");
  expect_refused(troika_trainer_get_parameter(trainer_, "fc.weight", kCpu0, nullptr, 192, &error_), kInvalid,
                 "argument 'data' is NULL");
  expect_refused(troika_trainer_get_parameter(trainer_, "fc.weight", {0, 0}, values, 192, &error_), kInvalid,
                 "device.kind is 0");
  expect_refused(troika_trainer_get_parameter(trainer_, "fc.weight", kCpu0, values, -192, &error_), kInvalid,
                 "'size_bytes' is -192");
  expect_refused(troika_trainer_get_parameter(trainer_, "fc.weight", kCpu0, values, 188, &error_), kInvalid,
                 "parameter 'fc.weight': buffer has 188 bytes, f32[3, 16] needs 192");
  expect_refused(troika_trainer_get_parameter(trainer_, "fc.wait", kCpu0, values, 192, &error_), TROIKA_ERROR_NOT_FOUND,
                 "parameter 'fc.wait'");
  expect_refused(troika_trainer_get_parameter(trainer_, "fc.weight", kCpu2, values, 192, &error_),
                 TROIKA_ERROR_NOT_ON_DEVICE, "parameter 'fc.weight' is not on cpu:2; model 'net' is on cpu:0, cpu:1");
  expect_refused(troika_trainer_get_gradient(trainer_, "fc.weight", values, 192, &error_), TROIKA_ERROR_NOT_INITIALIZED,
                 "gradient of 'fc.weight' has no value: there was no step");
  expect_refused(troika_trainer_get_gradient(trainer_, "fc.weight", values, 4, &error_), kInvalid,
                 "gradient of 'fc.weight': buffer has 4 bytes");
  expect_refused(troika_trainer_get_gradient(trainer_, "fc.weight", values, -4, &error_), kInvalid,
                 "'size_bytes' is -4");
  expect_refused(troika_trainer_get_gradient(trainer_, "none", values, 192, &error_), TROIKA_ERROR_NOT_FOUND,
                 "parameter 'none'");
  expect_refused(troika_trainer_get_gradient(trainer_, nullptr, values, 192, &error_), kInvalid,
                 "argument 'name' is NULL");
  expect_refused(troika_trainer_get_gradient(trainer_, "fc.weight", nullptr, 192, &error_), kInvalid,
                 "argument 'data' is NULL");
  expect_refused(troika_trainer_save(trainer_, nullptr, &error_), kInvalid, "argument 'path' is NULL");
  expect_refused(troika_trainer_load(trainer_, nullptr, nullptr, &error_), kInvalid, "argument 'path' is NULL");
  expect_refused(troika_trainer_unwrap(trainer_, nullptr, &error_), kInvalid, "argument 'out_model' is NULL");
  troika_memory_info memory = TROIKA_MEMORY_INFO_INIT;
  for (int32_t replica : {-1, 2})
    expect_refused(troika_trainer_memory(trainer_, replica, &memory, &error_), TROIKA_ERROR_NOT_FOUND,
                   "replica is " + std::to_string(replica));
  expect_refused(troika_trainer_memory(trainer_, 0, nullptr, &error_), kInvalid, "argument 'out_info' is NULL");
  char text[4];
  for (int64_t batch : {0, -3})
    expect_refused(troika_trainer_explain(trainer_, batch, text, 4, nullptr, &error_), kInvalid,
                   "batch is " + std::to_string(batch));
  expect_refused(troika_trainer_explain(trainer_, 2, nullptr, 4, nullptr, &error_), kInvalid, "buffer of 4 bytes");
  expect_refused(troika_trainer_trace(trainer_, text, 4, nullptr, &error_), TROIKA_ERROR_NOT_INITIALIZED,
                 "trace: there is none");

  troika_step_result result = TROIKA_STEP_RESULT_INIT;
  troika_batch batch = nullptr;
  expect_ok(troika_loader_next(loader_, &batch, &error_));
  for (uint32_t size : {0u, 7u, static_cast<uint32_t>(offsetof(troika_step_result, samples))}) {
    result.struct_size = size;  // the size of no version
    expect_refused(troika_trainer_step(trainer_, batch, &result, &error_), kInvalid,
                   "out_result->struct_size is " + std::to_string(size));
  }
  result.struct_size = sizeof result;
  expect_ok(troika_trainer_step(trainer_, batch, &result, &error_));
  EXPECT_GT(result.loss, 0);
  EXPECT_EQ(result.step, 1) << "a refused call trains nothing";
}

TEST_F(TrainerApi, stays_as_it_was_after_every_refused_step) {
  make_trainer();
  expect_ok(step());
  expect_ok(step());
  const std::string before = state();
  const auto refuse = [&](const std::string& message) {
    troika_step_result result = TROIKA_STEP_RESULT_INIT;
    result.step = 77;
    expect_refused(troika_trainer_step(trainer_, batch_, &result, &error_), kInvalid, message);
    EXPECT_EQ(result.step, 77) << "an output is untouched by a refused call";
    EXPECT_EQ(state(), before);
    expect_ok(troika_trainer_check_replicas(trainer_, &error_));
  };
  make_batch({2, 1, 4, 5}, {0, 1});
  refuse("batch: inputs have shape [2, 1, 4, 5], model 'net' needs [batch, 1, 4, 4]");
  make_batch({2, 16}, {0, 1});
  refuse("batch: inputs have shape [2, 16]");
  make_batch({0, 1, 4, 4}, {});
  refuse("batch: has no samples, needs at least 1");
  make_batch({2, 1, 4, 4}, {0, 3});
  refuse("batch: label of sample 1 is 3, model 'net' has classes 0 to 2");
  make_batch({2, 1, 4, 4}, {-1, 0});
  refuse("batch: label of sample 0 is -1");
  make_batch({2, 1, 4, 4}, {INT32_MAX, 0});
  refuse("batch: label of sample 0 is 2147483647");
  troika_tensor inputs = make_tensor(TROIKA_DTYPE_F32, {2, 1, 4, 4}), values = make_tensor(TROIKA_DTYPE_F32, {2, 3});
  troika_batch_destroy(batch_);
  batch_ = nullptr;
  expect_ok(troika_batch_create(inputs, values, &batch_, &error_));
  refuse("batch: targets are values, cross-entropy needs labels");
  troika_tensor_destroy(inputs);
  troika_tensor_destroy(values);
  make_batch({5, 1, 4, 4}, {0, 1, 2, 0, 1});
  expect_ok(troika_trainer_step(trainer_, batch_, nullptr, &error_));
  EXPECT_NE(state(), before);
}

TEST_F(TrainerApi, takes_a_batch_smaller_than_the_list_of_devices) {
  make_trainer();
  make_batch({1, 1, 4, 4}, {2});
  troika_step_result result = TROIKA_STEP_RESULT_INIT;
  expect_ok(troika_trainer_step(trainer_, batch_, &result, &error_));
  EXPECT_EQ(result.samples, 1);
  expect_ok(troika_trainer_check_replicas(trainer_, &error_));
}

TEST_F(TrainerApi, gives_the_norm_of_the_gradients_where_it_clips_them) {
  make_model();
  const troika_device devices[] = {kCpu0, kCpu1};
  troika_trainer_options options = TROIKA_TRAINER_OPTIONS_INIT;
  make_batch({3, 1, 4, 4}, {2, 0, 1});
  for (double most : {0.0, 0.125}) {
    options.max_gradient_norm = most;
    expect_ok(troika_model_attach(model_, devices, 2, &options, &trainer_, &error_));
    troika_step_result result = TROIKA_STEP_RESULT_INIT;
    expect_ok(troika_trainer_step(trainer_, batch_, &result, &error_));
    double squares = 0;
    for (const auto& [name, size] : {std::pair{"fc.weight", 48}, {"fc.bias", 3}}) {
      std::vector<float> gradient(static_cast<size_t>(size));
      expect_ok(troika_trainer_get_gradient(trainer_, name, gradient.data(), size * 4, &error_));
      for (float v : gradient) squares += static_cast<double>(v) * static_cast<double>(v);
    }
    EXPECT_GT(squares, 0);
    EXPECT_NEAR(result.gradient_norm, most > 0 ? std::sqrt(squares) : 0, 1e-6 * std::sqrt(squares));
    troika_trainer_destroy(trainer_);
    trainer_ = nullptr;
  }
}

TEST_F(TrainerApi, refuses_an_epoch_of_another_shape_and_keeps_the_loaders_place) {
  make_trainer();
  const int64_t other[] = {7};
  troika_dataset dataset = nullptr;
  troika_loader loader = nullptr;
  expect_ok(troika_dataset_create_synthetic(context_, other, 1, 8, 3, 1, &dataset, &error_));
  troika_loader_options options = TROIKA_LOADER_OPTIONS_INIT;
  options.batch = 4;
  expect_ok(troika_loader_create(dataset, &options, &loader, &error_));
  const std::string before = state();
  expect_refused(troika_trainer_train_epoch(trainer_, loader, nullptr, &error_), kInvalid,
                 "batch: inputs have shape [4, 7]");
  expect_refused(troika_trainer_evaluate(trainer_, loader, nullptr, &error_), kInvalid,
                 "batch: inputs have shape [4, 7]");
  EXPECT_EQ(state(), before);
  expect_ok(troika_trainer_train_epoch(trainer_, loader_, nullptr, &error_));
  troika_loader_destroy(loader);
  troika_dataset_destroy(dataset);
}

TEST_F(TrainerApi, refuses_an_epoch_that_has_no_batch) {
  make_trainer();
  const auto refuse = [&](const std::string& message) {
    expect_refused(troika_trainer_train_epoch(trainer_, loader_, nullptr, &error_), kInvalid, message);
    expect_refused(troika_trainer_evaluate(trainer_, loader_, nullptr, &error_), kInvalid, message);
    expect_refused(troika_trainer_evaluate_on(trainer_, kCpu1, loader_, nullptr, &error_), kInvalid, message);
    troika_loader_destroy(loader_);
  };
  troika_loader_destroy(loader_);
  troika_loader_options options = TROIKA_LOADER_OPTIONS_INIT;
  options.batch = 11;
  options.drop_last = 1;
  expect_ok(troika_loader_create(dataset_, &options, &loader_, &error_));
  refuse("loader: an epoch has 10 samples and drop_last is set, need at least 11 for one batch");
  troika_dataset_destroy(dataset_);
  make_loader(0);
  refuse("loader: its dataset has 0 samples, need at least 1");
  loader_ = nullptr;
}

TEST_F(TrainerApi, saves_a_state_whose_parameters_a_model_loads) {
  make_trainer();
  expect_ok(step());
  const std::string path = (folder_.path() / "state").string();
  expect_ok(troika_trainer_save(trainer_, path.c_str(), &error_));
  const std::vector<float> expected = weights();
  expect_ok(step());
  EXPECT_NE(weights(), expected);
  const auto report = std::make_unique<troika_load_report>();
  report->struct_size = sizeof *report;
  expect_ok(troika_model_load(model_, path.c_str(), nullptr, report.get(), &error_));
  EXPECT_EQ(report->loaded, 2);
  EXPECT_STREQ(report->names, "");
  EXPECT_EQ(weights(), expected);

  troika_model other = nullptr;
  expect_ok(troika_model_create(context_, "d2l_lenet", nullptr, &other, &error_));
  expect_refused(troika_model_load(other, path.c_str(), nullptr, report.get(), &error_), TROIKA_ERROR_MISMATCH,
                 "', a training state, does not fit model 'd2l_lenet': 8 missing");
  troika_model_destroy(other);
}

TEST_F(TrainerApi, has_no_gradient_of_a_frozen_parameter) {
  make_model();
  make_loader();
  troika_parameter_group group = TROIKA_PARAMETER_GROUP_INIT;
  group.pattern = "fc.bias";
  group.frozen = 1;
  troika_trainer_options options = TROIKA_TRAINER_OPTIONS_INIT;
  options.groups = &group;
  options.group_count = 1;
  expect_ok(troika_model_attach(model_, &kCpu0, 1, &options, &trainer_, &error_));
  expect_ok(step());
  float values[3];
  expect_refused(troika_trainer_get_gradient(trainer_, "fc.bias", values, 12, &error_), TROIKA_ERROR_NOT_INITIALIZED,
                 "parameter 'fc.bias' is frozen");
  expect_ok(troika_trainer_set_learning_rate(trainer_, 0, 0.1, &error_));  // used once the group is thawed
}

TEST_F(TrainerApi, sets_options_of_the_trainer_and_of_its_groups) {
  make_model();
  make_loader();
  troika_parameter_group group = TROIKA_PARAMETER_GROUP_INIT;
  group.pattern = "fc.bias";
  group.frozen = 1;
  group.beta2 = 0.99;
  troika_trainer_options options = TROIKA_TRAINER_OPTIONS_INIT;
  options.groups = &group;
  options.group_count = 1;
  options.optimizer = TROIKA_OPTIMIZER_ADAMW;
  options.weight_decay = 0.01;
  options.schedule = TROIKA_SCHEDULE_PLATEAU;
  options.schedule_patience = 0;
  options.average_decay = 0.9;
  expect_ok(troika_model_attach(model_, &kCpu0, 1, &options, &trainer_, &error_));
  double value = 0;
  const auto expect_value = [&](int32_t of, int32_t option, double expected) {
    expect_ok(troika_trainer_get_option(trainer_, of, option, &value, &error_));
    EXPECT_EQ(value, expected) << option;
  };
  expect_value(-1, TROIKA_OPTION_BETA1, 0.9);
  expect_value(-1, TROIKA_OPTION_BETA2, 0.999);
  expect_value(-1, TROIKA_OPTION_EPS, 1e-8);
  expect_value(0, TROIKA_OPTION_BETA2, 0.99);
  expect_value(0, TROIKA_OPTION_WEIGHT_DECAY, 0.01);
  expect_value(0, TROIKA_OPTION_FROZEN, 1);
  expect_ok(troika_trainer_set_option(trainer_, -1, TROIKA_OPTION_WEIGHT_DECAY, 0.5, &error_));
  expect_value(0, TROIKA_OPTION_WEIGHT_DECAY, 0.5);
  expect_ok(troika_trainer_set_option(trainer_, 0, TROIKA_OPTION_FROZEN, 0, &error_));
  expect_value(0, TROIKA_OPTION_FROZEN, 0);
  expect_value(-1, TROIKA_OPTION_WEIGHT_DECAY, 0.5);  // thawing keeps the setting
  expect_ok(step());

  expect_refused(troika_trainer_set_option(trainer_, -1, 0, 1, &error_), kInvalid,
                 "troika_trainer_set_option: option is 0, need TROIKA_OPTION_LEARNING_RATE");
  expect_refused(troika_trainer_set_option(trainer_, -1, TROIKA_OPTION_MOMENTUM, 0.5, &error_), kInvalid,
                 "trainer: optimizer adamw has no momentum");
  expect_refused(troika_trainer_set_option(trainer_, 0, TROIKA_OPTION_EPS, -1, &error_), kInvalid,
                 "group 0 ('fc.bias'): eps is -1, needs above 0");
  expect_refused(troika_trainer_set_option(trainer_, 0, TROIKA_OPTION_FROZEN, 2, &error_), kInvalid,
                 "troika_trainer_set_option: frozen is 2, needs 0 or 1");
  expect_refused(troika_trainer_set_option(trainer_, -1, TROIKA_OPTION_FROZEN, 1, &error_), kInvalid,
                 "trainer: group is -1, need 0 to 0");
  expect_refused(troika_trainer_get_option(trainer_, -1, TROIKA_OPTION_EPS, nullptr, &error_), kInvalid,
                 "argument 'out_value' is NULL");

  for (double metric : {1.0, 1.0}) expect_ok(troika_trainer_report_metric(trainer_, metric, &error_));
  expect_ok(troika_trainer_get_learning_rate(trainer_, -1, &value, &error_));
  EXPECT_NEAR(value, 0.01, 1e-12);  // the second metric was not better
  expect_refused(troika_trainer_report_metric(trainer_, NAN, &error_), kInvalid, "metric: is not a number");
  const std::string average = (folder_.path() / "average").string();
  expect_ok(troika_trainer_save_average(trainer_, average.c_str(), &error_));
  expect_refused(troika_trainer_save_average(trainer_, nullptr, &error_), kInvalid, "argument 'path' is NULL");
}

// A batch whose tensors no memory can hold is refused before any library is asked.
TEST_F(TrainerApi, refuses_a_batch_of_too_many_elements_and_stays_usable) {
  make_trainer();
  for (int shift : {28, 31, 32, 36, 40, 62}) {
    expect_refused(troika_trainer_explain(trainer_, int64_t{1} << shift, nullptr, 0, nullptr, &error_),
                   TROIKA_ERROR_OUT_OF_MEMORY, "a device computes on at most 2147483647");
    expect_ok(troika_trainer_check_replicas(trainer_, &error_));  // although no replica has state yet
  }
  expect_ok(step());
  expect_ok(troika_trainer_check_replicas(trainer_, &error_));
}

// A net of many micro-batches, whose plan takes long to compile.
class LongCompile : public ApiTest {
 protected:
  void attach(int32_t deadline_ms) {
    expect_ok(troika_model_create(context_, "resnet50", nullptr, &model_, &error_));
    troika_trainer_options options = TROIKA_TRAINER_OPTIONS_INIT;
    options.micro_batches = 1024;
    options.deadline_ms = deadline_ms;
    expect_ok(troika_model_attach(model_, &kCpu0, 1, &options, &trainer_, &error_));
  }
};

TEST_F(LongCompile, ends_at_the_deadline_and_leaves_the_trainer_usable) {
  attach(50);
  expect_refused(troika_trainer_explain(trainer_, 1024, nullptr, 0, nullptr, &error_), TROIKA_ERROR_COMM,
                 "compiling a plan did not end before the deadline (deadline_ms)");
  expect_ok(troika_trainer_check_replicas(trainer_, &error_));
  double rate = 0;
  expect_ok(troika_trainer_get_learning_rate(trainer_, -1, &rate, &error_));
}

TEST_F(LongCompile, ends_when_a_stop_is_requested) {
  struct Lines {
    std::atomic<bool> is_compiling{false}, has_compiled{false};
  } lines;
  troika_context_options logged = TROIKA_CONTEXT_OPTIONS_INIT;
  logged.log_level = TROIKA_LOG_DEBUG;
  logged.log_user = &lines;
  logged.log = [](int32_t, const char*, const char* line, void* user) {
    if (std::strncmp(line, "pass ", 5) == 0) static_cast<Lines*>(user)->is_compiling = true;
    if (std::strstr(line, "compiled plan")) static_cast<Lines*>(user)->has_compiled = true;
  };
  troika_context context = nullptr;
  expect_ok(troika_context_create(&logged, &context, &error_));
  std::swap(context, context_);
  attach(600000);
  const int64_t image[] = {3, 224, 224};
  expect_ok(troika_dataset_create_synthetic(context_, image, 3, 1024, 10, 1, &dataset_, &error_));
  troika_loader_options options = TROIKA_LOADER_OPTIONS_INIT;
  options.batch = 1024;
  options.prefetch = 0;
  expect_ok(troika_loader_create(dataset_, &options, &loader_, &error_));
  troika_status status = TROIKA_OK;
  std::thread call([&] { status = troika_trainer_train_epoch(trainer_, loader_, nullptr, nullptr); });
  while (!lines.is_compiling) std::this_thread::yield();
  expect_ok(troika_trainer_request_stop(trainer_, &error_));
  call.join();
  EXPECT_EQ(status, TROIKA_STOPPED);
  EXPECT_FALSE(lines.has_compiled);
  troika_context_destroy(context);
  troika_loader_position at = TROIKA_LOADER_POSITION_INIT;
  expect_ok(troika_loader_tell(loader_, &at, &error_));
  EXPECT_EQ(at.batch, 0);
}

}  // namespace
}  // namespace troika::test
