/* Trains d2l_lenet on four devices from one start of tests/golden/README.md, eight steps of 88
 * samples at rate 0.2:
 *
 *     rounding_bench SALT f32|bf16|f16
 *
 * Writes f32 numbers to standard output: the gradients of the first step, in the order of
 * kParameters, and the logits of the evaluation. tests/bench/rounding_bench.py compares them with
 * PyTorch's. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <troika/troika.h>

enum {
  kParameters = 8,
  kSamples = 88,
  kClasses = 10,
  kPixels = 28 * 28,
  kDevices = 4,
  kSteps = 8,
  kMostNumbers = 128 * 800
};

static const struct {
  const char *name;
  uint32_t elements, outputs;
} kParameter[kParameters] = {{"conv1.weight", 180, 20}, {"conv1.bias", 20, 20},      {"conv2.weight", 25000, 50},
                             {"conv2.bias", 50, 50},    {"fc1.weight", 102400, 128}, {"fc1.bias", 128, 128},
                             {"fc2.weight", 1280, 10},  {"fc2.bias", 10, 10}};

static troika_error error;
static uint32_t salt;
static float numbers[kMostNumbers];

static void check(troika_status status) {
  if (status >= 0) return;
  fprintf(stderr, "%s: %s\n", troika_status_name(status), error.message);
  exit(EXIT_FAILURE);
}

static uint32_t hash32(uint32_t t, uint32_t i) {
  uint32_t h = i + (t + salt) * 0x9E3779B1u;
  h ^= h >> 16;
  h *= 0x85EBCA6Bu;
  h ^= h >> 13;
  h *= 0xC2B2AE35u;
  return h ^ h >> 16;
}

static double unit(uint32_t t, uint32_t i) { return (hash32(t, i) >> 8) / 16777216.0 - 0.5; }

static troika_tensor make_inputs(troika_context context, uint32_t batch) {
  const troika_device host = {TROIKA_DEVICE_CPU, 0};
  const int64_t shape[] = {kSamples, 1, 28, 28};
  troika_tensor inputs;
  uint32_t i;
  for (i = 0; i < kSamples * kPixels; ++i) numbers[i] = (float)(2 * unit(1000 + batch, i));
  check(troika_tensor_create(context, host, TROIKA_DTYPE_F32, shape, 4, numbers, &inputs, &error));
  return inputs;
}

static troika_tensor make_labels(troika_context context, uint32_t batch) {
  const troika_device host = {TROIKA_DEVICE_CPU, 0};
  const int64_t shape[] = {kSamples};
  int32_t labels[kSamples];
  troika_tensor targets;
  uint32_t i;
  for (i = 0; i < kSamples; ++i) labels[i] = (int32_t)(hash32(2000 + batch, i) % kClasses);
  check(troika_tensor_create(context, host, TROIKA_DTYPE_I32, shape, 1, labels, &targets, &error));
  return targets;
}

static void set_start(troika_model model) {
  uint32_t t, i;
  for (t = 0; t < kParameters; ++t) {
    const uint32_t n = kParameter[t].elements;
    const double scale = t % 2 ? 0.1 : 2 * sqrt(3.0) * sqrt(2.0 / (n / kParameter[t].outputs));
    for (i = 0; i < n; ++i) numbers[i] = (float)(scale * unit(t, i));
    check(troika_model_set_parameter(model, kParameter[t].name, numbers, n * (int64_t)sizeof *numbers, &error));
  }
}

static void write_gradients(troika_trainer trainer) {
  int t;
  for (t = 0; t < kParameters; ++t) {
    const uint32_t n = kParameter[t].elements;
    check(troika_trainer_get_gradient(trainer, kParameter[t].name, numbers, n * (int64_t)sizeof *numbers, &error));
    fwrite(numbers, sizeof *numbers, n, stdout);
  }
}

int main(int count, char **values) {
  troika_device devices[kDevices];
  troika_trainer_options options = TROIKA_TRAINER_OPTIONS_INIT;
  troika_step_result result = TROIKA_STEP_RESULT_INIT;
  troika_context context;
  troika_model model;
  troika_trainer trainer;
  troika_tensor inputs, targets, logits;
  troika_batch batch;
  uint32_t i;
  if (count != 3) {
    fprintf(stderr, "usage: rounding_bench SALT f32|bf16|f16\n");
    return EXIT_FAILURE;
  }
  salt = (uint32_t)strtoul(values[1], NULL, 10);
  options.precision = strcmp(values[2], "bf16") == 0  ? TROIKA_PRECISION_BF16
                      : strcmp(values[2], "f16") == 0 ? TROIKA_PRECISION_F16
                                                      : TROIKA_PRECISION_F32;
  options.learning_rate = 0.2;
  for (i = 0; i < kDevices; ++i) {
    devices[i].kind = TROIKA_DEVICE_CPU;
    devices[i].index = (int32_t)i;
  }
  troika_context_options context_options = TROIKA_CONTEXT_OPTIONS_INIT;
  context_options.use_environment = 1;
  check(troika_context_create(&context_options, &context, &error));
  check(troika_model_create(context, "d2l_lenet", NULL, &model, &error));
  set_start(model);
  check(troika_model_attach(model, devices, kDevices, &options, &trainer, &error));
  for (i = 0; i < kSteps; ++i) {
    inputs = make_inputs(context, i % 2);
    targets = make_labels(context, i % 2);
    check(troika_batch_create(inputs, targets, &batch, &error));
    check(troika_trainer_step(trainer, batch, &result, &error));
    troika_batch_destroy(batch);
    troika_tensor_destroy(targets);
    troika_tensor_destroy(inputs);
    if (i == 0) write_gradients(trainer);
  }
  inputs = make_inputs(context, 500);
  check(troika_trainer_predict(trainer, inputs, &logits, &error));
  check(troika_tensor_to_host(logits, numbers, kSamples * kClasses * (int64_t)sizeof *numbers, &error));
  fwrite(numbers, sizeof *numbers, kSamples * kClasses, stdout);
  troika_tensor_destroy(logits);
  troika_tensor_destroy(inputs);
  troika_trainer_destroy(trainer);
  troika_model_destroy(model);
  troika_context_destroy(context);
  return EXIT_SUCCESS;
}
