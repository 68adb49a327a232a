/* Measures how fast Troika trains a classifier of sequences (LSTM or GRU layers, the last step, a
 * linear layer), or the language model char_lstm, on one device:
 *
 *     sequence_bench lstm BATCH STEPS FEATURES HIDDEN [LAYERS [WINDOWS [BUDGET_BYTES [cpu|cuda]]]]
 *     sequence_bench char_lstm BATCH STEPS 64 HIDDEN
 *
 * A window is one step: forward, loss, backward, SGD, on numbers in memory.
 * tests/bench/sequence_bench.py measures PyTorch. */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <troika/troika.h>

static troika_error error;

static void check(troika_status status) {
  if (status >= 0) return;
  fprintf(stderr, "%s: %s\n", troika_status_name(status), error.message);
  exit(EXIT_FAILURE);
}

static double now_ms(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec * 1e3 + (double)time.tv_nsec / 1e6;
}

static int compare(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static int argument(int count, char **values, int index, int unset) {
  return index < count ? atoi(values[index]) : unset;
}

int main(int count, char **values) {
  const troika_device device = {
      count > 9 && strcmp(values[9], "cuda") == 0 ? TROIKA_DEVICE_CUDA : TROIKA_DEVICE_CPU, 0};
  const char *const kind = count > 1 ? values[1] : "lstm";
  const int is_lstm = strcmp(kind, "lstm") == 0, is_char_lstm = strcmp(kind, "char_lstm") == 0;
  const int batch_size = argument(count, values, 2, 32), steps = argument(count, values, 3, 200),
            features = argument(count, values, 4, 64), hidden = argument(count, values, 5, 128),
            layers = argument(count, values, 6, 1), windows = argument(count, values, 7, 15);
  const int64_t sample[] = {steps, features}, shape[] = {batch_size, steps, features};
  const size_t tokens = (size_t)batch_size * (size_t)steps, numbers = tokens * (size_t)features;
  troika_model_options sizes = TROIKA_MODEL_OPTIONS_INIT;
  troika_trainer_options options = TROIKA_TRAINER_OPTIONS_INIT;
  troika_step_result result = TROIKA_STEP_RESULT_INIT;
  troika_memory_info memory = TROIKA_MEMORY_INFO_INIT;
  troika_context context;
  troika_model model;
  troika_trainer trainer;
  troika_tensor inputs, targets;
  troika_batch batch;
  troika_value x;
  float *const data = malloc(numbers * sizeof *data);
  int32_t *const labels = malloc(tokens * sizeof *labels);
  double *const times = malloc((size_t)windows * sizeof *times);
  double began, compiled;
  int i;

  if (!data || !labels || !times) return EXIT_FAILURE;
  for (i = 0; i < (int)numbers; ++i) data[i] = (float)((uint32_t)i * 2654435761u >> 8) / 8388608.0f - 1;
  for (i = 0; i < (int)tokens; ++i) labels[i] = is_char_lstm ? (int32_t)((uint32_t)i * 2654435761u >> 24) : i % 10;
  troika_context_options context_options = TROIKA_CONTEXT_OPTIONS_INIT;
  context_options.use_environment = 1;
  check(troika_context_create(&context_options, &context, &error));
  if (is_char_lstm) {
    sizes.steps = steps;
    sizes.hidden = hidden;
    check(troika_model_create(context, "char_lstm", &sizes, &model, &error));
  } else {
    check(troika_model_create_empty(context, "net", &model, &error));
    check(troika_model_add_input(model, "x", sample, 2, &x, &error));
    for (i = 0; i < layers; ++i) {
      char name[32];
      snprintf(name, sizeof name, "rnn%d", i);
      check((is_lstm ? troika_model_add_lstm : troika_model_add_gru)(model, name, x, hidden, 1, &x, &error));
    }
    check(troika_model_add_select_step(model, "last", x, -1, &x, &error));
    check(troika_model_add_linear(model, "fc", x, 10, 1, &x, &error));
    check(troika_model_set_output(model, x, &error));
  }
  options.learning_rate = 0.01;
  if (count > 8 && atoll(values[8])) options.activation_budget_bytes = atoll(values[8]);
  check(troika_model_attach(model, &device, 1, &options, &trainer, &error));
  if (is_char_lstm)
    check(troika_tensor_create(context, device, TROIKA_DTYPE_I32, shape, 2, labels, &inputs, &error));
  else
    check(troika_tensor_create(context, device, TROIKA_DTYPE_F32, shape, 3, data, &inputs, &error));
  check(troika_tensor_create(context, device, TROIKA_DTYPE_I32, shape, is_char_lstm ? 2 : 1, labels, &targets, &error));
  check(troika_batch_create(inputs, targets, &batch, &error));

  began = now_ms();
  check(troika_trainer_step(trainer, batch, &result, &error));
  compiled = now_ms() - began;
  for (i = 0; i < windows; ++i) {
    began = now_ms();
    check(troika_trainer_step(trainer, batch, &result, &error));
    times[i] = now_ms() - began;
  }
  qsort(times, (size_t)windows, sizeof *times, compare);
  check(troika_trainer_memory(trainer, 0, &memory, &error));
  printf("troika %s batch %d, %d x %d, hidden %d, layers %d: %.1f ms (%.1f-%.1f), first %.0f ms, arena %.2f MiB, loss %.4f\n",
         kind, batch_size, steps, features, hidden, layers, times[windows / 2], times[0],
         times[windows - 1], compiled, (double)memory.arena_bytes / 1048576, result.loss);
  free(times);
  free(labels);
  free(data);
  troika_batch_destroy(batch);
  troika_tensor_destroy(targets);
  troika_tensor_destroy(inputs);
  troika_trainer_destroy(trainer);
  troika_model_destroy(model);
  troika_context_destroy(context);
  return EXIT_SUCCESS;
}
