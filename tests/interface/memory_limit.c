/* Trains, evaluates, predicts and saves under the memory limit of the process (RLIMIT_AS).
   Prints the status of the first call that failed, or 0. The exit status is 0 whatever the calls
   return, because a process that lacks memory goes on. After OUT_OF_MEMORY the limit is lifted, and
   every object that was made must do what it could not do before. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <troika/troika.h>

static troika_context context;
static troika_model model;
static troika_dataset dataset;
static troika_loader loader;
static troika_trainer trainer;
static troika_tensor input, output;
static troika_error error;

static troika_status run(const char *path) {
  const int64_t image[] = {1, 28, 28}, batch[] = {16, 1, 28, 28};
  const troika_device devices[] = {{TROIKA_DEVICE_CPU, 0}, {TROIKA_DEVICE_CPU, 1}};
  troika_loader_options options = TROIKA_LOADER_OPTIONS_INIT;
  troika_status status;
  options.batch = 16;
  if ((status = troika_context_create(NULL, &context, &error)) < 0) return status;
  if ((status = troika_model_create(context, "d2l_lenet", NULL, &model, &error)) < 0) return status;
  if ((status = troika_dataset_create_synthetic(context, image, 3, 64, 10, 1, &dataset, &error)) < 0) return status;
  if ((status = troika_loader_create(dataset, &options, &loader, &error)) < 0) return status;
  if ((status = troika_model_attach(model, devices, 2, NULL, &trainer, &error)) < 0) return status;
  if ((status = troika_trainer_train_epoch(trainer, loader, NULL, &error)) < 0) return status;
  if ((status = troika_trainer_evaluate(trainer, loader, NULL, &error)) < 0) return status;
  if ((status = troika_tensor_create(context, devices[0], TROIKA_DTYPE_F32, batch, 4, NULL, &input, &error)) < 0)
    return status;
  if ((status = troika_model_predict(model, devices[0], input, &output, &error)) < 0) return status;
  return troika_model_save(model, path, &error);
}

/* Repeats what failed with the objects that are there. Returns whether all of it succeeds. */
static int succeeds_now(const char *path) {
  troika_metrics metrics = TROIKA_METRICS_INIT;
  return !trainer || (troika_trainer_train_epoch(trainer, loader, &metrics, &error) >= 0 &&
                      troika_trainer_evaluate(trainer, loader, &metrics, &error) >= 0 && metrics.samples == 64 &&
                      troika_trainer_check_replicas(trainer, &error) >= 0 &&
                      troika_model_save(model, path, &error) >= 0);
}

int main(int argc, char **argv) {
  struct rlimit limit;
  troika_status status;
  if (argc != 3) return 2;
  if (getrlimit(RLIMIT_AS, &limit) != 0) return 2;
  limit.rlim_cur = (rlim_t)atoi(argv[1]) << 20;
  if (setrlimit(RLIMIT_AS, &limit) != 0) return 2;
  status = run(argv[2]);
  printf("%d %s\n", (int)status, status < 0 ? error.message : "");
  limit.rlim_cur = limit.rlim_max;
  if (setrlimit(RLIMIT_AS, &limit) != 0) return 2;
  if (status < 0 && !succeeds_now(argv[2])) printf("again: %s\n", error.message);
  troika_tensor_destroy(output);
  troika_tensor_destroy(input);
  troika_trainer_destroy(trainer);
  troika_loader_destroy(loader);
  troika_dataset_destroy(dataset);
  troika_model_destroy(model);
  troika_context_destroy(context);
  return 0;
}
