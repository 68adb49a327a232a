// A ResNet-18 by data parallelism: each device has the whole network and its share of every batch.
//
//     cc data_parallel.c -ltroika -o data_parallel
//     ./data_parallel d2l_resnet18 28 cpu:0 256 0.1 10 /usr/share/datasets/fashion-mnist
//     ./data_parallel d2l_resnet18 28 cpu:0,cpu:1 512 0.2 10 /usr/share/datasets/fashion-mnist
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
  fprintf(stderr, "data_parallel: %s\n", error.message);
  exit(1);
}

// The batches of a split of the data. With `images`, of the first ones alone.
static troika_loader load(troika_context context, const char *folder, const char *split, int64_t side, int64_t images,
                          int64_t batch, int32_t shuffle) {
  troika_dataset dataset;
  troika_dataset_options resized = TROIKA_DATASET_OPTIONS_INIT;
  resized.resize_height = resized.resize_width = side;
  check(troika_dataset_open_directory(context, folder, split, &resized, &dataset, &error));
  if (images > 0) {
    troika_dataset first;
    check(troika_dataset_split(dataset, &images, 1, 0, 0, &first, &error));
    troika_dataset_destroy(dataset);
    dataset = first;
  }
  troika_loader_options options = TROIKA_LOADER_OPTIONS_INIT;
  options.batch = batch;
  options.shuffle = shuffle;
  troika_loader loader;
  check(troika_loader_create(dataset, &options, &loader, &error));
  troika_dataset_destroy(dataset);
  return loader;
}

int main(int argc, char **argv) {
  if (argc < 8) {
    fprintf(stderr, "usage: data_parallel MODEL SIDE DEVICES BATCH LR EPOCHS FOLDER [IMAGES]\n");
    return 2;
  }
  troika_context context;
  check(troika_context_create(NULL, &context, &error));
  char names[256];
  snprintf(names, sizeof names, "%s", argv[3]);
  troika_device devices[MOST_DEVICES];
  int32_t count = 0;
  for (char *name = strtok(argv[3], ","); name && count < MOST_DEVICES; name = strtok(NULL, ","))
    check(troika_device_parse(name, &devices[count++], &error));
  const int64_t side = atoll(argv[2]), batch = atoll(argv[4]), images = argc > 8 ? atoll(argv[8]) : 0;
  const int epochs = atoi(argv[6]);
  const troika_loader train = load(context, argv[7], "train", side, images, batch, 1);
  const troika_loader test = load(context, argv[7], "test", side, images / 4, batch, 0);

  troika_model model;
  troika_model_options sizes = TROIKA_MODEL_OPTIONS_INIT;
  sizes.input_height = side;
  check(troika_model_create(context, argv[1], &sizes, &model, &error));
  check(troika_model_initialize_layers(model, "conv2d,linear", "weight", TROIKA_INIT_NORMAL, 0.01, 0, &error));

  troika_trainer trainer;
  troika_trainer_options options = TROIKA_TRAINER_OPTIONS_INIT;
  options.learning_rate = strtod(argv[5], NULL);
  options.sync_batch_norm = 1;  // several devices compute what one computes, also in BatchNorm
  check(troika_model_attach(model, devices, count, &options, &trainer, &error));
  double seconds = 0;
  troika_metrics tested = TROIKA_METRICS_INIT;
  for (int epoch = 1; epoch <= epochs; ++epoch) {
    troika_metrics trained = TROIKA_METRICS_INIT;
    check(troika_trainer_train_epoch(trainer, train, &trained, &error));
    check(troika_trainer_evaluate_on(trainer, devices[0], test, &tested, &error));
    printf("epoch %d: loss %.4f, test loss %.4f, test acc %.4f\n", epoch, trained.loss, tested.loss, tested.accuracy);
    seconds += trained.seconds;
  }
  check(troika_trainer_check_replicas(trainer, &error));
  printf("test acc: %.2f, %.1f sec/epoch on %s\n", tested.accuracy, seconds / epochs, names);

  troika_trainer_destroy(trainer);
  troika_model_destroy(model);
  troika_loader_destroy(test);
  troika_loader_destroy(train);
  troika_context_destroy(context);
  return 0;
}
