/* Measures how many predictions a second several threads get from one model on cpu:0, and how long
 * each takes:
 *
 *     serving_bench MODEL BATCH CALLERS [SECONDS [PREDICT_THREADS [WEIGHTS]]]
 *
 * WEIGHTS is a file to write the weights to. tests/bench/serving_bench.py measures ONNX Runtime on
 * the same weights in turn. */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <troika/troika.h>

enum { MOST_CALLERS = 64, MOST_TIMES = 1 << 20 };

struct caller {
  pthread_t thread;
  double* times; /* milliseconds */
  int64_t calls;
};

static troika_model model;
static int64_t batch, inputs, outputs;
static int phase; /* accessed atomically; 0: warming up, 1: measuring, 2: end */

static void check(troika_status status, const troika_error* error) {
  if (status >= 0) return;
  fprintf(stderr, "%s: %s\n", troika_status_name(status), error->message);
  exit(EXIT_FAILURE);
}

static double now_ms(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec * 1e3 + (double)time.tv_nsec / 1e6;
}

static int compare(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

static void* call(void* user) {
  struct caller* const own = user;
  const troika_device device = {TROIKA_DEVICE_CPU, 0};
  const size_t count = (size_t)(batch * inputs);
  float *const in = malloc(count * sizeof *in), *const out = malloc((size_t)(batch * outputs) * sizeof *out);
  troika_error error;
  size_t i;
  if (!in || !out) exit(EXIT_FAILURE);
  for (i = 0; i < count; ++i) in[i] = (float)((uint32_t)i * 2654435761u >> 8) / 8388608.0f - 1;
  for (;;) {
    const int now = __atomic_load_n(&phase, __ATOMIC_ACQUIRE), is_measured = now > 0;
    if (now == 2 && own->calls > 0) break;
    const double began = now_ms();
    check(
        troika_model_predict_into(model, device, in, batch, NULL, out, batch * outputs * (int64_t)sizeof *out, &error),
        &error);
    if (is_measured && own->calls < MOST_TIMES) own->times[own->calls++] = now_ms() - began;
  }
  free(in);
  free(out);
  return NULL;
}

static void rest(double seconds) {
  struct timespec time = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};
  nanosleep(&time, NULL);
}

int main(int count, char** values) {
  static struct caller callers[MOST_CALLERS];
  const char* const name = count > 1 ? values[1] : "d2l_lenet";
  const int callers_count = count > 3 ? atoi(values[3]) : 1;
  const double seconds = count > 4 ? atof(values[4]) : 3;
  troika_context_options options = TROIKA_CONTEXT_OPTIONS_INIT;
  troika_context context;
  troika_error error;
  struct rusage usage;
  double *all, began, took;
  int64_t calls = 0;
  int i;
  batch = count > 2 ? atoi(values[2]) : 1;
  if (callers_count < 1 || callers_count > MOST_CALLERS || batch < 1) return EXIT_FAILURE;
  inputs = strncmp(name, "resnet", 6) == 0 ? 3 * 224 * 224 : 28 * 28;
  outputs = strncmp(name, "resnet", 6) == 0 ? 1000 : 10;
  if (count > 5 && atoi(values[5]) > 0) options.predict_threads = atoi(values[5]);
  check(troika_context_create(&options, &context, &error), &error);
  check(troika_model_create(context, name, NULL, &model, &error), &error);
  check(troika_model_initialize_default(model, 1, &error), &error);
  if (count > 6) check(troika_model_save(model, values[6], &error), &error);
  for (i = 0; i < callers_count; ++i) {
    callers[i].times = malloc(MOST_TIMES * sizeof *callers[i].times);
    if (!callers[i].times || pthread_create(&callers[i].thread, NULL, call, &callers[i])) return EXIT_FAILURE;
  }
  rest(seconds / 3);
  began = now_ms();
  __atomic_store_n(&phase, 1, __ATOMIC_RELEASE);
  rest(seconds);
  __atomic_store_n(&phase, 2, __ATOMIC_RELEASE);
  for (i = 0; i < callers_count; ++i) {
    pthread_join(callers[i].thread, NULL);
    calls += callers[i].calls;
  }
  took = now_ms() - began;
  all = malloc((size_t)(calls + 1) * sizeof *all);
  if (!all) return EXIT_FAILURE;
  calls = 0;
  for (i = 0; i < callers_count; ++i) {
    memcpy(all + calls, callers[i].times, (size_t)callers[i].calls * sizeof *all);
    calls += callers[i].calls;
    free(callers[i].times);
  }
  if (calls == 0) return EXIT_FAILURE;
  qsort(all, (size_t)calls, sizeof *all, compare);
  getrusage(RUSAGE_SELF, &usage);
  printf("%.1f samples/s, p50 %.3f ms, p99 %.3f ms, peak memory %ld MiB\n", (double)(calls * batch) / took * 1e3,
         all[calls / 2], all[calls * 99 / 100], usage.ru_maxrss / 1024);
  free(all);
  troika_model_destroy(model);
  troika_context_destroy(context);
  return 0;
}
