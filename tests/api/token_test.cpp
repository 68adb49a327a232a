// Tokens in the C interface: datasets, models, training with ignored labels, prediction, and
// errors.
#include <algorithm>
#include <cmath>

#include "api/api_test.h"

namespace troika::test {
namespace {

constexpr const char* kText =
    "abracadabra, abracadabra, abracadabra, abracadabra, abracadabra, abracadabra, abracadabra! ";

class TokenApi : public ApiTest {
 protected:
  void make_text(int32_t steps) {
    expect_ok(troika_dataset_create_token_stream(context_, kText, TROIKA_DTYPE_U8,
                                                 static_cast<int64_t>(std::strlen(kText)), steps, &dataset_, &error_));
  }
  void make_batches(int32_t batch) {
    troika_loader_options options = TROIKA_LOADER_OPTIONS_INIT;
    options.batch = batch;
    expect_ok(troika_loader_create(dataset_, &options, &loader_, &error_));
  }
  void make_char_lstm(int32_t steps) {
    troika_model_options options = TROIKA_MODEL_OPTIONS_INIT;
    options.steps = steps;
    options.hidden = 16;
    expect_ok(troika_model_create(context_, "char_lstm", &options, &model_, &error_));
  }
};

TEST_F(TokenApi, a_stream_is_cut_into_windows_whose_labels_are_the_next_tokens) {
  make_text(8);
  troika_dataset_info info = TROIKA_DATASET_INFO_INIT;
  expect_ok(troika_dataset_describe(dataset_, &info, &error_));
  EXPECT_EQ(info.dtype, TROIKA_DTYPE_I32);
  EXPECT_EQ(info.rank, 1);
  EXPECT_EQ(info.dims[0], 8);
  EXPECT_EQ(info.label_size, 8);
  EXPECT_EQ(info.words, 'r' + 1);
  EXPECT_EQ(info.classes, 'r' + 1);
  EXPECT_EQ(info.n, static_cast<int64_t>(std::strlen(kText) - 1) / 8);
  make_batches(2);
  troika_batch batch = nullptr;
  expect_ok(troika_loader_next(loader_, &batch, &error_));
  troika_batch_info lent = TROIKA_BATCH_INFO_INIT;
  expect_ok(troika_batch_describe(batch, &lent, &error_));
  EXPECT_EQ(lent.inputs, nullptr);
  EXPECT_EQ(lent.label_size, 8);
  for (int i = 0; i < 16; ++i) {
    EXPECT_EQ(lent.tokens[i], kText[i]);
    EXPECT_EQ(lent.labels[i], kText[i + 1]);
  }
}

TEST_F(TokenApi, char_lstm_learns_a_text_and_predicts_it) {
  make_text(8);
  make_batches(4);
  make_char_lstm(8);
  troika_trainer_options options = TROIKA_TRAINER_OPTIONS_INIT;
  options.learning_rate = 1;
  options.momentum = 0.9;
  const troika_device devices[] = {kCpu0, kCpu1};
  expect_ok(troika_model_attach(model_, devices, 2, &options, &trainer_, &error_));
  troika_metrics first = TROIKA_METRICS_INIT, last = TROIKA_METRICS_INIT;
  expect_ok(troika_trainer_train_epoch(trainer_, loader_, &first, &error_));
  for (int epoch = 0; epoch < 60; ++epoch) expect_ok(troika_trainer_train_epoch(trainer_, loader_, &last, &error_));
  EXPECT_EQ(last.samples, 11);
  EXPECT_EQ(last.labels, 88);
  EXPECT_DOUBLE_EQ(last.accuracy, static_cast<double>(last.correct) / 88);
  EXPECT_LT(last.loss, first.loss / 3);
  std::vector<int32_t> tokens(kText, kText + 8);
  tensor_ = make_tensor(TROIKA_DTYPE_I32, {1, 8}, tokens.data());
  for (bool by_trainer : {true, false}) {
    troika_tensor output = nullptr;
    expect_ok(by_trainer ? troika_trainer_predict(trainer_, tensor_, &output, &error_)
                         : troika_model_predict(model_, kCpu0, tensor_, &output, &error_));
    std::vector<float> logits(8 * 256);
    expect_ok(
        troika_tensor_to_host(output, logits.data(), static_cast<int64_t>(logits.size() * sizeof(float)), &error_));
    troika_tensor_destroy(output);
    const auto row = logits.begin() + 7 * 256;
    EXPECT_EQ(std::max_element(row, row + 256) - row, kText[8]);
  }
  tokens[3] = 256;
  troika_tensor unknown = make_tensor(TROIKA_DTYPE_I32, {1, 8}, tokens.data()), output = nullptr;
  expect_refused(troika_model_predict(model_, kCpu0, unknown, &output, &error_), kInvalid,
                 "batch: token 3 of sample 0 is 256, model 'char_lstm' has words 0 to 255");
  troika_tensor_destroy(unknown);
}

TEST_F(TokenApi, ignored_labels_count_for_nothing) {
  const int32_t tokens[] = {1, 2, 3, 4}, labels[] = {2, -100, -100, 1};
  expect_ok(
      troika_dataset_create_tokens(context_, tokens, TROIKA_DTYPE_I32, 2, 2, labels, 2, -100, &dataset_, &error_));
  make_batches(2);
  make_char_lstm(2);
  troika_trainer_options options = TROIKA_TRAINER_OPTIONS_INIT;
  options.ignore_index = -100;
  options.label_smoothing = 0.1;
  expect_ok(troika_model_attach(model_, &kCpu0, 1, &options, &trainer_, &error_));
  troika_batch batch = nullptr;
  expect_ok(troika_loader_next(loader_, &batch, &error_));
  troika_step_result result = TROIKA_STEP_RESULT_INIT;
  expect_ok(troika_trainer_step(trainer_, batch, &result, &error_));
  EXPECT_EQ(result.labels, 2);
  EXPECT_EQ(result.samples, 2);
  EXPECT_NEAR(result.loss, std::log(256.0), 0.5);
}

// A label that the dataset ignores may also be a class of the model.
TEST_F(TokenApi, a_dataset_and_a_trainer_ignore_the_same_label) {
  const int32_t tokens[] = {1, 2, 3, 4}, labels[] = {2, 0, 0, 1};
  expect_ok(troika_dataset_create_tokens(context_, tokens, TROIKA_DTYPE_I32, 2, 2, labels, 2, 0, &dataset_, &error_));
  make_batches(2);
  make_char_lstm(2);
  troika_trainer_options options = TROIKA_TRAINER_OPTIONS_INIT;
  for (const int64_t ignored : {int64_t{TROIKA_UNSET}, int64_t{1}}) {
    options.ignore_index = ignored;
    expect_ok(troika_model_attach(model_, &kCpu0, 1, &options, &trainer_, &error_));
    const std::string found = ignored == 1 ? "1" : "not set";
    const std::string message =
        "batch: its dataset ignores label 0, the trainer's ignore_index is " + found + "; needs 0";
    expect_refused(troika_trainer_evaluate(trainer_, loader_, nullptr, &error_), kInvalid, message.c_str());
    const troika_loader_position first = TROIKA_LOADER_POSITION_INIT;
    expect_ok(troika_loader_seek(loader_, &first, &error_));
    expect_refused(troika_trainer_train_epoch(trainer_, loader_, nullptr, &error_), kInvalid, message.c_str());
    troika_trainer_destroy(std::exchange(trainer_, nullptr));
  }
  options.ignore_index = 0;
  expect_ok(troika_model_attach(model_, &kCpu0, 1, &options, &trainer_, &error_));
  troika_metrics metrics = TROIKA_METRICS_INIT;
  expect_ok(troika_trainer_train_epoch(trainer_, loader_, &metrics, &error_));
  EXPECT_EQ(metrics.labels, 2);
}

TEST_F(TokenApi, what_cannot_be_is_refused_in_a_line) {
  const int32_t tokens[] = {1, 2, 3, -4}, labels[] = {0, 1, -1, 1};
  const auto refuse = [&](troika_status status, const char* part) {
    expect_refused(status, kInvalid, part);
    EXPECT_EQ(dataset_, nullptr);
  };
  refuse(troika_dataset_create_token_stream(context_, tokens, TROIKA_DTYPE_F32, 4, 1, &dataset_, &error_),
         "dtype is 1, need TROIKA_DTYPE_U8 or TROIKA_DTYPE_I32");
  refuse(troika_dataset_create_token_stream(context_, tokens, TROIKA_DTYPE_I32, 4, 0, &dataset_, &error_),
         "steps is 0");
  refuse(troika_dataset_create_token_stream(context_, tokens, TROIKA_DTYPE_I32, 4, 1, &dataset_, &error_),
         "token 3 is -4, need at least 0");
  refuse(troika_dataset_create_tokens(context_, tokens, TROIKA_DTYPE_U8, 1, 4, labels, 2, TROIKA_UNSET, &dataset_,
                                      &error_),
         "label_size is 2, need 1 or 4");
  refuse(troika_dataset_create_tokens(context_, tokens, TROIKA_DTYPE_U8, 1, 4, labels, 4, -7, &dataset_, &error_),
         "label 2 is -1, need at least 0, or -7 to be ignored");
  const int64_t dims[] = {4};
  troika_value x = 0, y = 0;
  expect_ok(troika_model_create_empty(context_, "net", &model_, &error_));
  expect_refused(troika_model_add_typed_input(model_, "x", TROIKA_DTYPE_U8, dims, 1, &x, &error_), kInvalid,
                 "argument 'dtype' is 5, needs TROIKA_DTYPE_F32 or TROIKA_DTYPE_I32");
  expect_ok(troika_model_add_typed_input(model_, "x", TROIKA_DTYPE_I32, dims, 1, &x, &error_));
  expect_refused(troika_model_add_linear(model_, "fc", x, 3, 1, &y, &error_), kInvalid,
                 "linear 'fc': input is i32, needs f32; an embedding takes tokens");
  expect_refused(troika_model_add_embedding(model_, "e", x, 0, 3, &y, &error_), kInvalid,
                 "embedding 'e': words is 0, needs 1 to 2147483647");
  expect_ok(troika_model_add_embedding(model_, "e", x, 9, 3, &x, &error_));
  expect_refused(troika_model_add_embedding(model_, "f", x, 9, 3, &y, &error_), kInvalid,
                 "embedding 'f': input is computed with 'e.weight', needs tokens, or numbers of the model's input");
  expect_ok(troika_model_add_linear_per_position(model_, "fc", x, 5, 1, &x, &error_));
  expect_ok(troika_model_set_output(model_, x, &error_));
  troika_trainer_options options = TROIKA_TRAINER_OPTIONS_INIT;
  options.loss = TROIKA_LOSS_MEAN_SQUARED_ERROR;
  options.ignore_index = 3;
  expect_refused(troika_model_attach(model_, &kCpu0, 1, &options, &trainer_, &error_), kInvalid,
                 "options.ignore_index is set, needs options.loss TROIKA_LOSS_CROSS_ENTROPY");
  options = TROIKA_TRAINER_OPTIONS_INIT;
  options.label_smoothing = 1;
  expect_refused(troika_model_attach(model_, &kCpu0, 1, &options, &trainer_, &error_), kInvalid,
                 "options.label_smoothing is 1, need at least 0 and below 1");
}

}  // namespace
}  // namespace troika::test
