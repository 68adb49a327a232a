// Times operations on tensors: operations_bench. Prints a line per operation: name, nanoseconds per
// call (the median of rounds).
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <troika/troika.h>

enum { ROUNDS = 15 };

static troika_error error;

static void check(troika_status status) {
  if (status == TROIKA_OK) return;
  fprintf(stderr, "operations_bench: %s\n", error.message);
  exit(1);
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static int compare(const void *a, const void *b) { return (*(const double *)a > *(const double *)b) - (*(const double *)a < *(const double *)b); }

typedef troika_status (*operation)(troika_tensor a, troika_tensor b, troika_tensor *out);

static troika_status add(troika_tensor a, troika_tensor b, troika_tensor *out) { return troika_tensor_add(a, b, out, &error); }
static troika_status matmul(troika_tensor a, troika_tensor b, troika_tensor *out) {
  return troika_tensor_matmul(a, b, 0, 0, out, &error);
}
static troika_status sigmoid(troika_tensor a, troika_tensor b, troika_tensor *out) {
  (void)b;
  return troika_tensor_sigmoid(a, out, &error);
}
static troika_status softmax(troika_tensor a, troika_tensor b, troika_tensor *out) {
  (void)b;
  return troika_tensor_softmax(a, 1, out, &error);
}
static troika_status sum(troika_tensor a, troika_tensor b, troika_tensor *out) {
  (void)b;
  const int32_t axis = 0;
  return troika_tensor_sum(a, &axis, 1, 0, out, &error);
}
static troika_status transpose(troika_tensor a, troika_tensor b, troika_tensor *out) {
  (void)b;
  return troika_tensor_transpose(a, NULL, out, &error);
}
static troika_status conv2d(troika_tensor a, troika_tensor b, troika_tensor *out) {
  return troika_tensor_conv2d(a, b, NULL, NULL, out, &error);
}

static void measure(troika_context context, troika_device device, const char *name, operation run, const int64_t *a_dims,
                    int32_t a_rank, const int64_t *b_dims, int32_t b_rank, int calls) {
  troika_tensor a, b, out;
  check(troika_tensor_normal(context, device, TROIKA_DTYPE_F32, a_dims, a_rank, 0, 1, 1, &a, &error));
  check(troika_tensor_normal(context, device, TROIKA_DTYPE_F32, b_dims, b_rank, 0, 1, 2, &b, &error));
  double times[ROUNDS];
  for (int round = -1; round < ROUNDS; ++round) {
    const double begin = now();
    for (int i = 0; i < calls; ++i) {
      check(run(a, b, &out));
      troika_tensor_destroy(out);
    }
    check(troika_device_synchronize(context, device, &error));
    if (round >= 0) times[round] = (now() - begin) / calls;
  }
  qsort(times, ROUNDS, sizeof times[0], compare);
  printf("%s %.0f\n", name, times[ROUNDS / 2]);
  troika_tensor_destroy(a);
  troika_tensor_destroy(b);
}

int main(int argc, char **argv) {
  troika_context context;
  check(troika_context_create(NULL, &context, &error));
  troika_device device = {TROIKA_DEVICE_CPU, 0};
  if (argc > 1) check(troika_device_parse(argv[1], &device, &error));
  const int64_t small[] = {4, 4}, large[] = {1024, 1024}, row[] = {1024}, images[] = {64, 32, 28, 28}, weight[] = {64, 32, 3, 3};
  measure(context, device, "add_4x4", add, small, 2, small, 2, 2000);
  measure(context, device, "matmul_4x4", matmul, small, 2, small, 2, 2000);
  measure(context, device, "sigmoid_4x4", sigmoid, small, 2, small, 2, 2000);
  measure(context, device, "add_1024x1024", add, large, 2, large, 2, 20);
  measure(context, device, "add_row_1024x1024", add, large, 2, row, 1, 20);
  measure(context, device, "sigmoid_1024x1024", sigmoid, large, 2, row, 1, 20);
  measure(context, device, "softmax_1024x1024", softmax, large, 2, row, 1, 20);
  measure(context, device, "sum_1024x1024", sum, large, 2, row, 1, 20);
  measure(context, device, "transpose_1024x1024", transpose, large, 2, row, 1, 20);
  measure(context, device, "matmul_1024x1024", matmul, large, 2, large, 2, 4);
  measure(context, device, "conv2d_64x32x28x28", conv2d, images, 4, weight, 4, 4);
  troika_context_destroy(context);
  return 0;
}
