// The ResNet-18 of the Gluon chapter, layer by layer: its values on each device, and its training.
//
//     cc gluon.c -ltroika -o gluon
//     ./gluon cpu:0,cpu:1 512 0.2 4 /usr/share/datasets/fashion-mnist
//
// A last argument, IMAGES, trains on the first images alone, and tests on a quarter as many.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <troika/troika.h>

enum { MOST_DEVICES = 8 };

static troika_error error;

static void check(troika_status status) {
  if (status == TROIKA_OK) return;
  fprintf(stderr, "gluon: %s\n", error.message);
  exit(1);
}

// ---- The model: each function adds layers, and returns their output ----

static const char *join(const char *part, const char *layer) {
  static char name[32];
  snprintf(name, sizeof name, "%s.%s", part, layer);
  return name;
}

static troika_value conv2d(troika_model net, const char *part, const char *layer, troika_value x, int64_t channels,
                           int64_t kernel, int64_t stride) {
  troika_conv2d_options options = TROIKA_CONV2D_OPTIONS_INIT;
  options.out_channels = channels;
  options.kernel[0] = options.kernel[1] = kernel;
  options.stride[0] = options.stride[1] = stride;
  options.padding[0] = options.padding[1] = kernel / 2;
  check(troika_model_add_conv2d(net, join(part, layer), x, &options, &x, &error));
  return x;
}

static troika_value batch_norm(troika_model net, const char *part, const char *layer, troika_value x) {
  check(troika_model_add_batch_norm2d(net, join(part, layer), x, 1e-5, 0.1, &x, &error));
  return x;
}

static troika_value relu(troika_model net, const char *part, const char *layer, troika_value x) {
  check(troika_model_add_relu(net, join(part, layer), x, &x, &error));
  return x;
}

static troika_value residual(troika_model net, const char *part, troika_value x, int64_t channels, int64_t stride) {
  troika_value y = conv2d(net, part, "conv1", x, channels, 3, stride);
  y = relu(net, part, "relu1", batch_norm(net, part, "bn1", y));
  y = batch_norm(net, part, "bn2", conv2d(net, part, "conv2", y, channels, 3, 1));
  if (stride > 1) x = conv2d(net, part, "conv3", x, channels, 1, stride);
  check(troika_model_add_sum(net, join(part, "sum"), y, x, &y, &error));
  return relu(net, part, "relu2", y);
}

static troika_model resnet18(troika_context context) {
  const int64_t image[] = {1, 28, 28};
  troika_model net;
  troika_value x;
  check(troika_model_create_empty(context, "resnet18", &net, &error));
  check(troika_model_add_input(net, "x", image, 3, &x, &error));
  x = relu(net, "stem", "relu", batch_norm(net, "stem", "bn", conv2d(net, "stem", "conv", x, 64, 3, 1)));
  for (int i = 0; i < 8; ++i) {  // two blocks for each number of channels: 64, 128, 256, 512
    const char part[] = {(char)('1' + i), '\0'};
    x = residual(net, part, x, 64 << i / 2, i > 0 && i % 2 == 0 ? 2 : 1);
  }
  check(troika_model_add_adaptive_avg_pool2d(net, "pool", x, 1, 1, &x, &error));
  check(troika_model_add_flatten(net, "flatten", x, &x, &error));
  check(troika_model_add_linear(net, "dense", x, 10, 1, &x, &error));
  check(troika_model_set_output(net, x, &error));
  return net;
}

// ---- Predictions and values on each device ----

static void predict_on_each(troika_context context, troika_model net, const troika_device *devices, int32_t count) {
  const int64_t dims[] = {4, 1, 28, 28};
  troika_tensor x, y, parts[MOST_DEVICES];
  check(troika_tensor_uniform(context, devices[0], TROIKA_DTYPE_F32, dims, 4, 0, 1, 0, &x, &error));
  check(troika_tensor_scatter(x, devices, count, parts, &error));
  for (int32_t i = 0; i < count; ++i) {
    char text[600];
    check(troika_model_predict(net, devices[i], parts[i], &y, &error));
    check(troika_tensor_to_text(y, text, sizeof text, NULL, &error));
    printf("predicted %.*s\n", (int)strcspn(text, "\n"), text);  // type, shape and device
    troika_tensor_destroy(y);
    troika_tensor_destroy(parts[i]);
  }
  troika_tensor_destroy(x);
}

