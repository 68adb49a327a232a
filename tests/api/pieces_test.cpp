// The C functions of pieces.h.
#include <cmath>
#include <thread>

#include "api/api_test.h"
#include "support/temp_directory.h"

namespace troika::test {
namespace {

class PiecesApi : public ApiTest {
 protected:
  void TearDown() override {
    troika_tensor_destroy(output_);
    troika_batch_destroy(batch_);
    ApiTest::TearDown();
  }

  // Makes a trainer on cpu:0 and cpu:1, and a batch of 5 samples.
  void make_all(bool is_sgd = false) {
    make_model();
    const troika_device devices[] = {kCpu0, kCpu1};
    troika_trainer_options options = TROIKA_TRAINER_OPTIONS_INIT;
    options.learning_rate = 0.5;
    if (!is_sgd) options.momentum = 0.9;
    expect_ok(troika_model_attach(model_, devices, 2, &options, &trainer_, &error_));
    make_batch(5);
  }

  void make_batch(int64_t samples) {
    troika_batch_destroy(batch_);
    batch_ = nullptr;
    std::vector<float> values(static_cast<size_t>(samples) * 16);
    for (size_t i = 0; i < values.size(); ++i) values[i] = std::sin(static_cast<float>(i));
    std::vector<int32_t> labels(static_cast<size_t>(samples));
    for (size_t i = 0; i < labels.size(); ++i) labels[i] = static_cast<int32_t>(i % 3);
    troika_tensor inputs = make_tensor(TROIKA_DTYPE_F32, {samples, 1, 4, 4}, values.data()),
                  targets = make_tensor(TROIKA_DTYPE_I32, {samples}, labels.data());
    expect_ok(troika_batch_create(inputs, targets, &batch_, &error_));
    troika_tensor_destroy(inputs);
    troika_tensor_destroy(targets);
  }

  troika_status forward(const troika_forward_options* options = nullptr) {
    return troika_trainer_forward(trainer_, batch_, options, nullptr, nullptr, &error_);
  }
  troika_status backward() { return troika_trainer_backward(trainer_, nullptr, &error_); }
  troika_status apply() { return troika_trainer_apply(trainer_, nullptr, &error_); }

  std::vector<float> gradient() {
    std::vector<float> values(48);
    EXPECT_EQ(troika_trainer_get_gradient(trainer_, "fc.weight", values.data(), 192, &error_), TROIKA_OK);
    return values;
  }

