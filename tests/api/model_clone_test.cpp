// Clones of a model: values that are shared, calls that are not, and trainers.
#include <atomic>
#include <thread>

#include "api/api_test.h"
#include "support/temp_directory.h"

namespace troika::test {
namespace {

class ModelCloneApi : public ApiTest {
 protected:
  void TearDown() override {
    troika_model_destroy(clone_);
    ApiTest::TearDown();
  }

  void make_clone() { expect_ok(troika_model_clone(model_, &clone_, &error_)); }

  std::vector<float> predict(troika_model model) {
    const std::vector<float> inputs(16, 0.5f);
    std::vector<float> output(3);
    expect_ok(troika_model_predict_into(model, kCpu0, inputs.data(), 1, nullptr, output.data(), 12, &error_));
    return output;
  }

  std::string print(troika_model model) {
    std::string text(2000, '\0');
    int64_t size = 0;
    expect_ok(troika_model_print(model, text.data(), 2000, &size, &error_));
    return text.substr(0, static_cast<size_t>(size) - 1);
  }

  troika_model clone_ = nullptr;
};

TEST_F(ModelCloneApi, predicts_while_another_clone_trains_which_is_never_busy) {
  make_trainer();
  make_clone();
  std::atomic<bool> ends{false};
  std::atomic<int> predictions{0};
  std::thread server([&] {
    const std::vector<float> inputs(16, 0.5f);
    std::vector<float> output(3);
    while (!ends) {
      const troika_status status =
          troika_model_predict_into(clone_, kCpu0, inputs.data(), 1, nullptr, output.data(), 12, nullptr);
      predictions += status == TROIKA_OK;
      EXPECT_TRUE(status == TROIKA_OK || status == TROIKA_ERROR_BUSY) << status;
    }
  });
  for (int epoch = 0; epoch < 300; ++epoch) {
    ASSERT_EQ(troika_trainer_train_epoch(trainer_, loader_, nullptr, &error_), TROIKA_OK) << error_.message;
    double rate = 0;
    ASSERT_EQ(troika_trainer_get_learning_rate(trainer_, -1, &rate, &error_), TROIKA_OK) << error_.message;
    if (epoch == 299 && predictions == 0) epoch = 0;  // until they have met
  }
  ends = true;
  server.join();
  EXPECT_GT(predictions, 0);
}

TEST_F(ModelCloneApi, shares_values_both_ways) {
  make_model();
  make_clone();
  float bias[] = {1, 2, 3}, found[3];
  expect_refused(troika_model_get_parameter(clone_, "fc.bias", found, 12, &error_), TROIKA_ERROR_NOT_INITIALIZED,
                 "fc.bias");
  expect_ok(troika_model_initialize_default(clone_, 3, &error_));
  expect_ok(troika_model_set_parameter(model_, "fc.bias", bias, 12, &error_));
  expect_ok(troika_model_get_parameter(clone_, "fc.bias", found, 12, &error_));
  EXPECT_EQ(found[2], 3);
  EXPECT_EQ(predict(clone_), predict(model_));
  bias[0] = 100;
  expect_ok(troika_model_set_parameter(clone_, "fc.bias", bias, 12, &error_));
  EXPECT_EQ(predict(clone_), predict(model_));
  EXPECT_GT(predict(model_)[0], 50);
  EXPECT_EQ(print(clone_), print(model_));

  const TempDirectory folder;
  const std::string file = (folder.path() / "weights").string();
  expect_ok(troika_model_save(clone_, file.c_str(), &error_));
  expect_ok(troika_model_initialize_default(model_, 8, &error_));
  const auto before = predict(clone_);
  expect_ok(troika_model_load(model_, file.c_str(), nullptr, nullptr, &error_));
  EXPECT_NE(predict(clone_), before);
  EXPECT_GT(predict(clone_)[0], 50);

  troika_model second = nullptr;
  expect_ok(troika_model_clone(clone_, &second, &error_));
  troika_model_destroy(model_);
  model_ = nullptr;
  troika_model_destroy(clone_);
  clone_ = nullptr;
  EXPECT_GT(predict(second)[0], 50) << "outlives the models that it was made from";
  troika_model_destroy(second);
}

TEST_F(ModelCloneApi, is_refused) {
  troika_model unfinished = nullptr;
  clone_ = garbage<troika_model>();
  expect_ok(troika_model_create_empty(context_, "unfinished", &unfinished, &error_));
  expect_refused(troika_model_clone(unfinished, &clone_, &error_), kInvalid, "model 'unfinished': has no output yet");
  EXPECT_EQ(clone_, nullptr);
  expect_refused(troika_model_clone(nullptr, &clone_, &error_), kInvalid, "argument 'model' is NULL");
  expect_refused(troika_model_clone(cast<troika_model>(context_), &clone_, &error_), kInvalid, "not a live handle");
  expect_refused(troika_model_clone(unfinished, nullptr, &error_), kInvalid, "argument 'out_clone' is NULL");
  troika_model_destroy(unfinished);
}

TEST_F(ModelCloneApi, predicts_the_newest_values_of_a_trainer_between_steps) {
  make_trainer();
  make_clone();
  std::vector<float> last = predict(clone_);
  for (int i = 0; i < 3; ++i) {
    expect_ok(step());
    const std::vector<float> now = predict(clone_);
    EXPECT_NE(now, last);
    EXPECT_EQ(now, predict(model_));
    std::vector<float> values(48);
    expect_ok(troika_model_get_parameter(clone_, "fc.weight", values.data(), 192, &error_));
    EXPECT_EQ(values, weights());
    last = now;
  }
  // The trainer takes a value that the clone gets.
  const float bias[] = {50, 0, 0};
  expect_ok(troika_model_set_parameter(clone_, "fc.bias", bias, 12, &error_));
  float found[3];
  expect_ok(step());
  expect_ok(troika_trainer_get_parameter(trainer_, "fc.bias", kCpu1, found, 12, &error_));
  EXPECT_NEAR(found[0], 50, 5);
}

TEST_F(ModelCloneApi, is_busy_while_a_step_runs) {
  make_trainer();
  make_clone();
  struct Call {
    troika_model models[2];
    int busy = 0, calls = 0;
  } call{{model_, clone_}};
  const auto callback = [](const troika_progress*, void* user) -> int32_t {
    auto& c = *static_cast<Call*>(user);
    const float inputs[16]{};
    float output[3];
    for (troika_model model : c.models) {
      ++c.calls;
      c.busy += troika_model_predict_into(model, kCpu0, inputs, 1, nullptr, output, 12, nullptr) == TROIKA_ERROR_BUSY;
    }
    return 0;
  };
  expect_ok(troika_trainer_set_progress(trainer_, callback, &call, nullptr, &error_));
  expect_ok(troika_trainer_train_epoch(trainer_, loader_, nullptr, &error_));
  EXPECT_EQ(call.calls, 6);
  EXPECT_EQ(call.busy, 6);
  EXPECT_EQ(predict(clone_), predict(model_));
}

TEST_F(ModelCloneApi, takes_the_parameters_when_it_is_attached) {
  make_trainer();
  make_clone();
  expect_ok(step());
  const std::vector<float> trained = weights();
  troika_trainer other = nullptr;
  expect_ok(troika_model_attach(clone_, &kCpu0, 1, nullptr, &other, &error_));
  EXPECT_EQ(weights(), trained) << "the values of the first trainer are kept";
  expect_refused(step(), TROIKA_ERROR_DETACHED, "was attached again");
  troika_batch batch = nullptr;
  const troika_status status = troika_loader_next(loader_, &batch, &error_);
  if (status == TROIKA_END_OF_DATA) expect_ok(troika_loader_next(loader_, &batch, &error_));
  expect_ok(troika_trainer_step(other, batch, nullptr, &error_));
  EXPECT_NE(weights(), trained) << "through the model that it was cloned from";
  EXPECT_EQ(predict(clone_), predict(model_));
  troika_trainer_destroy(other);
  EXPECT_EQ(predict(clone_), predict(model_));
  expect_refused(step(), TROIKA_ERROR_DETACHED, "was attached again");
}

}  // namespace
}  // namespace troika::test
