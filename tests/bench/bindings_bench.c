/* The costs that bindings are compared with, in C: bindings_bench [SAMPLES]
 *
 * Prints the nanoseconds of a trivial call, and the images per second of LeNet with batches of 16
 * on one device: one call per epoch, and one call per step. The best of five runs counts. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <troika/troika.h>

enum { CALLS = 1000000, RUNS = 5 };

static troika_error error;

static troika_status check(troika_status status) {
  if (status >= 0) return status;
  fprintf(stderr, "%s\n", error.message);
  exit(EXIT_FAILURE);
}

static double seconds(void) {
  struct timespec now;
  timespec_get(&now, TIME_UTC);
  return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

int main(int argc, char **argv) {
  const int64_t samples = argc > 1 ? atoll(argv[1]) : 8000, dims[] = {1, 28, 28};
  const troika_device cpu = {TROIKA_DEVICE_CPU, 0};
  troika_loader_options options = TROIKA_LOADER_OPTIONS_INIT;
  troika_context context;
  troika_dataset dataset;
  troika_loader loader;
  troika_model model;
  troika_trainer trainer;
  troika_batch batch;
  double call = 1e9, epoch = 1e9, steps = 1e9;
  volatile int32_t version;
  options.batch = 16;
  check(troika_context_create(NULL, &context, &error));
  check(troika_dataset_create_synthetic(context, dims, 3, samples, 10, 0, &dataset, &error));
  check(troika_loader_create(dataset, &options, &loader, &error));
  check(troika_model_create(context, "d2l_lenet", NULL, &model, &error));
  check(troika_model_attach(model, &cpu, 1, NULL, &trainer, &error));
  check(troika_trainer_train_epoch(trainer, loader, NULL, &error)); /* compiles the plan */
  for (int run = 0; run < RUNS; ++run) {
    double began = seconds();
    for (int i = 0; i < CALLS; ++i) version = troika_version();
    call = call < seconds() - began ? call : seconds() - began;
    began = seconds();
    check(troika_trainer_train_epoch(trainer, loader, NULL, &error));
    epoch = epoch < seconds() - began ? epoch : seconds() - began;
    began = seconds();
    while (check(troika_loader_next(loader, &batch, &error)) == TROIKA_OK) check(troika_trainer_step(trainer, batch, NULL, &error));
    steps = steps < seconds() - began ? steps : seconds() - began;
  }
  (void)version;
  printf("call ns %.2f\nepoch images/s %.0f\nsteps images/s %.0f\n", call / CALLS * 1e9, (double)samples / epoch, (double)samples / steps);
  troika_trainer_destroy(trainer);
  troika_model_destroy(model);
  troika_loader_destroy(loader);
  troika_dataset_destroy(dataset);
  troika_context_destroy(context);
  return EXIT_SUCCESS;
}
