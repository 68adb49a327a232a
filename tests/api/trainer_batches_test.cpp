// troika_trainer_evaluate_batch, predict_batch and predict_loader, and batches without targets.
#include <atomic>
#include <cmath>
#include <functional>
#include <list>
#include <thread>
#include <utility>

#include "api/api_test.h"
#include "api/host_source.h"

namespace troika::test {
namespace {

class TrainerBatches : public ApiTest {
 protected:
  void TearDown() override {
    troika_batch_destroy(batch_);
    ApiTest::TearDown();
  }

  void attach(int32_t devices, int32_t reduction = TROIKA_REDUCTION_MEAN, int32_t loss = TROIKA_LOSS_CROSS_ENTROPY) {
    troika_trainer_destroy(std::exchange(trainer_, nullptr));
    troika_model_destroy(std::exchange(model_, nullptr));
    make_model();
    expect_ok(troika_model_initialize(model_, nullptr, TROIKA_INIT_UNIFORM, 0.3, 5, &error_));
    const troika_device all[] = {kCpu0, kCpu1, kCpu2};
    troika_trainer_options options = TROIKA_TRAINER_OPTIONS_INIT;
    options.reduction = reduction;
    options.loss = loss;
    expect_ok(troika_model_attach(model_, all, devices, &options, &trainer_, &error_));
  }

  void load(troika_dataset dataset, const std::function<void(troika_loader_options&)>& change) {
    troika_loader_destroy(std::exchange(loader_, nullptr));
    troika_dataset_destroy(std::exchange(dataset_, dataset));
    troika_loader_options options = TROIKA_LOADER_OPTIONS_INIT;
    options.batch = 4;
    change(options);
    expect_ok(troika_loader_create(dataset_, &options, &loader_, &error_));
  }

  // Predicts the rest of the loader's epoch by troika_trainer_predict, one batch after another.
  std::vector<float> predict_by_tensors() {
    std::vector<float> outputs;
    troika_batch batch = nullptr;
    while (troika_loader_next(loader_, &batch, &error_) == TROIKA_OK) {
      troika_batch_info info = TROIKA_BATCH_INFO_INIT;
      EXPECT_EQ(troika_batch_describe(batch, &info, &error_), TROIKA_OK);
      const std::vector<float> found = predict(info);
      outputs.insert(outputs.end(), found.begin(), found.end());
    }
    return outputs;
  }

  std::vector<float> predict(const troika_batch_info& info) {
    troika_tensor input = make_tensor(TROIKA_DTYPE_F32, {info.n, 1, 4, 4}, info.inputs), output = nullptr;
    EXPECT_EQ(troika_trainer_predict(trainer_, input, &output, &error_), TROIKA_OK) << error_.message;
    std::vector<float> found(static_cast<size_t>(info.n) * 3);
    EXPECT_EQ(troika_tensor_to_host(output, found.data(), static_cast<int64_t>(found.size() * 4), &error_), TROIKA_OK);
    troika_tensor_destroy(input);
    troika_tensor_destroy(output);
    return found;
  }

  // Makes batch_ of the first `n` samples of the host, with labels or without.
  void make_batch(const HostSource& host, int64_t n, bool has_labels) {
    troika_batch_destroy(std::exchange(batch_, nullptr));
    troika_tensor inputs = make_tensor(TROIKA_DTYPE_F32, {n, 1, 4, 4}, host.inputs.data());
    troika_tensor labels = has_labels ? make_tensor(TROIKA_DTYPE_I32, {n}, host.labels.data()) : nullptr;
    expect_ok(troika_batch_create(inputs, labels, &batch_, &error_));
    troika_tensor_destroy(inputs);
    troika_tensor_destroy(labels);
  }

  troika_loader_position tell() {
    troika_loader_position position = TROIKA_LOADER_POSITION_INIT;
    EXPECT_EQ(troika_loader_tell(loader_, &position, &error_), TROIKA_OK);
    return position;
  }