  troika_batch batch_ = nullptr;
  troika_tensor output_ = nullptr;
};

TEST_F(PiecesApi, pieces_compute_what_a_step_computes) {
  make_all();
  troika_step_result result = TROIKA_STEP_RESULT_INIT;
  for (int i = 0; i < 3; ++i) expect_ok(troika_trainer_step(trainer_, batch_, &result, &error_));
  const double loss = result.loss;
  const int64_t correct = result.correct;
  const std::vector<float> expected = weights();
  troika_trainer_destroy(trainer_);
  troika_model_destroy(model_);
  trainer_ = nullptr;
  make_all();
  for (int i = 1; i <= 3; ++i) {
    troika_step_result applied = TROIKA_STEP_RESULT_INIT;
    expect_ok(troika_trainer_forward(trainer_, batch_, nullptr, nullptr, &result, &error_));
    expect_ok(backward());
    expect_ok(troika_trainer_apply(trainer_, &applied, &error_));
    EXPECT_EQ(applied.step, i);
    EXPECT_EQ(applied.learning_rate, 0.5);
    EXPECT_EQ(applied.loss_scale, 1.0);
  }
  EXPECT_EQ(result.loss, loss);
  EXPECT_EQ(result.correct, correct);
  EXPECT_EQ(result.samples, 5);
  EXPECT_EQ(result.labels, 5);
  EXPECT_EQ(weights(), expected);
}

TEST_F(PiecesApi, pieces_out_of_turn_are_refused) {
  make_all();
  float values[48];
  constexpr auto kNone = TROIKA_ERROR_NOT_INITIALIZED;
  expect_refused(backward(), kNone, "there is no forward pass");
  expect_refused(apply(), kNone, "there is no backward pass");
  expect_ok(forward());
  expect_refused(apply(), kNone, "there is no backward pass");
  expect_refused(troika_trainer_set_gradient(trainer_, "fc.weight", values, 192, &error_), kNone, "no backward pass");
  expect_refused(troika_trainer_get_gradient(trainer_, "fc.weight", values, 192, &error_), kNone, "no value");
  expect_refused(troika_trainer_get_input_gradient(trainer_, values, 192, &error_), kNone, "input_gradient");
  expect_ok(backward());
  expect_refused(backward(), kNone, "run forward first");
  expect_ok(apply());
  expect_refused(apply(), kNone, "since the last step");
  expect_refused(troika_trainer_set_gradient(trainer_, "fc.weight", values, 192, &error_), kNone, "no backward pass");
  gradient();  // stays readable
}

// Whatever computes in between, backward is refused and the next round works.
TEST_F(PiecesApi, backward_needs_the_activations) {
  make_all();
  make_loader();
  const auto expect_gone = [&](const char* what) {
    SCOPED_TRACE(what);
    expect_refused(backward(), TROIKA_ERROR_NOT_INITIALIZED, "run forward first");
    expect_ok(forward());
    expect_ok(backward());
    expect_ok(apply());
    expect_ok(forward());
  };
  expect_ok(forward());
  expect_ok(troika_trainer_step(trainer_, batch_, nullptr, &error_));
  expect_gone("step");
  troika_metrics metrics = TROIKA_METRICS_INIT;
  expect_ok(troika_trainer_evaluate(trainer_, loader_, &metrics, &error_));
  expect_gone("evaluate");
  tensor_ = make_tensor(TROIKA_DTYPE_F32, {9, 1, 4, 4});
  troika_tensor prediction = nullptr;
  expect_ok(troika_trainer_predict(trainer_, tensor_, &prediction, &error_));
  troika_tensor_destroy(prediction);
  expect_gone("predict");
  int64_t size = 0;
  expect_ok(troika_trainer_explain(trainer_, 40, nullptr, 0, &size, &error_));
  expect_gone("explain");
  TempDirectory folder;
  const std::string path = (folder.path() / "state").string();
  expect_ok(troika_trainer_save(trainer_, path.c_str(), &error_));
  expect_ok(troika_trainer_load(trainer_, path.c_str(), nullptr, &error_));
  expect_gone("load");
  make_batch(3);
  expect_ok(forward());
  expect_ok(backward());
  make_batch(5);
  expect_ok(forward());
  expect_ok(backward());
  expect_ok(apply());
}

// Only a call that trains or restores takes the gradients away.
TEST_F(PiecesApi, gradients_stay_until_they_are_applied) {
  make_all();
  make_loader();
  expect_ok(forward());
  expect_ok(backward());
  const std::vector<float> first = gradient();
  troika_metrics metrics = TROIKA_METRICS_INIT;
  expect_ok(troika_trainer_evaluate(trainer_, loader_, &metrics, &error_));
  expect_ok(forward());
  EXPECT_EQ(gradient(), first);
  make_batch(40);
  expect_ok(forward());
  troika_memory_info before = TROIKA_MEMORY_INFO_INIT, after = TROIKA_MEMORY_INFO_INIT;
  expect_ok(troika_trainer_memory(trainer_, 1, &before, &error_));
  expect_ok(backward());
  expect_ok(troika_trainer_memory(trainer_, 1, &after, &error_));
  EXPECT_EQ(after.gradient_bytes, 2 * before.gradient_bytes);
  EXPECT_NE(gradient(), first);
  expect_ok(apply());
  expect_ok(forward());
  expect_ok(backward());
  expect_ok(troika_trainer_step(trainer_, batch_, nullptr, &error_));
  expect_refused(apply(), TROIKA_ERROR_NOT_INITIALIZED, "no backward pass");
  TempDirectory folder;
  const std::string path = (folder.path() / "state").string();
  expect_ok(troika_trainer_save(trainer_, path.c_str(), &error_));
  expect_ok(forward());
  expect_ok(backward());
  expect_ok(troika_trainer_load(trainer_, path.c_str(), nullptr, &error_));
  expect_refused(apply(), TROIKA_ERROR_NOT_INITIALIZED, "no backward pass");
  expect_ok(forward());
  expect_ok(backward());
  expect_ok(apply());
}

TEST_F(PiecesApi, a_gradient_that_is_set_is_applied) {
  make_all(true);
  expect_ok(forward());
  expect_ok(backward());
  std::vector<float> expected = weights(), set(48);
  for (size_t i = 0; i < set.size(); ++i) {
    set[i] = std::cos(static_cast<float>(i));
    expected[i] -= 0.5f * set[i];
  }
  expect_ok(troika_trainer_set_gradient(trainer_, "fc.weight", set.data(), 192, &error_));
  EXPECT_EQ(gradient(), set);
  expect_refused(troika_trainer_set_gradient(trainer_, "fc.weight", set.data(), 188, &error_), kInvalid, "needs 192");
  expect_refused(troika_trainer_set_gradient(trainer_, "fc.weight", set.data(), -1, &error_), kInvalid, "size_bytes");
  expect_refused(troika_trainer_set_gradient(trainer_, "fc.weight", nullptr, 192, &error_), kInvalid, "data");
  expect_refused(troika_trainer_set_gradient(trainer_, nullptr, set.data(), 192, &error_), kInvalid, "name");
  expect_refused(troika_trainer_set_gradient(trainer_, "nobody", set.data(), 192, &error_), TROIKA_ERROR_NOT_FOUND,
                 "nobody");
  expect_refused(troika_trainer_set_gradient(nullptr, "fc.weight", set.data(), 192, &error_), kInvalid, "trainer");
  expect_ok(apply());
  EXPECT_EQ(weights(), expected);
  expect_ok(troika_trainer_check_replicas(trainer_, &error_));
}

// The update begins with the newest values.
TEST_F(PiecesApi, a_parameter_that_is_set_in_between_is_updated) {
  make_all(true);
  expect_ok(forward());
  expect_ok(backward());
  std::vector<float> expected(48, 0.25f);
  const std::vector<float> found = gradient();
  expect_ok(troika_model_set_parameter(model_, "fc.weight", expected.data(), 192, &error_));
  for (size_t i = 0; i < expected.size(); ++i) expected[i] -= 0.5f * found[i];
  expect_ok(apply());
  EXPECT_EQ(weights(), expected);
}

TEST_F(PiecesApi, frozen_parameters_have_no_gradient_to_set) {
  make_model();
  troika_parameter_group group = TROIKA_PARAMETER_GROUP_INIT;
  group.pattern = "fc.bias";
  troika_trainer_options options = TROIKA_TRAINER_OPTIONS_INIT;
  options.groups = &group;
  options.group_count = 1;
  expect_ok(troika_model_attach(model_, &kCpu0, 1, &options, &trainer_, &error_));
  make_batch(4);
  expect_ok(forward());
  expect_ok(backward());
  // A trainer with other frozen parameters begins anew.
  expect_ok(troika_trainer_set_option(trainer_, 0, TROIKA_OPTION_FROZEN, 1, &error_));
  expect_refused(apply(), TROIKA_ERROR_NOT_INITIALIZED, "no backward pass");
  expect_ok(forward());
  expect_ok(troika_trainer_set_option(trainer_, 0, TROIKA_OPTION_FROZEN, 0, &error_));
  expect_refused(backward(), TROIKA_ERROR_NOT_INITIALIZED, "no forward pass");
  expect_ok(troika_trainer_set_option(trainer_, 0, TROIKA_OPTION_FROZEN, 1, &error_));
  expect_ok(forward());
  expect_ok(backward());
  const float zeros[3] = {};
  expect_refused(troika_trainer_set_gradient(trainer_, "fc.bias", zeros, 12, &error_), TROIKA_ERROR_NOT_INITIALIZED,
                 "frozen");
  expect_ok(apply());
}

TEST_F(PiecesApi, the_callers_loss_comes_as_a_gradient) {
  make_all(true);
  troika_forward_options options;
  troika_forward_options_init(&options, sizeof options);
  options.own_loss = 1;
  options.input_gradient = 1;
  troika_step_result result = TROIKA_STEP_RESULT_INIT;
  expect_ok(troika_trainer_forward(trainer_, batch_, &options, &output_, &result, &error_));
  EXPECT_EQ(result.samples, 5);
  EXPECT_EQ(result.labels, 0);
  EXPECT_EQ(result.loss, 0);
  troika_tensor_info info = TROIKA_TENSOR_INFO_INIT;
  expect_ok(troika_tensor_describe(output_, &info, &error_));
  EXPECT_EQ(info.rank, 2);
  EXPECT_EQ(info.dims[0], 5);
  EXPECT_EQ(info.dims[1], 3);
  expect_refused(backward(), kInvalid, "own_loss needs f32[5, 3]");
  for (const std::vector<int64_t>& dims : {std::vector<int64_t>{4, 3}, {5, 4}, {15}, {5, 3, 1}}) {
    troika_tensor wrong = make_tensor(TROIKA_DTYPE_F32, dims);
    expect_refused(troika_trainer_backward(trainer_, wrong, &error_), kInvalid, "needs f32[5, 3]");
    troika_tensor_destroy(wrong);
  }
  tensor_ = make_tensor(TROIKA_DTYPE_I32, {5, 3});
  expect_refused(troika_trainer_backward(trainer_, tensor_, &error_), kInvalid, "needs f32[5, 3]");
  expect_refused(troika_trainer_backward(trainer_, garbage<troika_tensor>(), &error_), kInvalid, "output_gradient");
  troika_tensor_destroy(tensor_);

  // A loss of the sum of output 1: each row of the inputs' gradient is row 1 of the weights.
  std::vector<float> gradient(15, 0.0f);
  for (size_t i = 1; i < gradient.size(); i += 3) gradient[i] = 1;
  tensor_ = make_tensor(TROIKA_DTYPE_F32, {5, 3}, gradient.data());
  const std::vector<float> before = weights();
  expect_ok(troika_trainer_backward(trainer_, tensor_, &error_));
  std::vector<float> found(80);
  expect_refused(troika_trainer_get_input_gradient(trainer_, found.data(), 79 * 4, &error_), kInvalid, "needs 320");
  expect_refused(troika_trainer_get_input_gradient(trainer_, nullptr, 320, &error_), kInvalid, "data");
  expect_ok(troika_trainer_get_input_gradient(trainer_, found.data(), 320, &error_));
  for (size_t i = 0; i < found.size(); ++i) EXPECT_EQ(found[i], before[16 + i % 16]) << i;
  expect_ok(apply());
  const std::vector<float> after = weights();
  for (size_t i = 0; i < 48; ++i) EXPECT_EQ(i / 16 == 1, after[i] != before[i]) << i;

  // The trainer's own loss takes none.
  expect_ok(forward());
  expect_refused(troika_trainer_backward(trainer_, tensor_, &error_), kInvalid, "pass NULL");
  expect_ok(backward());
  expect_refused(troika_trainer_get_input_gradient(trainer_, found.data(), 320, &error_), TROIKA_ERROR_NOT_INITIALIZED,
                 "input_gradient");
}

TEST_F(PiecesApi, options_are_checked) {
  make_all();
  troika_forward_options options = TROIKA_FORWARD_OPTIONS_INIT;
  options.own_loss = 2;
  expect_refused(forward(&options), kInvalid, "own_loss is 2");
  options.own_loss = 0;
  options.input_gradient = -1;
  expect_refused(forward(&options), kInvalid, "input_gradient is -1");
  options.input_gradient = 0;
  options.reserved = 7;
  expect_refused(forward(&options), kInvalid, "reserved is 7");
  options.reserved = 0;
  for (const double weight : {-1.0, double{NAN}, double{INFINITY}}) {
    options.weight = weight;
    expect_refused(forward(&options), kInvalid, "options.weight is");
  }
  options.weight = 0.5;
  options.own_loss = 1;
  expect_refused(forward(&options), kInvalid, "options.weight is 0.5, needs own_loss 0");
  options.struct_size = 0;
  expect_refused(forward(&options), kInvalid, "struct_size is 0");
  troika_step_result result{};
  expect_refused(troika_trainer_forward(trainer_, batch_, nullptr, nullptr, &result, &error_), kInvalid, "struct_size");
  expect_refused(troika_trainer_apply(trainer_, &result, &error_), kInvalid, "struct_size");
  output_ = garbage<troika_tensor>();
  expect_refused(troika_trainer_forward(trainer_, nullptr, nullptr, &output_, nullptr, &error_), kInvalid, "batch");
  EXPECT_EQ(output_, nullptr);
  expect_refused(troika_trainer_forward(nullptr, batch_, nullptr, nullptr, nullptr, &error_), kInvalid, "trainer");
  expect_refused(troika_trainer_backward(nullptr, nullptr, &error_), kInvalid, "trainer");
  expect_refused(troika_trainer_apply(nullptr, nullptr, &error_), kInvalid, "trainer");
  expect_refused(troika_trainer_get_input_gradient(nullptr, nullptr, 0, &error_), kInvalid, "trainer");
}

TEST_F(PiecesApi, a_stop_ends_the_forward_pass) {
  make_all();
  expect_ok(forward());
  expect_ok(backward());
  expect_ok(troika_trainer_request_stop(trainer_, &error_));
  expect_ok(apply());  // takes no notice
  EXPECT_EQ(forward(), TROIKA_STOPPED);
  expect_refused(backward(), TROIKA_ERROR_NOT_INITIALIZED, "no forward pass");
  expect_ok(forward());
  expect_ok(backward());
}

TEST_F(PiecesApi, a_detached_trainer_refuses) {
  make_all();
  expect_ok(forward());
  expect_ok(backward());
  troika_trainer other = nullptr;
  troika_trainer_options options = TROIKA_TRAINER_OPTIONS_INIT;
  expect_ok(troika_model_attach(model_, &kCpu0, 1, &options, &other, &error_));
  float values[80];
  expect_refused(forward(), TROIKA_ERROR_DETACHED, "attached again");
  expect_refused(backward(), TROIKA_ERROR_DETACHED, "attached again");
  expect_refused(apply(), TROIKA_ERROR_DETACHED, "attached again");
  expect_refused(troika_trainer_set_gradient(trainer_, "fc.weight", values, 192, &error_), TROIKA_ERROR_DETACHED,
                 "attached again");
  expect_refused(troika_trainer_get_input_gradient(trainer_, values, 320, &error_), TROIKA_ERROR_DETACHED,
                 "attached again");
  troika_trainer_destroy(other);
}

// A loader's batches move the position that a saved state has, once for each update.
TEST_F(PiecesApi, an_update_moves_the_position_of_the_loader) {
  make_all();
  make_loader(10, 2);
  TempDirectory folder;
  const std::string path = (folder.path() / "state").string();
  troika_batch batch = nullptr;
  troika_loader_position position = TROIKA_LOADER_POSITION_INIT;
  for (int i = 0; i < 3; ++i) {
    expect_ok(troika_loader_next(loader_, &batch, &error_));
    expect_ok(troika_trainer_forward(trainer_, batch, nullptr, nullptr, nullptr, &error_));
    expect_ok(backward());
  }
  expect_ok(apply());
  expect_ok(troika_trainer_save(trainer_, path.c_str(), &error_));
  expect_ok(troika_trainer_load(trainer_, path.c_str(), &position, &error_));
  EXPECT_EQ(position.batch, 3);
  EXPECT_EQ(position.epoch, 0);
}

}  // namespace
}  // namespace troika::test
