// One program for one process and for several: LeNet with warm-up, a training state, and recompute.
//
//     cc parallel_training.c -ltroika -o parallel_training
//     troika run --processes 2 -- ./parallel_training FOLDER 4 state.safetensors
//     ./parallel_training FOLDER 0 state.safetensors
//
// FOLDER has the files of Fashion-MNIST. The second argument is the number of epochs; with 0 the
// program loads the state and evaluates it. More arguments: SEGMENTS of recompute, and IMAGES to
// take the first images alone.
#include <stdio.h>
#include <stdlib.h>
#include <troika/troika.h>

static troika_error error;
static troika_group_info process = TROIKA_GROUP_INFO_INIT;

static void check(troika_status status) {
  if (status == TROIKA_OK) return;
  fprintf(stderr, "parallel_training: rank %d: %s\n", process.rank, error.message);
  exit(1);
}

// Whole batches: a trainer with a group reads only its process's samples of them.
static troika_loader load(troika_context context, const char *folder, const char *split, int64_t images,
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
  options.batch = 256;  // of all processes together
  options.shuffle = shuffle;
  check(troika_loader_create(dataset, &options, &loader, &error));
  troika_dataset_destroy(dataset);
  return loader;
}

int main(int argc, char **argv) {
  if (argc < 4) {
    fprintf(stderr, "usage: parallel_training FOLDER EPOCHS STATE [SEGMENTS [IMAGES]]\n");
    return 2;
  }
  const int epochs = atoi(argv[2]);
  const int64_t images = argc > 5 ? atoll(argv[5]) : 0;
  troika_context context;
  troika_group group;
  check(troika_context_create(NULL, &context, &error));
  check(troika_group_create(context, NULL, &group, &error));  // as the launcher says; alone without one
  check(troika_group_describe(group, &process, &error));
  troika_device device;  // a GPU for each process of a machine, or a CPU
  check(troika_device_try(context, process.local_rank, &device, &error));

  troika_model model;
  troika_trainer trainer;
  troika_trainer_options options = TROIKA_TRAINER_OPTIONS_INIT;
  options.group = group;
  options.learning_rate = 0.05;
  options.warmup_steps = 8;  // the rate rises to 0.05 in eight steps
  options.recompute_segments = argc > 4 ? atoi(argv[4]) : 0;
  check(troika_model_create(context, "d2l_lenet", NULL, &model, &error));
  check(troika_model_initialize(model, "*.weight", TROIKA_INIT_XAVIER_UNIFORM, 0, 1, &error));
  check(troika_model_attach(model, &device, 1, &options, &trainer, &error));
  const troika_loader train = load(context, argv[1], "train", images, 1);
  const troika_loader test = load(context, argv[1], "test", images, 0);

  const int is_first = process.rank == 0;
  if (is_first) printf("%d processes\n", process.processes);
  if (epochs == 0) check(troika_trainer_load(trainer, argv[3], NULL, &error));
  for (int epoch = 1; epoch <= epochs; ++epoch) {
    troika_metrics metrics = TROIKA_METRICS_INIT;  // of all processes
    check(troika_trainer_train_epoch(trainer, train, &metrics, &error));
    if (is_first) printf("epoch %d: loss %.5f\n", epoch, metrics.loss);
  }
  troika_metrics metrics = TROIKA_METRICS_INIT;
  check(troika_trainer_evaluate(trainer, test, &metrics, &error));
  if (is_first) printf("test loss %.5f, test acc %.4f\n", metrics.loss, metrics.accuracy);
  if (epochs > 0) check(troika_trainer_save(trainer, argv[3], &error));  // rank 0 writes, all learn the result

  troika_loader_destroy(test);
  troika_loader_destroy(train);
  troika_trainer_destroy(trainer);
  troika_model_destroy(model);
  troika_group_destroy(group);
  troika_context_destroy(context);
  return 0;
}
