// Fine-tuning a ResNet-50: weights of 1,000 classes go into a model of 10, Adam trains the new last
// layer alone on several devices, and the result predicts on one.
//
//     cc fine_tune_resnet50.c -ltroika -o fine_tune_resnet50
//     ./fine_tune_resnet50 resnet50.safetensors /usr/share/datasets/fashion-mnist cpu:0,cpu:1
//                          IMAGES EPOCHS fine_tuned.safetensors
//
// resnet50.safetensors has torchvision's names. docs/tools/pt-to-safetensors converts .pt files.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <troika/troika.h>

enum { SIDE = 64, PIXELS = SIDE * SIDE, CLASSES = 10, BATCH = 32, MOST_DEVICES = 8 };

static troika_error error;

static void check(troika_status status) {
  if (status == TROIKA_OK) return;
  fprintf(stderr, "fine_tune_resnet50: %s\n", error.message);
  exit(1);
}

// The first images of Fashion-MNIST, resized, with three equal channels: [count, 3, 64, 64].
static troika_dataset read_images(troika_context context, const char *folder, const char *split,
                                  int64_t count) {
  troika_dataset gray, colours;
  troika_dataset_options resized = TROIKA_DATASET_OPTIONS_INIT;
  resized.resize_height = resized.resize_width = SIDE;
  check(troika_dataset_open_directory(context, folder, split, &resized, &gray, &error));
  troika_loader loader;
  troika_loader_options all = TROIKA_LOADER_OPTIONS_INIT;
  all.batch = count;
  check(troika_loader_create(gray, &all, &loader, &error));
  troika_batch batch;
  check(troika_loader_next(loader, &batch, &error));
  troika_batch_info info = TROIKA_BATCH_INFO_INIT;
  check(troika_batch_describe(batch, &info, &error));

  float *pixels = malloc((size_t)count * 3 * PIXELS * sizeof *pixels);
  if (!pixels) exit(1);
  for (int64_t i = 0; i < count; ++i)
    for (int64_t channel = 0; channel < 3; ++channel)
      memcpy(pixels + (3 * i + channel) * PIXELS, info.inputs + i * PIXELS,
             PIXELS * sizeof *pixels);
  const int64_t dims[] = {3, SIDE, SIDE};
  check(troika_dataset_create_arrays(context, pixels, dims, 3, count, info.labels, NULL, 0,
                                     &colours, &error));
  free(pixels);
  troika_loader_destroy(loader);
  troika_dataset_destroy(gray);
  return colours;
}

static troika_loader load(troika_dataset dataset, int32_t shuffle) {
  troika_loader loader;
  troika_loader_options options = TROIKA_LOADER_OPTIONS_INIT;
  options.batch = BATCH;
  options.shuffle = shuffle;
  check(troika_loader_create(dataset, &options, &loader, &error));
  return loader;
}

int main(int argc, char **argv) {
  if (argc != 7) {
    fprintf(stderr, "usage: fine_tune_resnet50 WEIGHTS DATA DEVICES IMAGES EPOCHS OUT\n");
    return 2;
  }
  troika_context context;
  check(troika_context_create(NULL, &context, &error));
  troika_device devices[MOST_DEVICES];
  int32_t device_count = 0;
  for (char *name = strtok(argv[3], ","); name && device_count < MOST_DEVICES; name = strtok(NULL, ","))
    check(troika_device_parse(name, &devices[device_count++], &error));
  const int64_t images = atoll(argv[4]);
  troika_dataset dataset = read_images(context, argv[2], "train", images);
  troika_loader train = load(dataset, 1), again = load(dataset, 0);

  // All weights of the file fit except those of the last layer, which begins anew.
  troika_model model;
  troika_model_options ten = TROIKA_MODEL_OPTIONS_INIT;
  ten.classes = CLASSES;
  ten.input_height = SIDE;
  check(troika_model_create(context, "resnet50", &ten, &model, &error));
  troika_load_options what_fits = TROIKA_LOAD_OPTIONS_INIT;
  what_fits.skip_mismatching = 1;
  what_fits.name_map = "torchvision";
  troika_load_report report = TROIKA_LOAD_REPORT_INIT;
  check(troika_model_load(model, argv[1], &what_fits, &report, &error));
  printf("loaded %d of the file's values\n%s", report.loaded, report.names);
  check(troika_model_initialize(model, "fc.weight", TROIKA_INIT_XAVIER_UNIFORM, 0, 1, &error));

  // The first group that a name fits has the parameter: fc learns, the rest is frozen.
  troika_parameter_group groups[] = {TROIKA_PARAMETER_GROUP_INIT, TROIKA_PARAMETER_GROUP_INIT};
  groups[0].pattern = "fc.*";
  groups[0].learning_rate = 0.001;
  groups[1].pattern = "*";
  groups[1].frozen = 1;
  troika_trainer trainer;
  troika_trainer_options options = TROIKA_TRAINER_OPTIONS_INIT;
  options.optimizer = TROIKA_OPTIMIZER_ADAM;
  options.groups = groups;
  options.group_count = 2;
  check(troika_model_attach(model, devices, device_count, &options, &trainer, &error));
  for (int epoch = 1; epoch <= atoi(argv[5]); ++epoch) {
    troika_metrics metrics = TROIKA_METRICS_INIT;
    check(troika_trainer_train_epoch(trainer, train, &metrics, &error));
    printf("epoch %d loss %.4f accuracy %.4f\n", epoch, metrics.loss, metrics.accuracy);
  }
  troika_metrics metrics = TROIKA_METRICS_INIT;
  check(troika_trainer_evaluate(trainer, again, &metrics, &error));
  printf("%d devices: accuracy %.4f\n", device_count, metrics.accuracy);

  // On one device, as a model without a trainer.
  troika_model alone;
  check(troika_trainer_unwrap(trainer, &alone, &error));
  check(troika_model_save(alone, argv[6], &error));
  const troika_loader_position start = TROIKA_LOADER_POSITION_INIT;
  check(troika_loader_seek(again, &start, &error));
  troika_batch batch;
  float logits[BATCH * CLASSES];
  int64_t correct = 0;
  while (troika_loader_next(again, &batch, &error) == TROIKA_OK) {
    troika_batch_info info = TROIKA_BATCH_INFO_INIT;
    check(troika_batch_describe(batch, &info, &error));
    check(troika_model_predict_into(alone, devices[0], info.inputs, info.dims[0], NULL, logits,
                                    info.dims[0] * CLASSES * (int64_t)sizeof *logits, &error));
    for (int64_t i = 0; i < info.dims[0]; ++i) {
      int best = 0;
      for (int c = 1; c < CLASSES; ++c)
        if (logits[i * CLASSES + c] > logits[i * CLASSES + best]) best = c;
      correct += best == info.labels[i];
    }
  }
  printf("one device: accuracy %.4f\n", (double)correct / (double)images);

  troika_model_destroy(alone);
  troika_trainer_destroy(trainer);
  troika_model_destroy(model);
  troika_loader_destroy(again);
  troika_loader_destroy(train);
  troika_dataset_destroy(dataset);
  troika_context_destroy(context);
  return 0;
}