static void print_weight(troika_status status, const float *weight) {
  if (status == TROIKA_OK)
    printf("stem.conv.weight begins with %.6f %.6f\n", weight[0], weight[1]);
  else
    printf("refused: %s\n", error.message);
}

static troika_loader load(troika_context context, const char *folder, const char *split, int64_t images, int64_t batch,
                          int32_t shuffle) {
  troika_dataset dataset;
  check(troika_dataset_open_directory(context, folder, split, NULL, &dataset, &error));
  if (images > 0) {
    troika_dataset first;
    check(troika_dataset_split(dataset, &images, 1, 0, 0, &first, &error));
    troika_dataset_destroy(dataset);
    dataset = first;
  }
  troika_loader loader;
  troika_loader_options options = TROIKA_LOADER_OPTIONS_INIT;
  options.batch = batch;
  options.shuffle = shuffle;
  check(troika_loader_create(dataset, &options, &loader, &error));
  troika_dataset_destroy(dataset);
  return loader;
}

int main(int argc, char **argv) {
  if (argc < 6) {
    fprintf(stderr, "usage: gluon DEVICES BATCH LR EPOCHS FOLDER [IMAGES]\n");
    return 2;
  }
  troika_context context;
  check(troika_context_create(NULL, &context, &error));
  troika_device devices[MOST_DEVICES + 1];
  int32_t count = 0;
  for (char *name = strtok(argv[1], ","); name && count < MOST_DEVICES; name = strtok(NULL, ","))
    check(troika_device_parse(name, &devices[count++], &error));

  const troika_model net = resnet18(context);
  int64_t parameters;
  check(troika_model_count_parameters(net, NULL, &parameters, &error));
  printf("%lld parameters\n", (long long)parameters);
  float weight[64 * 9];
  print_weight(troika_model_get_parameter(net, "stem.conv.weight", weight, sizeof weight, &error), weight);
  check(troika_model_initialize_default(net, 0, &error));
  check(troika_model_initialize_layers(net, "conv2d,linear", "weight", TROIKA_INIT_NORMAL, 0.01, 0, &error));
  check(troika_model_initialize_layers(net, "conv2d,linear", "bias", TROIKA_INIT_CONSTANT, 0, 0, &error));
  predict_on_each(context, net, devices, count);

  troika_trainer trainer;
  troika_trainer_options options = TROIKA_TRAINER_OPTIONS_INIT;
  options.learning_rate = strtod(argv[3], NULL);
  check(troika_model_attach(net, devices, count, &options, &trainer, &error));
  devices[count] = (troika_device){TROIKA_DEVICE_CPU, 7};  // not one of the trainer's
  for (int32_t i = 0; i <= count; ++i)
    print_weight(troika_trainer_get_parameter(trainer, "stem.conv.weight", devices[i], weight, sizeof weight, &error),
                 weight);

  const int64_t batch = atoll(argv[2]), images = argc > 6 ? atoll(argv[6]) : 0;
  const troika_loader train = load(context, argv[5], "train", images, batch, 1);
  const troika_loader test = load(context, argv[5], "test", images / 4, batch, 0);
  for (int epoch = 1; epoch <= atoi(argv[4]); ++epoch) {
    troika_metrics trained = TROIKA_METRICS_INIT, tested = TROIKA_METRICS_INIT;
    check(troika_trainer_train_epoch(trainer, train, &trained, &error));
    check(troika_trainer_evaluate_on(trainer, devices[0], test, &tested, &error));
    printf("epoch %d, time %.1f sec, loss %.4f, test acc %.2f\n", epoch, trained.seconds, trained.loss, tested.accuracy);
  }

  troika_loader_destroy(test);
  troika_loader_destroy(train);
  troika_trainer_destroy(trainer);
  troika_model_destroy(net);
  troika_context_destroy(context);
  return 0;
}
