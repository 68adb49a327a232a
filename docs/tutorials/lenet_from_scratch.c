// LeNet from scratch on several devices: parameters, forward function, loss, gradients, their sum
// and the update are the program's own, in operations on tensors.
//
//     cc lenet_from_scratch.c -ltroika -o lenet_from_scratch
//     ./lenet_from_scratch cpu:0,cpu:1 256 0.2 10 /usr/share/datasets/fashion-mnist [STEPS]
//
// With STEPS, takes the samples in their order, and prints the loss of so many steps.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <troika/troika.h>

enum { PARAMETERS = 8, MOST_DEVICES = 8, MOST_RESULTS = 256 };

static troika_error error;

static void check(troika_status status) {
  if (status == TROIKA_OK) return;
  fprintf(stderr, "lenet_from_scratch: %s\n", error.message);
  exit(1);
}

// Results of a step, which end with the step.
static troika_tensor results[MOST_RESULTS];
static int result_count;

static troika_tensor keep(troika_tensor tensor) { return results[result_count++] = tensor; }

static void end_step(void) {
  while (result_count > 0) troika_tensor_destroy(results[--result_count]);
}

// ---- The model ----

static troika_tensor add_bias(troika_tensor x, troika_tensor bias) {
  troika_tensor y;
  check(troika_tensor_add(x, bias, &y, &error));
  return keep(y);
}

static troika_tensor relu(troika_tensor x) {
  troika_tensor y;
  check(troika_tensor_relu(x, &y, &error));
  return keep(y);
}

static troika_tensor matmul(troika_tensor x, troika_tensor weight) {
  troika_tensor y;
  check(troika_tensor_matmul(x, weight, 0, 0, &y, &error));
  return keep(y);
}

static troika_tensor conv2d(troika_tensor x, troika_tensor weight, troika_tensor bias) {
  troika_tensor y;
  check(troika_tensor_conv2d(x, weight, bias, NULL, &y, &error));
  return keep(y);
}

static troika_tensor avg_pool2d(troika_tensor x) {
  troika_pool2d_options options = TROIKA_POOL2D_OPTIONS_INIT;
  options.kernel[0] = options.kernel[1] = 2;
  troika_tensor y;
  check(troika_tensor_avg_pool2d(x, &options, &y, &error));
  return keep(y);
}

static troika_tensor flatten(troika_tensor x) {
  troika_tensor_info info = TROIKA_TENSOR_INFO_INIT;
  check(troika_tensor_describe(x, &info, &error));
  const int64_t dims[] = {info.dims[0], info.size_bytes / 4 / info.dims[0]};
  troika_tensor y;
  check(troika_tensor_reshape(x, dims, 2, &y, &error));
  return keep(y);
}

// [n, 1, 28, 28] to [n, 10].
static troika_tensor lenet(troika_tensor x, troika_tensor *p) {
  const troika_tensor h1 = avg_pool2d(relu(conv2d(x, p[0], p[1])));
  const troika_tensor h2 = flatten(avg_pool2d(relu(conv2d(h1, p[2], p[3]))));
  const troika_tensor h3 = relu(add_bias(matmul(h2, p[4]), p[5]));
  return add_bias(matmul(h3, p[6]), p[7]);
}

// The sum of the losses of all samples.
static troika_tensor loss_of(troika_tensor y_hat, troika_tensor y) {
  troika_tensor each, sum;
  check(troika_tensor_cross_entropy(y_hat, y, &each, &error));
  check(troika_tensor_sum(keep(each), NULL, 0, 0, &sum, &error));
  return keep(sum);
}

static void init_parameters(troika_context context, troika_device device, troika_tensor *p) {
  static const struct {
    int32_t rank;
    int64_t dims[4];
  } shapes[PARAMETERS] = {{4, {20, 1, 3, 3}}, {1, {20}}, {4, {50, 20, 5, 5}}, {1, {50}},
                          {2, {800, 128}},    {1, {128}}, {2, {128, 10}},     {1, {10}}};
  for (int i = 0; i < PARAMETERS; ++i)
    check(troika_tensor_normal(context, device, TROIKA_DTYPE_F32, shapes[i].dims, shapes[i].rank, 0,
                               i % 2 == 0 ? 0.01 : 0, (uint64_t)i, &p[i], &error));
}

// ---- Training ----

