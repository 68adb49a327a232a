/* A host in C99 with a net and arrays of its own: embedder train | predict
 *
 * train: trains the net on two devices, evaluates it, saves its weights, and writes predictions.
 * predict: a new process builds the net again, loads the weights, predicts, and compares bits. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <troika/troika.h>

enum { SAMPLES = 26, BATCH = 7, CLASSES = 3, SIZE = 8, PIXELS = SIZE * SIZE };
static const char *const weights = "weights.safetensors", *const predictions = "predictions";
static const troika_device cpu = {TROIKA_DEVICE_CPU, 0};
static troika_error error;

static void check(troika_status status, const char *what) {
  if (status >= 0) return;
  fprintf(stderr, "%s: %s: %s\n", what, troika_status_name(status), error.message);
  exit(EXIT_FAILURE);
}

static void require(int holds, const char *what) {
  if (holds) return;
  fprintf(stderr, "%s\n", what);
  exit(EXIT_FAILURE);
}

/* Returns conv - BatchNorm - ReLU, their sum with the conv, pool, flatten, dropout, linear. */
static troika_model build(troika_context context) {
  const int64_t image[] = {1, SIZE, SIZE};
  troika_conv2d_options conv = TROIKA_CONV2D_OPTIONS_INIT;
  troika_pool2d_options pool = TROIKA_POOL2D_OPTIONS_INIT;
  troika_model model = NULL;
  troika_value stem = 0, x = 0;
  conv.out_channels = 4;
  conv.kernel[0] = conv.kernel[1] = 3;
  conv.padding[0] = conv.padding[1] = 1;
  pool.kernel[0] = pool.kernel[1] = 2;
  check(troika_model_create_empty(context, "embedded", &model, &error), "create");
  check(troika_model_add_input(model, "x", image, 3, &x, &error), "input");
  check(troika_model_add_conv2d(model, "conv1", x, &conv, &stem, &error), "conv1");
  check(troika_model_add_batch_norm2d(model, "bn", stem, 1e-5, 0.1, &x, &error), "bn");
  check(troika_model_add_relu(model, "relu", x, &x, &error), "relu");
  check(troika_model_add_conv2d(model, "conv2", x, &conv, &x, &error), "conv2");
  check(troika_model_add_sum(model, "residual", x, stem, &x, &error), "residual");
  check(troika_model_add_max_pool2d(model, "pool", x, &pool, &x, &error), "pool");
  check(troika_model_add_flatten(model, "flatten", x, &x, &error), "flatten");
  check(troika_model_add_dropout(model, "dropout", x, 0.25, &x, &error), "dropout");
  check(troika_model_add_linear(model, "fc", x, CLASSES, 1, &x, &error), "fc");
  check(troika_model_set_output(model, x, &error), "output");
  return model;
}

/* Images of a class are bright in a part of their own. */
static void make_arrays(float *images, int32_t *labels) {
  uint32_t state = 12345;
  for (int i = 0; i < SAMPLES; ++i) {
    labels[i] = i % CLASSES;
    for (int p = 0; p < PIXELS; ++p) {
      state = state * 1664525u + 1013904223u;
      images[i * PIXELS + p] = (float)(state >> 8) / 16777216.0f + (p % CLASSES == labels[i] ? 1.0f : 0.0f);
    }
  }
}

static void predict(troika_context context, troika_model model, const float *images, float *output) {
  const int64_t dims[] = {SAMPLES, 1, SIZE, SIZE};
  troika_tensor input = NULL, result = NULL;
  check(troika_tensor_create(context, cpu, TROIKA_DTYPE_F32, dims, 4, images, &input, &error), "tensor");
  check(troika_model_predict(model, cpu, input, &result, &error), "predict");
  check(troika_tensor_to_host(result, output, SAMPLES * CLASSES * (int64_t)sizeof *output, &error), "to_host");
  troika_tensor_destroy(result);
  troika_tensor_destroy(input);
}

static void train(troika_context context, const float *images, const int32_t *labels) {
  const int64_t image[] = {1, SIZE, SIZE};
  const troika_device devices[] = {{TROIKA_DEVICE_CPU, 0}, {TROIKA_DEVICE_CPU, 1}};
  troika_loader_options batches = TROIKA_LOADER_OPTIONS_INIT;
  troika_trainer_options options = TROIKA_TRAINER_OPTIONS_INIT;
  troika_metrics first = TROIKA_METRICS_INIT, last = TROIKA_METRICS_INIT;
  troika_model model = build(context), shared = NULL;
  troika_dataset dataset = NULL;
  troika_loader loader = NULL;
  troika_trainer trainer = NULL;
  float output[SAMPLES * CLASSES];
  FILE *file;
  batches.batch = BATCH;
  batches.shuffle = 1;
  options.learning_rate = 0.05;
  options.momentum = 0.9;
  check(troika_dataset_create_arrays(context, images, image, 3, SAMPLES, labels, NULL, 0, &dataset, &error), "arrays");
  check(troika_loader_create(dataset, &batches, &loader, &error), "loader");
  check(troika_model_attach(model, devices, 2, &options, &trainer, &error), "attach");
  check(troika_trainer_evaluate(trainer, loader, &first, &error), "evaluate");
  for (int epoch = 0; epoch < 3; ++epoch) check(troika_trainer_train_epoch(trainer, loader, NULL, &error), "train");
  check(troika_trainer_check_replicas(trainer, &error), "replicas");
  check(troika_trainer_evaluate(trainer, loader, &last, &error), "evaluate");
  require(last.samples == SAMPLES && last.loss < first.loss, "the net has not learned");

  /* A refused call says why, and changes nothing. */
  require(troika_model_load(model, "missing", NULL, NULL, &error) == TROIKA_ERROR_NOT_FOUND, "a missing file");
  require(strstr(error.message, "missing") != NULL, "the message does not name the file");
  check(troika_trainer_unwrap(trainer, &shared, &error), "unwrap");
  check(troika_model_save(shared, weights, &error), "save");
  predict(context, shared, images, output);
  file = fopen(predictions, "wb");
  require(file && fwrite(output, sizeof output, 1, file) == 1 && fclose(file) == 0, "cannot write predictions");
  troika_loader_destroy(loader);
  troika_trainer_destroy(trainer);
  troika_model_destroy(shared);
  troika_dataset_destroy(dataset);
  troika_model_destroy(model);
}

static void compare(troika_context context, const float *images) {
  troika_model model = build(context);
  troika_load_report report = TROIKA_LOAD_REPORT_INIT;
  float output[SAMPLES * CLASSES], expected[SAMPLES * CLASSES];
  FILE *file = fopen(predictions, "rb");
  require(file && fread(expected, sizeof expected, 1, file) == 1, "cannot read predictions");
  fclose(file);
  check(troika_model_load(model, weights, NULL, &report, &error), "load");
  require(report.loaded == 11 && report.missing == 0 && report.unexpected == 0, "not every parameter is loaded");
  predict(context, model, images, output);
  require(memcmp(output, expected, sizeof output) == 0, "the new process predicts other bits");
  troika_model_destroy(model);
}

int main(int argc, char **argv) {
  static float images[SAMPLES * PIXELS];
  static int32_t labels[SAMPLES];
  troika_context context = NULL;
  require(argc == 2, "embedder train | predict");
  make_arrays(images, labels);
  check(troika_context_create(NULL, &context, &error), "context");
  if (strcmp(argv[1], "train") == 0)
    train(context, images, labels);
  else
    compare(context, images);
  troika_context_destroy(context);
  puts("ok");
  return EXIT_SUCCESS;
}
