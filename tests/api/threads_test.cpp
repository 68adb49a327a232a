// A second thread at the same object gets BUSY, different objects work independently, and another
// thread can stop a running call.
#include <atomic>
#include <functional>
#include <semaphore>
#include <thread>

#include "api/api_test.h"

namespace troika::test {
namespace {

class Threads : public ApiTest {};

// Holds the thread that trains or evaluates in its progress callback, until it is released.
struct Gate {
  std::binary_semaphore reached{0}, open{0};
  int32_t answer = 0;
  std::atomic<int> calls{0};
  static int32_t wait(const troika_progress*, void* user) {
    auto& gate = *static_cast<Gate*>(user);
    if (gate.calls++ == 0) {
      gate.reached.release();
      gate.open.acquire();
    }
    return gate.answer;
  }
};

TEST_F(Threads, are_told_that_a_trainer_is_busy) {
  make_trainer();
  tensor_ = make_tensor(TROIKA_DTYPE_F32, {2, 1, 4, 4});
  Gate gate;
  expect_ok(troika_trainer_set_progress(trainer_, Gate::wait, &gate, nullptr, &error_));
  troika_status trained = -99;
  std::thread other([&] { trained = troika_trainer_train_epoch(trainer_, loader_, nullptr, nullptr); });
  gate.reached.acquire();

  float values[48];
  double rate = 0;
  char text[8];
  troika_memory_info memory = TROIKA_MEMORY_INFO_INIT;
  troika_tensor output = garbage<troika_tensor>();
  troika_model model = garbage<troika_model>();
  troika_trainer newer = garbage<troika_trainer>();
  troika_batch batch = garbage<troika_batch>(), own = nullptr;
  troika_tensor labels = make_tensor(TROIKA_DTYPE_I32, {2});
  expect_ok(troika_batch_create(tensor_, labels, &own, &error_));
  troika_tensor_destroy(labels);
  const std::function<troika_status()> calls[] = {
      [&] { return troika_trainer_step(trainer_, own, nullptr, &error_); },
      [&] { return troika_trainer_set_progress(trainer_, nullptr, nullptr, nullptr, &error_); },
      [&] { return troika_trainer_train_epoch(trainer_, loader_, nullptr, &error_); },
      [&] { return troika_trainer_evaluate(trainer_, loader_, nullptr, &error_); },
      [&] { return troika_trainer_predict(trainer_, tensor_, &output, &error_); },
      [&] { return troika_trainer_set_learning_rate(trainer_, -1, 0.5, &error_); },
      [&] { return troika_trainer_set_option(trainer_, -1, TROIKA_OPTION_MOMENTUM, 0, &error_); },
      [&] { return troika_trainer_get_option(trainer_, -1, TROIKA_OPTION_MOMENTUM, &rate, &error_); },
      [&] { return troika_trainer_report_metric(trainer_, 1, &error_); },
      [&] { return troika_trainer_save_average(trainer_, "average", &error_); },
      [&] { return troika_trainer_get_learning_rate(trainer_, -1, &rate, &error_); },
      [&] { return troika_trainer_get_parameter(trainer_, "fc.weight", kCpu0, values, 192, &error_); },
      [&] { return troika_trainer_get_gradient(trainer_, "fc.weight", values, 192, &error_); },
      [&] { return troika_trainer_check_replicas(trainer_, &error_); },
      [&] { return troika_trainer_save(trainer_, "/nowhere/state", &error_); },
      [&] { return troika_trainer_load(trainer_, "/nowhere/state", nullptr, &error_); },
      [&] { return troika_trainer_unwrap(trainer_, &model, &error_); },
      [&] { return troika_trainer_memory(trainer_, 0, &memory, &error_); },
      [&] { return troika_trainer_explain(trainer_, 2, text, sizeof text, nullptr, &error_); },
      [&] { return troika_trainer_trace(trainer_, text, sizeof text, nullptr, &error_); },
      [&] { return troika_trainer_save_trace(trainer_, "/nowhere/step.json", &error_); },
      [&] { return troika_model_get_parameter(model_, "fc.weight", values, 192, &error_); },
      [&] { return troika_model_set_parameter(model_, "fc.weight", values, 192, &error_); },
      [&] { return troika_model_save(model_, "/nowhere/weights", &error_); },
      [&] { return troika_model_attach(model_, &kCpu0, 1, nullptr, &newer, &error_); },
      [&] { return troika_loader_next(loader_, &batch, &error_); },
  };
  for (size_t i = 0; i < std::size(calls); ++i) {
    SCOPED_TRACE(i);
    expect_refused(calls[i](), TROIKA_ERROR_BUSY, "thread");
  }
  EXPECT_EQ(output, nullptr);
  EXPECT_EQ(model, nullptr);
  EXPECT_EQ(newer, nullptr);
  EXPECT_EQ(batch, nullptr);

  gate.open.release();
  other.join();
  EXPECT_EQ(trained, TROIKA_OK);
  expect_ok(troika_trainer_set_progress(trainer_, nullptr, nullptr, nullptr, &error_));
  expect_ok(troika_trainer_step(trainer_, own, nullptr, &error_));
  troika_batch_destroy(own);
}

TEST_F(Threads, stop_a_call_of_another) {
  make_model();
  make_loader(400, 4);
  expect_ok(troika_model_attach(model_, &kCpu0, 1, nullptr, &trainer_, &error_));
  for (bool trains : {true, false}) {
    Gate gate;
    expect_ok(troika_trainer_set_progress(trainer_, Gate::wait, &gate, nullptr, &error_));
    troika_metrics metrics = TROIKA_METRICS_INIT;
    troika_status status = -99;
    std::thread other([&] {
      status = trains ? troika_trainer_train_epoch(trainer_, loader_, &metrics, nullptr)
                      : troika_trainer_evaluate(trainer_, loader_, &metrics, nullptr);
    });
    gate.reached.acquire();
    expect_ok(troika_trainer_request_stop(trainer_, &error_));
    gate.open.release();
    other.join();
    EXPECT_EQ(status, TROIKA_STOPPED);
    EXPECT_EQ(metrics.samples, 4) << "reports the work until the stop";
    EXPECT_EQ(gate.calls, 1);
    troika_loader_position position = TROIKA_LOADER_POSITION_INIT;
    expect_ok(troika_loader_tell(loader_, &position, &error_));
    EXPECT_EQ(position.batch, 1) << "the loader is after the last batch";
  }
  expect_ok(troika_trainer_set_progress(trainer_, nullptr, nullptr, nullptr, &error_));
  expect_ok(step());
}

TEST_F(Threads, stop_the_next_call_where_none_runs) {
  make_trainer();
  expect_ok(troika_trainer_request_stop(trainer_, &error_));
  const std::vector<float> before = weights();
  EXPECT_EQ(step(), TROIKA_STOPPED);
  EXPECT_EQ(error_.status, TROIKA_OK) << "being stopped is no error";
  EXPECT_EQ(weights(), before);
  expect_ok(step());
}

TEST_F(Threads, callbacks_stop_a_call_and_may_not_reenter) {
  make_trainer();
  struct Answers {
    troika_trainer trainer;
    std::vector<troika_status> statuses;
    int calls = 0;
  } answers{trainer_, {}};
  const auto callback = [](const troika_progress* progress, void* user) -> int32_t {
    auto& a = *static_cast<Answers*>(user);
    a.statuses.push_back(troika_trainer_check_replicas(a.trainer, nullptr));
    EXPECT_EQ(progress->batch, ++a.calls);
    EXPECT_EQ(progress->batches, 3);
    return a.calls == 2 ? -5 : 0;
  };
  expect_ok(troika_trainer_set_progress(trainer_, callback, &answers, nullptr, &error_));
  troika_metrics metrics = TROIKA_METRICS_INIT;
  EXPECT_EQ(troika_trainer_train_epoch(trainer_, loader_, &metrics, &error_), TROIKA_STOPPED);
  EXPECT_EQ(metrics.samples, 8);
  answers.calls = 0;
  EXPECT_EQ(troika_trainer_evaluate(trainer_, loader_, &metrics, &error_), TROIKA_STOPPED);
  EXPECT_EQ(metrics.samples, 8);
  for (troika_status status : answers.statuses) EXPECT_EQ(status, TROIKA_ERROR_BUSY);
  EXPECT_EQ(answers.statuses.size(), 4u);
}

TEST_F(Threads, are_told_that_a_callback_may_be_the_call_in_progress) {
  make_trainer();
  struct Call {
    troika_trainer trainer;
    troika_model model;
    troika_error trainer_error, model_error;
  } call{trainer_, model_, {}, {}};
  const auto callback = [](const troika_progress*, void* user) -> int32_t {
    auto& c = *static_cast<Call*>(user);
    float values[48];
    EXPECT_EQ(troika_trainer_check_replicas(c.trainer, &c.trainer_error), TROIKA_ERROR_BUSY);
    EXPECT_EQ(troika_model_get_parameter(c.model, "fc.weight", values, sizeof values, &c.model_error),
              TROIKA_ERROR_BUSY);
    return 1;
  };
  expect_ok(troika_trainer_set_progress(trainer_, callback, &call, nullptr, &error_));
  EXPECT_EQ(troika_trainer_train_epoch(trainer_, loader_, nullptr, &error_), TROIKA_STOPPED);
  EXPECT_STREQ(
      call.trainer_error.message,
      "troika_trainer_check_replicas: another call of this trainer is in progress (perhaps on this thread, in a "
      "callback)");
  EXPECT_STREQ(call.model_error.message,
               "model 'net': another call of its trainer is in progress (perhaps on this thread, in a callback)");
}

// Trains in a separate context. Returns the loss of every step.
std::vector<double> train_alone(uint64_t seed) {
  troika_error error{};
  troika_context_options options = TROIKA_CONTEXT_OPTIONS_INIT;
  options.seed = seed;
  options.cpu_threads = 2;
  troika_context context = nullptr;
  troika_model model = nullptr;
  troika_dataset dataset = nullptr;
  troika_loader loader = nullptr;
  troika_trainer trainer = nullptr;
  const int64_t image[] = {1, 28, 28};
  const troika_device devices[] = {kCpu0, kCpu1};
  troika_loader_options batches = TROIKA_LOADER_OPTIONS_INIT;
  batches.batch = 8;
  std::vector<double> losses;
  EXPECT_EQ(troika_context_create(&options, &context, &error), TROIKA_OK) << error.message;
  EXPECT_EQ(troika_model_create(context, "d2l_lenet", nullptr, &model, &error), TROIKA_OK) << error.message;
  EXPECT_EQ(troika_dataset_create_synthetic(context, image, 3, 80, 10, seed, &dataset, &error), TROIKA_OK)
      << error.message;
  EXPECT_EQ(troika_loader_create(dataset, &batches, &loader, &error), TROIKA_OK) << error.message;
  EXPECT_EQ(troika_model_attach(model, devices, 2, nullptr, &trainer, &error), TROIKA_OK) << error.message;
  for (int i = 0; i < 10; ++i) {
    troika_batch batch = nullptr;
    troika_step_result result = TROIKA_STEP_RESULT_INIT;
    EXPECT_EQ(troika_loader_next(loader, &batch, &error), TROIKA_OK) << error.message;
    EXPECT_EQ(troika_trainer_step(trainer, batch, &result, &error), TROIKA_OK) << error.message;
    losses.push_back(result.loss);
  }
  troika_trainer_destroy(trainer);
  troika_loader_destroy(loader);
  troika_dataset_destroy(dataset);
  troika_model_destroy(model);
  troika_context_destroy(context);
  return losses;
}

TEST_F(Threads, train_in_two_contexts_at_once_as_they_would_alone) {
  const std::vector<double> first = train_alone(1), second = train_alone(2);
  EXPECT_NE(first, second);
  std::vector<double> first_beside, second_beside;
  std::thread a([&] { first_beside = train_alone(1); }), b([&] { second_beside = train_alone(2); });
  a.join();
  b.join();
  EXPECT_EQ(first_beside, first);
  EXPECT_EQ(second_beside, second);
}

}  // namespace
}  // namespace troika::test
