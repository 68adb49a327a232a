// Predictions of many threads on one model: their bits, the values that they take, and BUSY.
#include <troika/describe.h>

#include <atomic>
#include <random>
#include <thread>

#include "api/api_test.h"
#include "api/model_handle.h"
#include "support/temp_directory.h"
#include "support/test_seed.h"

namespace troika::test {
namespace {

class ModelPredictThreads : public ApiTest {
 protected:
  static constexpr int64_t kMostSamples = 70;
  static constexpr size_t kSample = 28 * 28, kClasses = 10;

  void make_lenet() {
    expect_ok(troika_model_create(context_, "d2l_lenet", nullptr, &model_, &error_));
    expect_ok(troika_model_initialize_default(model_, 1, &error_));
    std::mt19937 random{static_cast<uint32_t>(test_seed())};
    std::normal_distribution<float> normal;
    inputs_.resize(kMostSamples * kSample);
    for (float& value : inputs_) value = normal(random);
  }

  // Predicts from the sample `first` on. No shared state: for any thread.
  troika_status predict(troika_model model, troika_device device, size_t first, int64_t n, std::vector<float>& output,
                        troika_error* error = nullptr) {
    output.assign(static_cast<size_t>(n) * kClasses, 0);
    return troika_model_predict_into(model, device, inputs_.data() + first * kSample, n, nullptr, output.data(),
                                     static_cast<int64_t>(output.size() * sizeof(float)), error);
  }

