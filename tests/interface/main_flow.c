/* The main flow: trains LeNet on two devices, tests it, and unwraps the trained network. */
#include <stdio.h>
#include <stdlib.h>
#include <troika/troika.h>

static troika_error error;

/* 0 is success. Above 0 is information, such as the end of an epoch. Below 0 is an error, which the
 * message describes. */
static troika_status check(troika_status status) {
  if (status >= 0) return status;
  fprintf(stderr, "%s: %s\n", troika_status_name(status), error.message);
  exit(EXIT_FAILURE);
}

int main(void) {
  const troika_device devices[] = {{TROIKA_DEVICE_CPU, 0}, {TROIKA_DEVICE_CPU, 1}};
  const int64_t image[] = {1, 28, 28};
  troika_loader_options batches = TROIKA_LOADER_OPTIONS_INIT;
  troika_trainer_options options = TROIKA_TRAINER_OPTIONS_INIT;
  troika_step_result result = TROIKA_STEP_RESULT_INIT;
  troika_metrics metrics = TROIKA_METRICS_INIT;
  troika_context context;
  troika_dataset images;
  troika_loader loader;
  troika_batch batch;
  troika_model model, trained;
  troika_trainer trainer;
  int epoch;

  troika_context_options context_options = TROIKA_CONTEXT_OPTIONS_INIT;
  context_options.use_environment = 1;
  check(troika_context_create(&context_options, &context, &error));
  check(troika_dataset_create_synthetic(context, image, 3, 2000, 10, 1, &images, &error));
  batches.batch = 100;
  batches.shuffle = 1;
  check(troika_loader_create(images, &batches, &loader, &error));

  check(troika_model_create(context, "d2l_lenet", NULL, &model, &error));
  check(troika_model_initialize(model, "*.weight", TROIKA_INIT_XAVIER_UNIFORM, 0, 1, &error));
  options.learning_rate = 0.05;
  options.momentum = 0.9;
  check(troika_model_attach(model, devices, 2, &options, &trainer, &error));

  for (epoch = 1; epoch <= 3; ++epoch) {
    while (check(troika_loader_next(loader, &batch, &error)) == TROIKA_OK)
      check(troika_trainer_step(trainer, batch, &result, &error)); /* one step over both devices */
    check(troika_trainer_evaluate(trainer, loader, &metrics, &error));
    printf("epoch %d: loss %.3f, accuracy %.3f\n", epoch, metrics.loss, metrics.accuracy);
  }

  check(troika_trainer_save(trainer, "checkpoint.safetensors", &error)); /* to go on from here ... */
  check(troika_trainer_load(trainer, "checkpoint.safetensors", NULL, &error));
  check(troika_trainer_unwrap(trainer, &trained, &error)); /* ... the single-device network, trained ... */
  check(troika_model_save(trained, "weights.safetensors", &error)); /* ... which PyTorch reads too */

  troika_model_destroy(trained);
  troika_trainer_destroy(trainer);
  troika_model_destroy(model);
  troika_loader_destroy(loader);
  troika_dataset_destroy(images);
  troika_context_destroy(context);
  return EXIT_SUCCESS;
}