// Returns the loss of the whole batch.
static double train_batch(troika_context context, troika_batch batch, troika_tensor p[][PARAMETERS],
                          const troika_device *devices, int count, double lr) {
  troika_batch_info info = TROIKA_BATCH_INFO_INIT;
  check(troika_batch_describe(batch, &info, &error));
  troika_tensor x, y, xs[MOST_DEVICES], ys[MOST_DEVICES];
  check(troika_tensor_create(context, devices[0], TROIKA_DTYPE_F32, info.dims, info.rank, info.inputs, &x, &error));
  check(troika_tensor_create(context, devices[0], TROIKA_DTYPE_I32, &info.n, 1, info.labels, &y, &error));
  check(troika_tensor_scatter(keep(x), devices, count, xs, &error));
  check(troika_tensor_scatter(keep(y), devices, count, ys, &error));
  troika_gradients record;
  check(troika_gradients_create(context, &record, &error));
  troika_tensor losses[MOST_DEVICES], gradients[MOST_DEVICES][PARAMETERS];
  for (int d = 0; d < count; ++d) {
    for (int i = 0; i < PARAMETERS; ++i) check(troika_gradients_watch(record, p[d][i], &error));
    losses[d] = loss_of(lenet(keep(xs[d]), p[d]), keep(ys[d]));
  }
  for (int d = 0; d < count; ++d)
    check(troika_gradients_compute(record, losses[d], p[d], PARAMETERS, gradients[d], &error));
  troika_gradients_destroy(record);

  for (int i = 0; i < PARAMETERS; ++i) {  // every device gets the sum over all devices
    troika_tensor of_devices[MOST_DEVICES];
    for (int d = 0; d < count; ++d) of_devices[d] = keep(gradients[d][i]);
    check(troika_tensor_all_reduce(of_devices, count, &error));
    for (int d = 0; d < count; ++d)
      check(troika_tensor_add_in_place(p[d][i], of_devices[d], -lr / (double)info.n, &error));
  }
  double sum = 0;
  for (int d = 0; d < count; ++d) {
    float loss;
    check(troika_tensor_to_host(losses[d], &loss, sizeof loss, &error));
    sum += loss;
  }
  end_step();
  return sum / (double)info.n;
}

// Returns the share of samples whose class has the largest output, by one device.
static double evaluate(troika_context context, troika_loader loader, troika_tensor *p, troika_device device) {
  int64_t correct = 0, samples = 0;
  troika_batch batch;
  troika_status status;
  while ((status = troika_loader_next(loader, &batch, &error)) == TROIKA_OK) {
    troika_batch_info info = TROIKA_BATCH_INFO_INIT;
    check(troika_batch_describe(batch, &info, &error));
    troika_tensor x, best;
    check(troika_tensor_create(context, device, TROIKA_DTYPE_F32, info.dims, info.rank, info.inputs, &x, &error));
    check(troika_tensor_argmax(lenet(keep(x), p), 1, &best, &error));
    int64_t classes[1024];
    check(troika_tensor_to_host(keep(best), classes, info.n * 8, &error));
    for (int64_t i = 0; i < info.n; ++i) correct += classes[i] == info.labels[i];
    samples += info.n;
    end_step();
  }
  if (status != TROIKA_END_OF_DATA) check(status);
  return (double)correct / (double)samples;
}

static troika_loader open_loader(troika_context context, const char *folder, int is_training, int64_t batch,
                                 int32_t shuffle) {
  troika_dataset dataset;
  check(troika_dataset_open_directory(context, folder, is_training ? "train" : "test", NULL, &dataset, &error));
  troika_loader_options options = TROIKA_LOADER_OPTIONS_INIT;
  options.batch = batch;
  options.shuffle = shuffle;
  troika_loader loader;
  check(troika_loader_create(dataset, &options, &loader, &error));
  troika_dataset_destroy(dataset);
  return loader;
}

static double seconds(void) {
  struct timespec now;
  timespec_get(&now, TIME_UTC);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

int main(int argc, char **argv) {
  if (argc < 6) {
    fprintf(stderr, "usage: lenet_from_scratch DEVICES BATCH LR EPOCHS FOLDER [STEPS]\n");
    return 2;
  }
  troika_context context;
  check(troika_context_create(NULL, &context, &error));
  troika_device devices[MOST_DEVICES];
  int count = 0;
  for (char *name = strtok(argv[1], ","); name && count < MOST_DEVICES; name = strtok(NULL, ","))
    check(troika_device_parse(name, &devices[count++], &error));
  const int64_t batch_size = strtoll(argv[2], NULL, 10);
  const double lr = strtod(argv[3], NULL);
  const long epochs = strtol(argv[4], NULL, 10), steps = argc > 6 ? strtol(argv[6], NULL, 10) : -1;
  const troika_loader train = open_loader(context, argv[5], 1, batch_size, steps < 0);
  const troika_loader test = open_loader(context, argv[5], 0, 1000, 0);

  troika_tensor p[MOST_DEVICES][PARAMETERS];
  for (int d = 0; d < count; ++d) init_parameters(context, devices[d], p[d]);
  double training = 0, accuracy = 0;
  long done = 0;
  for (long epoch = 0; epoch < epochs && done != steps; ++epoch) {
    const double begin = seconds();
    troika_batch batch;
    while (done != steps && troika_loader_next(train, &batch, &error) == TROIKA_OK) {
      const double loss = train_batch(context, batch, p, devices, count, lr);
      ++done;
      if (steps > 0) printf("step %ld loss %.7f\n", done, loss);
    }
    training += seconds() - begin;
    if (steps > 0) continue;
    accuracy = evaluate(context, test, p[0], devices[0]);
    printf("epoch %ld: test acc %.4f\n", epoch + 1, accuracy);
  }
  if (steps < 0) printf("test acc: %.2f, %.1f sec/epoch on %d devices\n", accuracy, training / (double)epochs, count);

  for (int d = 0; d < count; ++d)
    for (int i = 0; i < PARAMETERS; ++i) troika_tensor_destroy(p[d][i]);
  troika_loader_destroy(train);
  troika_loader_destroy(test);
  troika_context_destroy(context);
  return 0;
}
