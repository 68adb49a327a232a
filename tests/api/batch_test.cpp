// Batches of tensors that the caller has made.
#include <cmath>

#include "api/api_test.h"

namespace troika::test {
namespace {

class BatchApi : public ApiTest {};

TEST_F(BatchApi, needs_matching_tensors) {
  troika_tensor inputs = make_tensor(TROIKA_DTYPE_F32, {2, 4}), labels = make_tensor(TROIKA_DTYPE_I32, {2}),
                values = make_tensor(TROIKA_DTYPE_F32, {2, 3}), three = make_tensor(TROIKA_DTYPE_I32, {3}),
                flat = make_tensor(TROIKA_DTYPE_F32, {2});
  const int64_t too_wide[] = {1, int64_t{1} << 40};
  troika_tensor wide = make_tensor(TROIKA_DTYPE_I64, {2}, too_wide);
  troika_batch batch = garbage<troika_batch>();
  const auto refuse = [&](troika_tensor x, troika_tensor t, const std::string& message) {
    expect_refused(troika_batch_create(x, t, &batch, &error_), kInvalid, message);
    EXPECT_EQ(batch, nullptr);
    batch = garbage<troika_batch>();
  };
  refuse(nullptr, labels, "argument 'inputs' is NULL");
  refuse(inputs, cast<troika_tensor>(context_), "'targets' is not a live handle");
  refuse(cast<troika_tensor>(context_), labels, "'inputs' is not a live handle");
  refuse(labels, labels, "inputs are i32[2], need f32[n, ...]");
  refuse(flat, labels, "inputs are f32[2], need f32[n, ...]");
  refuse(inputs, three, "targets are i32[3], need i32[2, ...], i64 or u8, or f32[2, k]");
  refuse(inputs, wide, "label 1 is 1099511627776, needs a number of 32 bits");
  refuse(inputs, flat, "targets are f32[2]");
  expect_refused(troika_batch_create(inputs, labels, nullptr, &error_), kInvalid, "argument 'out_batch' is NULL");
  expect_ok(troika_batch_create(inputs, values, &batch, &error_));
  troika_batch_info info = TROIKA_BATCH_INFO_INIT;
  expect_ok(troika_batch_describe(batch, &info, &error_));
  EXPECT_EQ(info.value_size, 3);
  EXPECT_EQ(info.labels, nullptr);
  expect_refused(troika_batch_describe(batch, nullptr, &error_), kInvalid, "argument 'out_info' is NULL");
  expect_refused(troika_batch_describe(cast<troika_batch>(inputs), &info, &error_), kInvalid,
                 "'batch' is not a live handle");
  troika_batch_destroy(batch);
  for (troika_tensor t : {inputs, labels, values, three, flat, wide}) troika_tensor_destroy(t);
}

TEST_F(BatchApi, may_have_weights_of_its_samples) {
  const float numbers[] = {0.5f, 2}, bad[] = {1, -1}, infinite[] = {HUGE_VALF, 1};
  troika_tensor inputs = make_tensor(TROIKA_DTYPE_F32, {2, 1, 4, 4}), labels = make_tensor(TROIKA_DTYPE_I32, {2}),
                weights = make_tensor(TROIKA_DTYPE_F32, {2}, numbers), three = make_tensor(TROIKA_DTYPE_F32, {3}),
                negative = make_tensor(TROIKA_DTYPE_F32, {2}, bad),
                unbounded = make_tensor(TROIKA_DTYPE_F32, {2}, infinite);
  troika_batch batch = garbage<troika_batch>();
  const auto refuse = [&](troika_tensor w, const std::string& message) {
    expect_refused(troika_batch_create_weighted(inputs, labels, w, &batch, &error_), kInvalid, message);
    EXPECT_EQ(batch, nullptr);
    batch = garbage<troika_batch>();
  };
  refuse(nullptr, "argument 'weights' is NULL");
  refuse(three, "weights are f32[3], need f32[2]");
  refuse(labels, "weights are i32[2], need f32[2]");
  refuse(negative, "weights[1] is -1, need 0, or 1e-15 to 1e+15");
  refuse(unbounded, "weights[0] is inf");
  expect_refused(troika_batch_create_weighted(inputs, three, weights, &batch, &error_), kInvalid, "targets are f32[3]");
  expect_ok(troika_batch_create_weighted(inputs, labels, weights, &batch, &error_));
  troika_batch copy = nullptr;
  expect_ok(troika_batch_copy(batch, &copy, &error_));
  troika_batch_info info = TROIKA_BATCH_INFO_INIT;
  expect_ok(troika_batch_describe(copy, &info, &error_));
  ASSERT_NE(info.weights, nullptr);
  EXPECT_EQ(info.weights[1], 2);

  // A trainer that does not expect weights refuses the batch, and goes on.
  make_trainer();
  expect_refused(troika_trainer_step(trainer_, batch, nullptr, &error_), kInvalid,
                 "batch: its samples have weights, the trainer's sample_weights is 0; needs 1");
  troika_step_result result = TROIKA_STEP_RESULT_INIT;
  expect_refused(troika_trainer_evaluate_batch(trainer_, batch, &result, &error_), kInvalid, "sample_weights is 0");
  expect_ok(step());
  std::vector<float> outputs(6);
  expect_ok(troika_trainer_predict_batch(trainer_, batch, outputs.data(), 24, &error_));
  troika_batch_destroy(batch);
  troika_batch_destroy(copy);
  for (troika_tensor t : {inputs, labels, weights, three, negative, unbounded}) troika_tensor_destroy(t);
}

TEST_F(BatchApi, may_have_no_targets) {
  tensor_ = make_tensor(TROIKA_DTYPE_F32, {2, 4});
  troika_batch batch = nullptr;
  expect_ok(troika_batch_create(tensor_, nullptr, &batch, &error_));
  troika_batch_info info = TROIKA_BATCH_INFO_INIT;
  expect_ok(troika_batch_describe(batch, &info, &error_));
  EXPECT_EQ(info.n, 2);
  EXPECT_NE(info.inputs, nullptr);
  EXPECT_EQ(info.labels, nullptr);
  EXPECT_EQ(info.values, nullptr);
  EXPECT_EQ(info.label_size, 0);
  EXPECT_EQ(info.value_size, 0);
  troika_batch_destroy(batch);
}

TEST_F(BatchApi, of_a_loader_is_refused_once_the_loader_has_moved_past_it) {
  make_trainer();
  troika_batch_info info = TROIKA_BATCH_INFO_INIT;
  std::vector<troika_batch> batches;
  for (int i = 0; i < 50; ++i) {
    troika_batch batch = nullptr;
    while (troika_loader_next(loader_, &batch, &error_) == TROIKA_END_OF_DATA) {
    }
    batches.push_back(batch);
    EXPECT_EQ(troika_batch_describe(batch, &info, &error_), TROIKA_OK) << error_.message;
    for (size_t old = 0; old + 1 < batches.size(); ++old) {
      expect_refused(troika_batch_describe(batches[old], &info, &error_), kInvalid, "its loader moved past");
      if (old > 0) continue;
      expect_refused(troika_trainer_step(trainer_, batches[old], nullptr, &error_), kInvalid, "its loader moved past");
      troika_batch copy = garbage<troika_batch>();
      expect_refused(troika_batch_copy(batches[old], &copy, &error_), kInvalid, "its loader moved past");
      EXPECT_EQ(copy, nullptr);
    }
  }
}

TEST_F(BatchApi, can_be_copied_and_kept) {
  make_trainer();
  std::vector<troika_batch> copies;
  std::vector<std::vector<float>> inputs;
  troika_batch batch = nullptr;
  troika_batch_info info = TROIKA_BATCH_INFO_INIT;
  while (troika_loader_next(loader_, &batch, &error_) == TROIKA_OK) {
    expect_ok(troika_batch_describe(batch, &info, &error_));
    inputs.emplace_back(info.inputs, info.inputs + info.n * 16);
    expect_ok(troika_batch_copy(batch, &copies.emplace_back(), &error_));
  }
  ASSERT_GT(copies.size(), 1u);
  for (size_t i = 0; i < copies.size(); ++i) {
    expect_ok(troika_batch_describe(copies[i], &info, &error_));
    EXPECT_EQ(std::vector<float>(info.inputs, info.inputs + info.n * 16), inputs[i]);
    EXPECT_NE(info.labels, nullptr);
    expect_ok(troika_trainer_step(trainer_, copies[i], nullptr, &error_));
    troika_batch_destroy(copies[i]);
  }
  expect_refused(troika_batch_copy(nullptr, &batch, &error_), kInvalid, "argument 'batch' is NULL");
  expect_refused(troika_batch_copy(batch, nullptr, &error_), kInvalid, "argument 'out_batch' is NULL");
}

}  // namespace
}  // namespace troika::test
