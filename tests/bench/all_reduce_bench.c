/* Times troika_group_all_reduce between the processes of a group: one line per size with the bytes
 * and the median time of a call in microseconds, from rank 0.
 *
 *     troika run --processes 2 -- all_reduce_bench 1024 1048576
 */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <troika/troika.h>

#define MOST_CALLS 2000

static troika_error error;

static void check(troika_status status) {
  if (status == TROIKA_OK) return;
  fprintf(stderr, "%s\n", error.message);
  exit(1);
}

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static int compare(const void *a, const void *b) {
  const double difference = *(const double *)a - *(const double *)b;
  return (difference > 0) - (difference < 0);
}

int main(int argc, char **argv) {
  troika_context context = NULL;
  troika_group group = NULL;
  troika_group_info info = TROIKA_GROUP_INFO_INIT;
  check(troika_context_create(NULL, &context, &error));
  check(troika_group_create(context, NULL, &group, &error));
  check(troika_group_describe(group, &info, &error));
  for (int i = 1; i < argc; ++i) {
    static double times[MOST_CALLS];
    const troika_device device = {TROIKA_DEVICE_CPU, 0};
    const int64_t bytes = atoll(argv[i]), elements = bytes / 4;
    /* About as many bytes for each size; all processes make as many calls. */
    int64_t calls = 400000000 / (bytes + 200000);
    if (calls > MOST_CALLS) calls = MOST_CALLS;
    if (calls < 5) calls = 5;
    troika_tensor tensor = NULL;
    check(troika_tensor_create(context, device, TROIKA_DTYPE_F32, &elements, 1, NULL, &tensor, &error));
    for (int64_t call = -3; call < calls; ++call) {
      const double begin = now();
      check(troika_group_all_reduce(group, tensor, &error));
      if (call >= 0) times[call] = now() - begin;
    }
    qsort(times, (size_t)calls, sizeof *times, compare);
    if (info.rank == 0) printf("%lld %.1f\n", (long long)bytes, 1e6 * times[calls / 2]);
    fflush(stdout);
    troika_tensor_destroy(tensor);
  }
  troika_group_destroy(group);
  troika_context_destroy(context);
  return 0;
}