  std::vector<float> inputs_;
};

TEST_F(ModelPredictThreads, have_the_bits_of_one_thread) {
  constexpr int kCallers = 8, kPredictions = 200;
  make_lenet();
  const int64_t sizes[] = {1, 2, 3, 5, 8, 1, 13, kMostSamples};
  std::vector<std::vector<float>> expected;
  for (int64_t n : sizes) expect_ok(predict(model_, kCpu0, 0, n, expected.emplace_back(), &error_));

  troika_model other = nullptr;  // other layouts of weights may be chosen first
  expect_ok(troika_model_create(context_, "d2l_lenet", nullptr, &other, &error_));
  expect_ok(troika_model_initialize_default(other, 1, &error_));
  std::atomic<int> wrong{0}, failed{0};
  std::vector<std::thread> callers;
  for (int number = 0; number < kCallers; ++number)
    callers.emplace_back([&, number] {
      std::vector<float> output;
      for (int i = 0; i < kPredictions; ++i) {
        const size_t which = static_cast<size_t>(number + i) % std::size(sizes);
        if (sizes[which] == kMostSamples && i % 5 != 0) continue;
        const troika_device device = i % 3 == 0 ? kCpu1 : kCpu0;
        if (predict(other, device, 0, sizes[which], output) != TROIKA_OK)
          ++failed;
        else
          wrong += output != expected[which];
      }
    });
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(failed, 0);
  EXPECT_EQ(wrong, 0);
  troika_model_destroy(other);
}

TEST_F(ModelPredictThreads, get_all_old_values_or_all_new_ones) {
  make_lenet();
  const TempDirectory folder;
  std::string files[2];
  std::vector<float> expected[2], of_sizes[2][3];
  const int64_t sizes[] = {1, 8, 30};  // whose kernels may want other layouts of weights
  for (int version : {0, 1}) {
    expect_ok(troika_model_initialize_default(model_, static_cast<uint64_t>(version + 1), &error_));
    expect_ok(predict(model_, kCpu0, 0, 3, expected[version], &error_));
    for (int i = 0; i < 3; ++i) expect_ok(predict(model_, kCpu0, 0, sizes[i], of_sizes[version][i], &error_));
    files[version] = (folder.path() / ("weights" + std::to_string(version))).string();
    expect_ok(troika_model_save(model_, files[version].c_str(), &error_));
  }
  ASSERT_NE(expected[0], expected[1]);
  troika_model clone = nullptr;
  expect_ok(troika_model_clone(model_, &clone, &error_));

  std::atomic<bool> is_over{false};
  std::atomic<int> wrong{0}, refused{0}, seen[2]{};
  std::vector<std::thread> callers;
  for (int number = 0; number < 4; ++number)
    callers.emplace_back([&, number] {
      std::vector<float> output;
      while (!is_over) {
        const troika_status status = predict(model_, number % 2 ? kCpu1 : kCpu0, 0, 3, output);
        if (status == TROIKA_ERROR_BUSY) continue;  // of the calls of the model itself below
        refused += status != TROIKA_OK;
        if (output == expected[0])
          ++seen[0];
        else if (output == expected[1])
          ++seen[1];
        else
          ++wrong;
      }
    });
  int busy = 0, loaded = 0;
  for (int i = 0; i < 60 || busy == 0 || loaded == 0; ++i) {
    EXPECT_EQ(troika_model_load(clone, files[i % 2].c_str(), nullptr, nullptr, &error_), TROIKA_OK) << error_.message;
    const troika_status status = troika_model_load(model_, files[i % 2].c_str(), nullptr, nullptr, &error_);
    EXPECT_TRUE(status == TROIKA_OK || status == TROIKA_ERROR_BUSY) << error_.message;
    (status == TROIKA_OK ? loaded : busy) += 1;
    if (i > 100 && loaded == 0) loaded = 1;  // predictions may leave no gap
    std::this_thread::yield();
  }
  is_over = true;
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(refused, 0);
  EXPECT_GT(busy, 0);
  EXPECT_GT(seen[0] + seen[1], 0);
  std::vector<float> output;
  for (int version : {1, 0}) {
    expect_ok(troika_model_load(clone, files[version].c_str(), nullptr, nullptr, &error_));
    expect_ok(predict(model_, kCpu1, 0, 3, output, &error_));
    EXPECT_EQ(output, expected[version]) << "the next prediction has the newest values";
    for (int i : {2, 0, 1}) {
      expect_ok(predict(model_, kCpu1, 0, sizes[i], output, &error_));
      EXPECT_EQ(output, of_sizes[version][i]);
    }
  }
  troika_model_destroy(clone);
}

TEST_F(ModelPredictThreads, make_other_calls_busy_and_the_other_way_round) {
  make_lenet();
  std::vector<float> output;
  expect_ok(predict(model_, kCpu0, 0, 1, output, &error_));
  Use& use = model_->object->model->busy();
  troika_model clone = garbage<troika_model>();
  troika_trainer trainer = garbage<troika_trainer>();
  troika_tensor tensor = make_tensor(TROIKA_DTYPE_F32, {1, 1, 28, 28}), result = garbage<troika_tensor>();
  float bias[kClasses]{};
  char text[8];
  const auto expect_busy = [&](troika_status status) { expect_refused(status, TROIKA_ERROR_BUSY, "in progress"); };

  ASSERT_TRUE(use.begin_together());  // as a prediction on another thread
  expect_busy(troika_model_set_parameter(model_, "fc2.bias", bias, sizeof bias, &error_));
  expect_busy(troika_model_initialize_default(model_, 1, &error_));
  expect_busy(troika_model_load(model_, "/nowhere/weights", nullptr, nullptr, &error_));
  expect_busy(troika_model_attach(model_, &kCpu0, 1, nullptr, &trainer, &error_));
  // Calls that only read the model are not in the way of each other.
  expect_ok(troika_model_get_parameter(model_, "fc2.bias", bias, sizeof bias, &error_));
  EXPECT_EQ(troika_model_save(model_, "/nowhere/weights", &error_), TROIKA_ERROR_IO);
  int64_t size = 0;
  expect_ok(troika_model_save_memory(model_, nullptr, 0, &size, &error_));
  troika_model other = nullptr;
  expect_ok(troika_model_clone(model_, &other, &error_));
  troika_model_destroy(other);
  troika_model_info info = TROIKA_MODEL_INFO_INIT;
  expect_ok(troika_model_describe(model_, &info, &error_));
  expect_ok(troika_model_print(model_, text, sizeof text, nullptr, &error_));
  expect_ok(troika_model_to_json(model_, text, sizeof text, nullptr, &error_));
  expect_ok(predict(model_, kCpu0, 0, 1, output, &error_));
  use.end_together();

  ASSERT_TRUE(use.begin_alone());  // as any other call on another thread
  expect_busy(predict(model_, kCpu0, 0, 1, output, &error_));
  expect_busy(troika_model_predict(model_, kCpu0, tensor, &result, &error_));
  expect_busy(troika_model_get_parameter(model_, "fc2.bias", bias, sizeof bias, &error_));
  expect_busy(troika_model_save(model_, "/nowhere/weights", &error_));
  expect_busy(troika_model_clone(model_, &clone, &error_));
  expect_busy(troika_model_print(model_, text, sizeof text, nullptr, &error_));
  use.end_alone();
  EXPECT_EQ(result, nullptr);
  EXPECT_EQ(clone, nullptr);
  expect_ok(predict(model_, kCpu0, 0, 1, output, &error_));
  troika_tensor_destroy(tensor);
}

TEST_F(ModelPredictThreads, leave_nothing_when_the_model_is_destroyed_under_way) {
  for (int round = 0; round < 3; ++round) {
    make_lenet();
    std::atomic<int> begun{0};
    std::vector<std::thread> callers;
    for (int number = 0; number < 3; ++number)
      callers.emplace_back([&, number] {
        troika_model own = nullptr;  // a handle of its own
        while (troika_model_clone(model_, &own, nullptr) == TROIKA_ERROR_BUSY) std::this_thread::yield();
        std::vector<float> output;
        ++begun;
        for (int i = 0; i < 10; ++i) EXPECT_EQ(predict(own, number ? kCpu0 : kCpu1, 0, 2, output), TROIKA_OK);
        troika_model_destroy(own);
      });
    while (begun < 3) std::this_thread::yield();
    troika_model_destroy(model_);
    model_ = nullptr;
    for (std::thread& caller : callers) caller.join();
  }
}

TEST_F(ModelPredictThreads, use_the_threads_that_the_context_allows) {
  for (int32_t threads : {0, -2, 3, INT32_MAX}) {
    troika_context_options options = TROIKA_CONTEXT_OPTIONS_INIT;
    options.cpu_threads = 2;
    options.predict_threads = threads;
    troika_context context = garbage<troika_context>();
    expect_refused(troika_context_create(&options, &context, &error_), kInvalid, "predict_threads is");
    EXPECT_EQ(context, nullptr);
  }
  for (int32_t threads : {1, 2}) {
    troika_context_options options = TROIKA_CONTEXT_OPTIONS_INIT;
    options.cpu_threads = 2;
    options.predict_threads = threads;
    troika_context context = nullptr;
    expect_ok(troika_context_create(&options, &context, &error_));
    expect_ok(troika_model_create(context, "d2l_lenet", nullptr, &model_, &error_));
    expect_ok(troika_model_initialize_default(model_, 1, &error_));
    inputs_.assign(kMostSamples * kSample, 0.5f);
    std::vector<float> alone;
    expect_ok(predict(model_, kCpu0, 0, 4, alone, &error_));
    std::vector<std::thread> callers;
    std::atomic<int> wrong{0};
    for (int number = 0; number < 4; ++number)
      callers.emplace_back([&] {
        std::vector<float> output;
        for (int i = 0; i < 10; ++i) wrong += predict(model_, kCpu0, 0, 4, output) != TROIKA_OK || output != alone;
      });
    for (std::thread& caller : callers) caller.join();
    EXPECT_EQ(wrong, 0);
    troika_model_destroy(model_);
    model_ = nullptr;
    troika_context_destroy(context);
  }
}

}  // namespace
}  // namespace troika::test
