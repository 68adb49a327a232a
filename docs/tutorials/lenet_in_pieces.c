// LeNet on several devices, with a loss of the program's own: forward, backward and update are
// separate calls. A second trainer makes whole steps on the same batches, for comparison.
//
//     cc lenet_in_pieces.c -ltroika -o lenet_in_pieces
//     ./lenet_in_pieces cpu:0,cpu:1 256 0.2 20 /usr/share/datasets/fashion-mnist
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <troika/troika.h>

enum { MOST_DEVICES = 8, WEIGHTS = 1280 };

static troika_error error;

static void check(troika_status status) {
  if (status == TROIKA_OK) return;
  fprintf(stderr, "lenet_in_pieces: %s\n", error.message);
  exit(1);
}

// The tutorials' loss: that of each sample, and the sum of all. Returns its gradient with respect
// to the outputs.
static troika_tensor gradient_of_loss(troika_context context, troika_tensor y_hat, troika_tensor y, float *sum) {
  troika_gradients record;
  troika_tensor each, total, gradient;
  check(troika_gradients_create(context, &record, &error));
  check(troika_gradients_watch(record, y_hat, &error));
  check(troika_tensor_cross_entropy(y_hat, y, &each, &error));
  check(troika_tensor_sum(each, NULL, 0, 0, &total, &error));
  check(troika_gradients_compute(record, total, &y_hat, 1, &gradient, &error));
  check(troika_tensor_to_host(total, sum, sizeof *sum, &error));
  troika_gradients_destroy(record);
  troika_tensor_destroy(total);
  troika_tensor_destroy(each);
  return gradient;
}

// Returns the mean loss of the batch.
static double train_batch(troika_context context, troika_trainer trainer, troika_device first, troika_batch batch) {
  troika_batch_info info = TROIKA_BATCH_INFO_INIT;
  troika_forward_options own = TROIKA_FORWARD_OPTIONS_INIT;
  troika_tensor y_hat, y;
  float sum;
  own.own_loss = 1;
  check(troika_batch_describe(batch, &info, &error));
  check(troika_tensor_create(context, first, TROIKA_DTYPE_I32, &info.n, 1, info.labels, &y, &error));
  check(troika_trainer_forward(trainer, batch, &own, &y_hat, NULL, &error));  // on the first device
  const troika_tensor gradient = gradient_of_loss(context, y_hat, y, &sum);
  check(troika_trainer_backward(trainer, gradient, &error));  // summed over all devices
  check(troika_trainer_apply(trainer, NULL, &error));
  troika_tensor_destroy(gradient);
  troika_tensor_destroy(y_hat);
  troika_tensor_destroy(y);
  return sum / (double)info.n;
}

// A new LeNet with the same values each time.
static troika_trainer attach(troika_context context, const troika_device *devices, int32_t count, double lr) {
  troika_model model;
  troika_trainer trainer;
  troika_trainer_options options = TROIKA_TRAINER_OPTIONS_INIT;
  options.learning_rate = lr;
  check(troika_model_create(context, "d2l_lenet", NULL, &model, &error));
  check(troika_model_initialize(model, "*.weight", TROIKA_INIT_XAVIER_UNIFORM, 0, 1, &error));
  check(troika_model_attach(model, devices, count, &options, &trainer, &error));
  troika_model_destroy(model);  // the trainer holds it
  return trainer;
}

int main(int argc, char **argv) {
  if (argc != 6) {
    fprintf(stderr, "usage: lenet_in_pieces DEVICES BATCH LR STEPS FOLDER\n");
    return 2;
  }
  troika_context context;
  check(troika_context_create(NULL, &context, &error));
  troika_device devices[MOST_DEVICES];
  int32_t count = 0;
  for (char *name = strtok(argv[1], ","); name && count < MOST_DEVICES; name = strtok(NULL, ","))
    check(troika_device_parse(name, &devices[count++], &error));
  troika_dataset dataset;
  troika_loader loader;
  troika_loader_options order = TROIKA_LOADER_OPTIONS_INIT;
  order.batch = atoll(argv[2]);
  order.drop_last = 1;
  check(troika_dataset_open_directory(context, argv[5], "train", NULL, &dataset, &error));
  check(troika_loader_create(dataset, &order, &loader, &error));

  const double lr = strtod(argv[3], NULL);
  const troika_trainer pieces = attach(context, devices, count, lr / (double)order.batch);  // of the sum
  const troika_trainer whole = attach(context, devices, 1, lr);                             // of the mean
  troika_batch batch;
  for (int step = 1; step <= atoi(argv[4]) && troika_loader_next(loader, &batch, &error) == TROIKA_OK; ++step) {
    troika_step_result result = TROIKA_STEP_RESULT_INIT;
    const double loss = train_batch(context, pieces, devices[0], batch);
    check(troika_trainer_step(whole, batch, &result, &error));
    printf("step %d: pieces %.6f, whole step %.6f\n", step, loss, result.loss);
  }
  float a[WEIGHTS], b[WEIGHTS], largest = 0;
  check(troika_trainer_get_parameter(pieces, "fc2.weight", devices[count - 1], a, sizeof a, &error));
  check(troika_trainer_get_parameter(whole, "fc2.weight", devices[0], b, sizeof b, &error));
  for (int i = 0; i < WEIGHTS; ++i) {
    const float difference = a[i] > b[i] ? a[i] - b[i] : b[i] - a[i];
    if (difference > largest) largest = difference;
  }
  check(troika_trainer_check_replicas(pieces, &error));
  printf("%d devices in pieces, one in whole steps: fc2.weight differs by at most %.1e\n", count, largest);

  troika_trainer_destroy(whole);
  troika_trainer_destroy(pieces);
  troika_loader_destroy(loader);
  troika_dataset_destroy(dataset);
  troika_context_destroy(context);
  return 0;
}
