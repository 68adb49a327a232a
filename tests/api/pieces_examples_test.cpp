// The examples of docs/pieces.md, word for word.
#include <cmath>
#include <cstdlib>

#include "api/api_test.h"
#include "support/page_examples.h"

namespace troika::test {
namespace {

// clang-format off
troika_status train_in_parts(troika_trainer trainer, troika_loader loader, int32_t parts,
                             troika_error *error) {
  for (int32_t part = 0; part < parts; ++part) {
    troika_batch batch = NULL;
    troika_status status = troika_loader_next(loader, &batch, error);
    if (status == TROIKA_OK)
      status = troika_trainer_forward(trainer, batch, NULL, NULL, NULL, error);
    if (status == TROIKA_OK) status = troika_trainer_backward(trainer, NULL, error);
    if (status != TROIKA_OK) return status;
  }
  return troika_trainer_apply(trainer, NULL, error);
}

troika_status huber_step(troika_context context, troika_trainer trainer, troika_batch batch,
                         const float *targets, int64_t samples, int64_t outputs,
                         float *input_gradient, int64_t input_bytes, troika_error *error) {
  const troika_device host = {TROIKA_DEVICE_CPU, 0};
  const int64_t dims[] = {samples, outputs};
  const int64_t count = samples * outputs;
  troika_forward_options options = TROIKA_FORWARD_OPTIONS_INIT;
  troika_tensor output = NULL, gradient = NULL;
  float *values = (float *)malloc((size_t)count * sizeof *values);
  troika_status status = values ? TROIKA_OK : TROIKA_ERROR_OUT_OF_MEMORY;
  options.own_loss = 1;
  options.input_gradient = 1;
  if (status == TROIKA_OK)
    status = troika_trainer_forward(trainer, batch, &options, &output, NULL, error);
  if (status == TROIKA_OK)
    status = troika_tensor_to_host(output, values, count * (int64_t)sizeof *values, error);
  for (int64_t i = 0; status == TROIKA_OK && i < count; ++i) {
    const float error_i = values[i] - targets[i];
    const float slope = error_i > 1 ? 1 : error_i < -1 ? -1 : error_i;
    values[i] = slope / (float)samples; /* of the mean over the batch */
  }
  if (status == TROIKA_OK)
    status = troika_tensor_create(context, host, TROIKA_DTYPE_F32, dims, 2, values, &gradient, error);
  if (status == TROIKA_OK) status = troika_trainer_backward(trainer, gradient, error);
  if (status == TROIKA_OK)
    status = troika_trainer_get_input_gradient(trainer, input_gradient, input_bytes, error);
  if (status == TROIKA_OK) status = troika_trainer_apply(trainer, NULL, error);
  troika_tensor_destroy(gradient);
  troika_tensor_destroy(output);
  free(values);
  return status;
}
// clang-format on

TEST(PiecesExamples, are_those_of_the_page) {
  EXPECT_EQ(expect_examples("/docs/pieces.md", "/tests/api/pieces_examples_test.cpp"), 2);
}

class PiecesExample : public ApiTest {};

TEST_F(PiecesExample, trains_in_parts) {
  make_trainer();
  const std::vector<float> before = weights();
  expect_ok(train_in_parts(trainer_, loader_, 2, &error_));
  EXPECT_NE(weights(), before);
}

TEST_F(PiecesExample, trains_on_a_loss_of_its_own) {
  make_trainer();
  std::vector<float> values(5 * 16);
  for (size_t i = 0; i < values.size(); ++i) values[i] = std::sin(static_cast<float>(i));
  const int32_t labels[5] = {};
  const std::vector<float> targets(15, 0.25f);
  tensor_ = make_tensor(TROIKA_DTYPE_F32, {5, 1, 4, 4}, values.data());
  troika_tensor unread = make_tensor(TROIKA_DTYPE_I32, {5}, labels);
  troika_batch batch = nullptr;
  expect_ok(troika_batch_create(tensor_, unread, &batch, &error_));
  std::vector<float> gradient(values.size(), -1.0f);
  double earlier = INFINITY;
  for (int i = 0; i < 40; ++i) {
    expect_ok(huber_step(context_, trainer_, batch, targets.data(), 5, 3, gradient.data(), 320, &error_));
    double norm = 0;
    for (float g : gradient) norm += static_cast<double>(g) * static_cast<double>(g);
    if (i % 39 == 0) {
      EXPECT_LT(norm, earlier);
      earlier = norm / 4;
    }
  }
  troika_tensor_destroy(unread);
  troika_batch_destroy(batch);
}

}  // namespace
}  // namespace troika::test