  std::list<HostSource> hosts_;  // end after the datasets
  troika_batch batch_ = nullptr;
};

TEST_F(TrainerBatches, predict_an_epoch_with_the_bits_of_its_batches) {
  const double weights[23] = {1, 2, 3, 4, 5, 0, 0, 8};
  const std::function<void(troika_loader_options&)> changes[] = {
      [](auto&) {}, [](auto& o) { o.shuffle = 1; }, [](auto& o) { o.drop_last = 1; },
      [](auto& o) { o.prefetch = 0, o.batch = 23; }, [&](auto& o) { o.weights = weights, o.epoch_samples = 9; }};
  for (const int32_t devices : {1, 2, 3}) {
    attach(devices);
    for (const auto& change : changes) {
      const HostSource& host = hosts_.emplace_back(23, false, 9);
      load(host.arrays(context_), change);
      const std::vector<float> expected = predict_by_tensors();
      const troika_loader_position start = {sizeof start, 0, 0, 1, 0};
      expect_ok(troika_loader_seek(loader_, &start, &error_));
      std::vector<float> output(expected.size() + 1, -77.0f);
      int64_t samples = -1;
      const auto bytes = static_cast<int64_t>(expected.size() * sizeof(float));
      expect_ok(troika_trainer_predict_loader(trainer_, loader_, output.data(), bytes, &samples, &error_));
      EXPECT_EQ(samples, static_cast<int64_t>(expected.size()) / 3);
      EXPECT_EQ(output.back(), -77.0f);
      output.pop_back();
      EXPECT_EQ(output, expected);
      EXPECT_EQ(tell().epoch, 1);
      EXPECT_EQ(tell().batch, 0);
      std::vector<float> untouched(expected.size(), -77.0f);
      expect_refused(troika_trainer_predict_loader(trainer_, loader_, untouched.data(), bytes - 1, nullptr, &error_),
                     kInvalid, "size_bytes is " + std::to_string(bytes - 1));
      EXPECT_EQ(untouched, std::vector<float>(expected.size(), -77.0f));
      EXPECT_EQ(tell().epoch, 1);
    }
  }
}

TEST_F(TrainerBatches, predict_a_stream) {
  attach(2);
  for (const int64_t n : {8, 23}) {
    HostSource& host = hosts_.emplace_back(n, true);
    load(host.arrays(context_), [](auto&) {});
    const std::vector<float> expected = predict_by_tensors();
    const troika_source source = host.source();
    troika_dataset stream = nullptr;
    expect_ok(troika_dataset_create_callback(context_, &source, &stream, &error_));
    load(stream, [](auto&) {});
    std::vector<float> output(expected.size() + 30, -77.0f);
    int64_t samples = -1;
    expect_ok(troika_trainer_predict_loader(trainer_, loader_, output.data(),
                                            static_cast<int64_t>(output.size() * sizeof(float)), &samples, &error_));
    EXPECT_EQ(samples, n);
    EXPECT_EQ(std::vector<float>(output.begin(), output.begin() + 3 * n), expected);
    EXPECT_EQ(output[static_cast<size_t>(3 * n)], -77.0f);
    expect_refused(troika_trainer_predict_loader(trainer_, loader_, output.data(), 7 * 12, &samples, &error_), kInvalid,
                   "predict: the output has room for 7 samples, the loader has 8 up to batch 1");
    load(host.arrays(context_), [](auto&) {});
  }
}

TEST_F(TrainerBatches, predict_samples_without_targets) {
  const HostSource& host = hosts_.emplace_back(11, false);
  attach(2);
  const int64_t dims[] = {1, 4, 4};
  troika_arrays arrays = TROIKA_ARRAYS_INIT;
  arrays.inputs = host.inputs.data();
  arrays.dims = dims;
  arrays.rank = 3;
  arrays.n = 11;
  arrays.borrow = 1;
  troika_dataset dataset = nullptr;
  expect_ok(troika_dataset_create_from(context_, &arrays, &dataset, &error_));
  load(dataset, [](auto&) {});
  std::vector<float> output(33);
  expect_ok(troika_trainer_predict_loader(trainer_, loader_, output.data(), 33 * 4, nullptr, &error_));
  const std::vector<float> before = weights();
  for (const auto& call : {troika_trainer_train_epoch, troika_trainer_evaluate})
    expect_refused(call(trainer_, loader_, nullptr, &error_), kInvalid,
                   "batch: has no targets, cross-entropy needs labels");
  EXPECT_EQ(weights(), before);
  attach(2, TROIKA_REDUCTION_MEAN, TROIKA_LOSS_MEAN_SQUARED_ERROR);
  expect_refused(troika_trainer_train_epoch(trainer_, loader_, nullptr, &error_), kInvalid,
                 "batch: has no targets, loss mean_squared_error on model 'net' needs 3 values a sample");
}

TEST_F(TrainerBatches, predict_one) {
  const HostSource& host = hosts_.emplace_back(7, false);
  for (const int32_t devices : {1, 3}) {
    attach(devices);
    for (const int64_t n : {1, 2, 7})
      for (const bool has_labels : {false, true}) {
        make_batch(host, n, has_labels);
        troika_batch_info info = TROIKA_BATCH_INFO_INIT;
        expect_ok(troika_batch_describe(batch_, &info, &error_));
        std::vector<float> output(static_cast<size_t>(3 * n));
        expect_ok(troika_trainer_predict_batch(trainer_, batch_, output.data(), 12 * n, &error_));
        EXPECT_EQ(output, predict(info));
        for (const int64_t wrong : {12 * n - 1, 12 * n + 1, int64_t{-1}, int64_t{0}})
          expect_refused(troika_trainer_predict_batch(trainer_, batch_, output.data(), wrong, &error_), kInvalid,
                         "size_bytes is " + std::to_string(wrong) + ", " + std::to_string(n) + " samples of 12 bytes");
      }
  }
}

TEST_F(TrainerBatches, evaluate_one_as_an_epoch_of_it) {
  const HostSource& host = hosts_.emplace_back(7, false);
  for (const int32_t devices : {1, 2, 3})
    for (const int32_t reduction : {TROIKA_REDUCTION_MEAN, TROIKA_REDUCTION_SUM}) {
      attach(devices, reduction);
      load(host.arrays(context_), [](auto& o) { o.batch = 7; });
      troika_metrics metrics = TROIKA_METRICS_INIT;
      expect_ok(troika_trainer_evaluate(trainer_, loader_, &metrics, &error_));
      make_batch(host, 7, true);
      troika_step_result result = TROIKA_STEP_RESULT_INIT;
      result.step = 99;
      const std::vector<float> before = weights();
      expect_ok(troika_trainer_evaluate_batch(trainer_, batch_, &result, &error_));
      EXPECT_EQ(weights(), before);
      EXPECT_DOUBLE_EQ(result.loss, metrics.loss * (reduction == TROIKA_REDUCTION_SUM ? 7 : 1));
      EXPECT_EQ(result.samples, 7);
      EXPECT_EQ(result.labels, 7);
      EXPECT_EQ(result.correct, metrics.correct);
      EXPECT_EQ(result.step, 0);
      EXPECT_GE(result.seconds, 0);
    }
}

TEST_F(TrainerBatches, without_targets_are_only_predicted) {
  const HostSource& host = hosts_.emplace_back(4, false);
  attach(2);
  make_batch(host, 4, false);
  troika_step_result result = TROIKA_STEP_RESULT_INIT;
  expect_refused(troika_trainer_step(trainer_, batch_, nullptr, &error_), kInvalid,
                 "batch: has no targets, cross-entropy needs labels");
  expect_refused(troika_trainer_evaluate_batch(trainer_, batch_, &result, &error_), kInvalid, "batch: has no targets");
}

TEST_F(TrainerBatches, stop_on_request) {
  const HostSource& host = hosts_.emplace_back(9, false);
  attach(2);
  make_batch(host, 4, true);
  troika_step_result result = TROIKA_STEP_RESULT_INIT;
  expect_ok(troika_trainer_request_stop(trainer_, &error_));
  EXPECT_EQ(troika_trainer_evaluate_batch(trainer_, batch_, &result, &error_), TROIKA_STOPPED);
  expect_ok(troika_trainer_evaluate_batch(trainer_, batch_, &result, &error_));
  load(host.arrays(context_), [](auto&) {});
  std::vector<float> output(27);
  int64_t samples = -1;
  expect_ok(troika_trainer_request_stop(trainer_, &error_));
  EXPECT_EQ(troika_trainer_predict_loader(trainer_, loader_, output.data(), 27 * 4, &samples, &error_), TROIKA_STOPPED);
  EXPECT_EQ(samples, 0);
  std::vector<troika_progress> told;
  expect_ok(troika_trainer_set_progress(
      trainer_,
      [](const troika_progress* progress, void* user) {
        auto& all = *static_cast<std::vector<troika_progress>*>(user);
        all.push_back(*progress);
        return all.size() == 2 ? 1 : 0;
      },
      &told, nullptr, &error_));
  EXPECT_EQ(troika_trainer_predict_loader(trainer_, loader_, output.data(), 27 * 4, &samples, &error_), TROIKA_STOPPED);
  EXPECT_EQ(samples, 8);
  ASSERT_EQ(told.size(), 2u);
  EXPECT_EQ(told[1].batch, 2);
  EXPECT_EQ(told[1].batches, 3);
  EXPECT_EQ(told[1].samples, 8);
  EXPECT_EQ(told[1].batch_samples, 4);
  EXPECT_EQ(told[1].training, 0);
  EXPECT_EQ(told[1].loss, 0);
}

TEST_F(TrainerBatches, name_what_is_wrong) {
  const HostSource& host = hosts_.emplace_back(4, false);
  attach(1);
  make_batch(host, 4, true);
  load(host.arrays(context_), [](auto&) {});
  float output[12];
  troika_step_result result = TROIKA_STEP_RESULT_INIT, sizeless = TROIKA_STEP_RESULT_INIT;
  sizeless.struct_size = 0;
  expect_refused(troika_trainer_evaluate_batch(nullptr, batch_, &result, &error_), kInvalid, "'trainer' is NULL");
  expect_refused(troika_trainer_evaluate_batch(trainer_, nullptr, &result, &error_), kInvalid, "'batch' is NULL");
  expect_refused(troika_trainer_evaluate_batch(trainer_, batch_, nullptr, &error_), kInvalid, "'out_result' is NULL");
  expect_refused(troika_trainer_evaluate_batch(trainer_, batch_, &sizeless, &error_), kInvalid, "struct_size is 0");
  expect_refused(troika_trainer_predict_batch(trainer_, nullptr, output, 48, &error_), kInvalid, "'batch' is NULL");
  expect_refused(troika_trainer_predict_batch(trainer_, batch_, nullptr, 48, &error_), kInvalid, "'output' is NULL");
  expect_refused(troika_trainer_predict_loader(trainer_, nullptr, output, 48, nullptr, &error_), kInvalid,
                 "'loader' is NULL");
  expect_refused(troika_trainer_predict_loader(trainer_, loader_, nullptr, 48, nullptr, &error_), kInvalid,
                 "'output' is NULL");
  expect_refused(troika_trainer_predict_loader(trainer_, loader_, output, -1, nullptr, &error_), kInvalid,
                 "'size_bytes' is -1");
  tensor_ = make_tensor(TROIKA_DTYPE_F32, {2, 5});
  troika_batch other = nullptr;
  expect_ok(troika_batch_create(tensor_, nullptr, &other, &error_));
  expect_refused(troika_trainer_predict_batch(trainer_, other, output, 24, &error_), kInvalid,
                 "batch: inputs have shape [2, 5], model 'net' needs [batch, 1, 4, 4]");
  troika_batch_destroy(other);
}

TEST_F(TrainerBatches, take_one_call_at_a_time) {
  attach(1);
  HostSource& host = hosts_.emplace_back(8, false);
  std::atomic<bool> reached{false}, goes_on{false};
  host.look = [&](const troika_read_request&) {
    reached = true;
    while (!goes_on) std::this_thread::yield();
  };
  const troika_source source = host.source();
  troika_dataset dataset = nullptr;
  expect_ok(troika_dataset_create_callback(context_, &source, &dataset, &error_));
  load(dataset, [](auto& o) { o.prefetch = 0; });
  std::vector<float> output(24);
  std::thread other([&] {
    EXPECT_EQ(troika_trainer_predict_loader(trainer_, loader_, output.data(), 24 * 4, nullptr, nullptr), TROIKA_OK);
  });
  while (!reached) std::this_thread::yield();
  troika_step_result result = TROIKA_STEP_RESULT_INIT;
  troika_batch batch = nullptr;
  make_batch(host, 2, true);
  EXPECT_EQ(troika_trainer_evaluate_batch(trainer_, batch_, &result, &error_), TROIKA_ERROR_BUSY);
  EXPECT_EQ(troika_trainer_predict_batch(trainer_, batch_, output.data(), 24, &error_), TROIKA_ERROR_BUSY);
  EXPECT_EQ(troika_trainer_predict_loader(trainer_, loader_, output.data(), 96, nullptr, &error_), TROIKA_ERROR_BUSY);
  EXPECT_EQ(troika_loader_next(loader_, &batch, &error_), TROIKA_ERROR_BUSY);
  goes_on = true;
  other.join();
}

TEST_F(TrainerBatches, metrics_count_the_steps_that_were_skipped) {
  make_model();
  std::vector<float> images(5 * 16, 0.5f);
  images[2 * 16 + 3] = NAN;
  const int32_t labels[5] = {0, 1, 2, 0, 1};
  const int64_t dims[] = {1, 4, 4};
  expect_ok(troika_dataset_create_arrays(context_, images.data(), dims, 3, 5, labels, nullptr, 0, &dataset_, &error_));
  troika_loader_options batches = TROIKA_LOADER_OPTIONS_INIT;
  batches.batch = 1;
  expect_ok(troika_loader_create(dataset_, &batches, &loader_, &error_));
  troika_trainer_options options = TROIKA_TRAINER_OPTIONS_INIT;
  options.skip_not_finite = 1;
  expect_ok(troika_model_attach(model_, &kCpu0, 1, &options, &trainer_, &error_));
  troika_metrics metrics = TROIKA_METRICS_INIT;
  expect_ok(troika_trainer_train_epoch(trainer_, loader_, &metrics, &error_));
  EXPECT_EQ(metrics.skipped_steps, 1);
  EXPECT_EQ(metrics.samples, 4);
  EXPECT_TRUE(std::isfinite(metrics.loss));
  expect_ok(troika_trainer_evaluate(trainer_, loader_, &metrics, &error_));
  EXPECT_EQ(metrics.skipped_steps, 0);
}

}  // namespace
}  // namespace troika::test
