// The C functions of pending.h.
#include <troika/pending.h>

#include <atomic>
#include <thread>

#include "api/api_test.h"

namespace troika::test {
namespace {

class PendingApi : public ApiTest {
 protected:
  void SetUp() override {
    ApiTest::SetUp();
    make_trainer();
  }
  troika_batch next() {
    troika_batch batch = nullptr;
    if (troika_loader_next(loader_, &batch, &error_) == TROIKA_END_OF_DATA)
      expect_ok(troika_loader_next(loader_, &batch, &error_));
    return batch;
  }
  // Waits, and returns the result of the step.
  troika_step_result finish(troika_pending pending, troika_status expected = TROIKA_OK) {
    troika_step_result result = TROIKA_STEP_RESULT_INIT;
    EXPECT_EQ(troika_pending_wait(pending, -1, &result, &error_), expected) << error_.message;
    troika_pending_destroy(pending);
    return result;
  }
};

TEST_F(PendingApi, steps_compute_the_bits_of_steps_that_wait) {
  std::vector<double> losses;
  for (int i = 0; i < 5; ++i) {
    troika_step_result result = TROIKA_STEP_RESULT_INIT;
    expect_ok(troika_trainer_step(trainer_, next(), &result, &error_));
    losses.push_back(result.loss);
  }
  const std::vector<float> expected = weights();
  TearDown();
  trainer_ = nullptr, loader_ = nullptr, dataset_ = nullptr, tensor_ = nullptr, model_ = nullptr;
  SetUp();
  std::vector<troika_pending> steps(5);
  for (troika_pending& pending : steps)
    expect_ok(troika_trainer_step_async(trainer_, next(), nullptr, nullptr, &pending, &error_));
  for (size_t i = 0; i < steps.size(); ++i) {
    const troika_step_result result = finish(steps[i]);
    EXPECT_EQ(result.loss, losses[i]);
    EXPECT_EQ(result.step, static_cast<int64_t>(i) + 1);
  }
  EXPECT_EQ(weights(), expected);
}

TEST_F(PendingApi, callback_gets_what_the_step_returned_and_may_go_on) {
  struct Run {
    troika_trainer trainer;
    troika_batch batch;
    std::atomic<int> left{3};
    std::atomic<int64_t> last{0};
    std::atomic<int> wrong{0};
    static void TROIKA_CALL done(troika_status status, const troika_step_result* result, const troika_error* error,
                                 void* user) {
      Run& run = *static_cast<Run*>(user);
      run.wrong += status != TROIKA_OK || error->status != TROIKA_OK || result->step != run.last + 1;
      // The trainer is free: this is the end of its only step.
      double rate = 0;
      run.wrong += troika_trainer_get_learning_rate(run.trainer, -1, &rate, nullptr) != TROIKA_OK;
      if (run.left > 1 && troika_trainer_step_async(run.trainer, run.batch, done, user, nullptr, nullptr) != TROIKA_OK)
        ++run.wrong;
      run.last = result->step;
      --run.left;
      run.left.notify_all();
    }
  } run{.trainer = trainer_, .batch = nullptr};
  troika_batch_info info = TROIKA_BATCH_INFO_INIT;
  troika_batch loaders = next();
  expect_ok(troika_batch_describe(loaders, &info, &error_));
  troika_tensor x = make_tensor(TROIKA_DTYPE_F32, {info.dims, info.dims + info.rank}, info.inputs),
                labels = make_tensor(TROIKA_DTYPE_I32, {info.n}, info.labels);
  expect_ok(troika_batch_create(x, labels, &run.batch, &error_));
  troika_tensor_destroy(x);
  troika_tensor_destroy(labels);
  expect_ok(troika_trainer_step_async(trainer_, run.batch, Run::done, &run, nullptr, &error_));
  for (int left = run.left; left > 0; left = run.left) run.left.wait(left);
  EXPECT_EQ(run.wrong, 0);
  EXPECT_EQ(run.last, 3);
  troika_batch_destroy(run.batch);
}

TEST_F(PendingApi, other_calls_are_busy_until_the_steps_have_ended) {
  std::vector<troika_pending> steps;
  troika_status status = TROIKA_OK;
  while (true) {
    troika_pending pending = garbage<troika_pending>();
    status = troika_trainer_step_async(trainer_, next(), nullptr, nullptr, &pending, &error_);
    if (status != TROIKA_OK) {
      EXPECT_EQ(pending, nullptr);
      break;
    }
    steps.push_back(pending);
    ASSERT_LE(steps.size(), 100000u);
  }
  expect_refused(status, TROIKA_ERROR_BUSY, "64 steps are waiting");
  EXPECT_GE(steps.size(), 64u);
  double rate = 0;
  expect_refused(troika_trainer_get_learning_rate(trainer_, -1, &rate, &error_), TROIKA_ERROR_BUSY,
                 "another call of this trainer is in progress");
  int64_t ended = 0;
  for (troika_pending pending : steps) ended = finish(pending).step;
  EXPECT_EQ(ended, static_cast<int64_t>(steps.size()));
  expect_ok(troika_trainer_get_learning_rate(trainer_, -1, &rate, &error_));
}

TEST_F(PendingApi, poll_and_wait_tell_whether_a_step_has_ended) {
  troika_pending pending = nullptr;
  expect_ok(troika_trainer_step_async(trainer_, next(), nullptr, nullptr, &pending, &error_));
  int32_t is_done = -1;
  while (is_done != 1) {
    expect_ok(troika_pending_poll(pending, &is_done, &error_));
    const troika_status status = troika_pending_wait(pending, 0, nullptr, &error_);
    EXPECT_TRUE(status == TROIKA_OK || (is_done == 0 && status == TROIKA_ERROR_BUSY)) << status;
  }
  expect_ok(troika_pending_wait(pending, INT64_MAX, nullptr, &error_));
  expect_refused(troika_pending_poll(pending, nullptr, &error_), kInvalid, "'out_is_done' is NULL");
  expect_refused(troika_pending_poll(nullptr, &is_done, &error_), kInvalid, "'pending' is NULL");
  finish(pending);
}

TEST_F(PendingApi, a_refused_batch_is_the_status_of_its_step_alone) {
  troika_tensor x = make_tensor(TROIKA_DTYPE_F32, {2, 7}), labels = make_tensor(TROIKA_DTYPE_I32, {2});
  troika_batch wrong = nullptr;
  expect_ok(troika_batch_create(x, labels, &wrong, &error_));
  troika_tensor_destroy(x);
  troika_tensor_destroy(labels);
  troika_pending first = nullptr, second = nullptr;
  expect_ok(troika_trainer_step_async(trainer_, wrong, nullptr, nullptr, &first, &error_));
  expect_ok(troika_trainer_step_async(trainer_, next(), nullptr, nullptr, &second, &error_));
  troika_batch_destroy(wrong);
  troika_step_result result = TROIKA_STEP_RESULT_INIT;
  expect_refused(troika_pending_wait(first, -1, &result, &error_), kInvalid, "inputs have shape [2, 7]");
  EXPECT_EQ(result.step, 0);
  troika_pending_destroy(first);
  EXPECT_EQ(finish(second).step, 1);
}

TEST_F(PendingApi, a_stop_ends_the_next_step_and_may_be_taken_back) {
  expect_ok(troika_trainer_request_stop(trainer_, &error_));
  troika_pending pending = nullptr;
  expect_ok(troika_trainer_step_async(trainer_, next(), nullptr, nullptr, &pending, &error_));
  finish(pending, TROIKA_STOPPED);
  expect_ok(troika_trainer_request_stop(trainer_, &error_));
  expect_ok(troika_trainer_clear_stop(trainer_, &error_));
  expect_ok(troika_trainer_step_async(trainer_, next(), nullptr, nullptr, &pending, &error_));
  EXPECT_EQ(finish(pending).step, 1);
}

TEST_F(PendingApi, a_stop_ends_all_steps_that_wait) {
  // The first step is still compiled when the stop is requested, or has ended; the others wait.
  std::vector<troika_pending> steps(20);
  for (troika_pending& pending : steps)
    expect_ok(troika_trainer_step_async(trainer_, next(), nullptr, nullptr, &pending, &error_));
  expect_ok(troika_trainer_request_stop(trainer_, &error_));
  int64_t trained = 0;
  bool has_stopped = false;
  for (troika_pending pending : steps) {
    const troika_status status = troika_pending_wait(pending, -1, nullptr, &error_);
    EXPECT_EQ(status, has_stopped || status == TROIKA_STOPPED ? TROIKA_STOPPED : TROIKA_OK);
    has_stopped = has_stopped || status == TROIKA_STOPPED;
    trained += status == TROIKA_OK;
    troika_pending_destroy(pending);
  }
  expect_ok(troika_trainer_clear_stop(trainer_, &error_));  // if all had ended before the request
  troika_pending after = nullptr;
  expect_ok(troika_trainer_step_async(trainer_, next(), nullptr, nullptr, &after, &error_));
  EXPECT_EQ(finish(after).step, trained + 1);
}

TEST_F(PendingApi, the_trainer_ends_with_its_handle_once_the_step_has_ended) {
  for (int round = 0; round < 100; ++round) {
    std::atomic<int> ends{0};
    expect_ok(troika_trainer_set_progress(
        trainer_, [](const troika_progress*, void*) -> int32_t { return 0; }, &ends,
        [](void* user) { ++*static_cast<std::atomic<int>*>(user); }, &error_));
    troika_pending pending = nullptr;
    expect_ok(troika_trainer_step_async(trainer_, next(), nullptr, nullptr, &pending, &error_));
    finish(pending);
    troika_trainer_destroy(std::exchange(trainer_, nullptr));
    ASSERT_EQ(ends, 1) << "round " << round;
    expect_ok(troika_model_attach(model_, &kCpu0, 1, nullptr, &trainer_, &error_));
  }
}

// The callback of a step may wait for the thread that destroys the trainer.
TEST_F(PendingApi, destroying_a_trainer_does_not_wait_for_callbacks) {
  std::atomic<int> state{0};  // 1: the callback runs, 2: it may return, 3: it returns
  const auto done = [](troika_status, const troika_step_result*, const troika_error*, void* user) {
    auto& own = *static_cast<std::atomic<int>*>(user);
    own = 1;
    while (own != 2) std::this_thread::yield();
    own = 3;
  };
  expect_ok(troika_trainer_step_async(trainer_, next(), done, &state, nullptr, &error_));
  while (state != 1) std::this_thread::yield();
  troika_trainer_destroy(std::exchange(trainer_, nullptr));
  state = 2;
  while (state != 3) std::this_thread::yield();
}

TEST_F(PendingApi, handles_may_be_destroyed_while_steps_are_waiting) {
  std::atomic<int> ended{0};
  const auto done = [](troika_status, const troika_step_result*, const troika_error*, void* user) {
    ++*static_cast<std::atomic<int>*>(user);
  };
  for (int i = 0; i < 5; ++i) {
    troika_pending pending = nullptr;
    expect_ok(troika_trainer_step_async(trainer_, next(), done, &ended, i % 2 ? &pending : nullptr, &error_));
    troika_pending_destroy(pending);
  }
  troika_trainer_destroy(trainer_);
  trainer_ = nullptr;
  troika_loader_destroy(loader_);
  loader_ = nullptr;
  while (ended < 5) std::this_thread::yield();
}

}  // namespace
}  // namespace troika::test
