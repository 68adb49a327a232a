/* A host that trains on Fashion-MNIST with the devices of one process or of several. Prints what it
 * computed, in hexadecimal, so that runs can be compared bit for bit.
 *
 *     host NAME=VALUE...
 *
 * model=d2l_lenet devices=1 mesh=0x1x1 batch=64 batches=4 micro=1 shards=0 save=PATH load=PATH ...
 * rounds=N trains on N batches, one per call; times=1 prints the seconds of each.
 * With load=, counts=1 prints the bytes that the process reads, and again=PATH saves at once.
 * gpus=1: the devices are GPUs; gpu=0: all are replicas on that one.
 * first_cpu=2: the devices of the whole world from the third on are CPUs.
 *
 * With victim=RANK, that process ends or stops itself: by=KILL, STOP, TERM or exit, at=PHASE, and
 * so many microseconds after the phase has begun (after=0).
 */
#define _XOPEN_SOURCE 700
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <troika/troika.h>
#include <unistd.h>

static troika_error error;
static char **arguments;

static const char *argument(const char *name, const char *otherwise) {
  size_t size = strlen(name);
  char **at;
  for (at = arguments; *at; ++at)
    if (strncmp(*at, name, size) == 0 && (*at)[size] == '=') return *at + size + 1;
  return otherwise;
}

static int number(const char *name, int otherwise) {
  const char *text = argument(name, NULL);
  return text ? atoi(text) : otherwise;
}

static void check(troika_status status, const char *call) {
  if (status >= 0) return;
  printf("%s: %s: %s\n", call, troika_status_name(status), error.message);
  fflush(stdout);
  exit(3);
}
#define CHECK(call) check(call, #call)

/* Bytes that the process has read from files and sockets. */
static long long bytes_read(void) {
  long long bytes = -1;
  FILE *file = fopen("/proc/self/io", "r");
  if (!file || fscanf(file, "rchar: %lld", &bytes) != 1) bytes = -1;
  if (file) fclose(file);
  return bytes;
}

static double seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void end_here(int signal_number) {
  const char *by = argument("by", "KILL");
  (void)signal_number;
  if (strcmp(by, "KILL") == 0) kill(getpid(), SIGKILL);
  if (strcmp(by, "STOP") == 0) kill(getpid(), SIGSTOP);
  if (strcmp(by, "TERM") == 0) kill(getpid(), SIGTERM);
  _exit(0);
}

/* The phase begins. The victim ends now or soon. */
static void enter(const char *phase) {
  const char *rank = getenv("TROIKA_RANK") ? getenv("TROIKA_RANK") : getenv("OMPI_COMM_WORLD_RANK");
  struct itimerval timer;
  if (rank && atoi(rank) == number("rank_that_is_late", -1) && strcmp(argument("late_at", ""), phase) == 0) {
    struct timespec pause;
    pause.tv_sec = number("late_by", 1);
    pause.tv_nsec = 0;
    nanosleep(&pause, NULL);
  }
  if (!rank || atoi(rank) != number("victim", -1) || strcmp(argument("at", ""), phase) != 0) return;
  if (number("after", 0) == 0) end_here(0);
  memset(&timer, 0, sizeof timer);
  timer.it_value.tv_usec = number("after", 0) % 1000000;
  timer.it_value.tv_sec = number("after", 0) / 1000000;
  signal(SIGALRM, end_here);
  setitimer(ITIMER_REAL, &timer, NULL);
}

static void TROIKA_CALL on_log(int32_t level, const char *topic, const char *line, void *user) {
  (void)level;
  (void)topic;
  (void)user;
  fprintf(stderr, "%s\n", line);
}

static void print_metrics(const char *name, const troika_metrics *metrics) {
  printf("%s loss %a samples %lld correct %lld\n", name, metrics->loss, (long long)metrics->samples,
         (long long)metrics->correct);
}

static unsigned long long digest(const void *data, size_t bytes) {
  const unsigned char *at = data;
  unsigned long long sum = 1469598103934665603ull;
  size_t i;
  for (i = 0; i < bytes; ++i) sum = (sum ^ at[i]) * 1099511628211ull;
  return sum;
}

static unsigned long long digest_of_file(const char *path) {
  static char bytes[1 << 16];
  FILE *file = fopen(path, "rb");
  unsigned long long sum = 0;
  size_t n;
  if (!file) return 0;
  while ((n = fread(bytes, 1, sizeof bytes, file)) > 0) sum = sum * 31 + digest(bytes, n);
  fclose(file);
  return sum;
}

int main(int argc, char **argv) {
  troika_context context;
  troika_context_options context_options = TROIKA_CONTEXT_OPTIONS_INIT;
  troika_group group = NULL;
  troika_group_info place = TROIKA_GROUP_INFO_INIT;
  troika_group_options group_options = TROIKA_GROUP_OPTIONS_INIT;
  troika_model model;
  troika_dataset data, rest[2];
  troika_loader loader, test;
  troika_loader_options loader_options = TROIKA_LOADER_OPTIONS_INIT;
  troika_trainer trainer;
  troika_trainer_options options = TROIKA_TRAINER_OPTIONS_INIT;
  troika_metrics metrics = TROIKA_METRICS_INIT;
  troika_device devices[16];
  int64_t sizes[2], samples = 0;
  const char *path;
  int i, count, before = 0;
  static float output[512 * 10];
  (void)argc;
  arguments = argv + 1;

  if (getenv("LOG")) {
    context_options.log = on_log;
    context_options.log_level = TROIKA_LOG_DEBUG;
  }
  context_options.cpu_threads = number("threads", 1);
  context_options.use_environment = 1;
  CHECK(troika_context_create(&context_options, &context, &error));
  group_options.deadline_ms = number("deadline", 60000);
  group_options.connect_timeout_ms = number("connect", 60000);
  enter("rendezvous");
  CHECK(troika_group_create(context, &group_options, &group, &error));
  CHECK(troika_group_describe(group, &place, &error));

  CHECK(troika_model_create(context, argument("model", "d2l_lenet"), NULL, &model, &error));
  CHECK(troika_dataset_open_directory(context, argument("data", "/usr/share/datasets/fashion-mnist"), "train", NULL,
                                      &data, &error));
  sizes[0] = number("train", 1000);
  sizes[1] = number("test", 301);
  {
    troika_dataset_info info = TROIKA_DATASET_INFO_INIT;
    int64_t all[3];
    troika_dataset parts[3];
    CHECK(troika_dataset_describe(data, &info, &error));
    all[0] = sizes[0];
    all[1] = sizes[1];
    all[2] = info.n - sizes[0] - sizes[1];
    CHECK(troika_dataset_split(data, all, 3, 0, 0, parts, &error));
    rest[0] = parts[0];
    rest[1] = parts[1];
  }
  loader_options.batch = number("batch", 64);
  loader_options.shuffle = 1;
  loader_options.seed = 5;
  CHECK(troika_loader_create(rest[0], &loader_options, &loader, &error));
  loader_options.shuffle = 0;
  loader_options.batch = number("test_batch", 100);
  CHECK(troika_loader_create(rest[1], &loader_options, &test, &error));

  count = number("devices", 1);
  path = getenv("HOST_DEVICES"); /* per process: "2,1,1" */
  if (path) {
    for (i = 0; i < place.rank && path; ++i) {
      before += atoi(path);
      path = strchr(path, ',') ? strchr(path, ',') + 1 : NULL;
    }
    count = path ? atoi(path) : 1;
  }
  for (i = 0; i < count; ++i) {
    int is_gpu = number("gpus", 0) && before + i < number("first_cpu", 1024);
    devices[i].kind = is_gpu ? TROIKA_DEVICE_CUDA : TROIKA_DEVICE_CPU;
    devices[i].index = is_gpu ? number("gpu", i) : i;
  }
  sscanf(argument("mesh", "0x1x1"), "%dx%dx%d", &options.mesh.data, &options.mesh.layer, &options.mesh.channel);
  options.group = group;
  options.learning_rate = 0.05;
  options.momentum = 0.9;
  options.micro_batches = number("micro", 1);
  options.logical_shards = number("shards", 0);
  options.shard_optimizer = number("zero", 0);
  options.sync_batch_norm = number("sync", 0);
  options.recompute_segments = number("recompute", 0);
  options.bucket_bytes = number("bucket", 65536);
  options.precision = number("precision", TROIKA_PRECISION_F32);
  options.optimizer = number("optimizer", TROIKA_OPTIMIZER_SGD);
  if (options.optimizer == TROIKA_OPTIMIZER_ADAM) options.momentum = 0, options.learning_rate = 0.002;
  options.average_decay = number("average", 0) / 100.0;
  options.gradient_compression = number("compression", TROIKA_COMPRESSION_NONE);
  options.max_gradient_norm = number("clip", 0);
  options.late_updates = number("late", 0);
  if (argument("ignore", NULL)) options.ignore_index = number("ignore", 0);
  options.warmup_steps = number("warmup", 0);
  options.deadline_ms = number("deadline", 60000);
  enter("attach");
  CHECK(troika_model_attach(model, devices, count, &options, &trainer, &error));

  if ((path = argument("load", NULL))) {
    troika_loader_position position = TROIKA_LOADER_POSITION_INIT;
    long long before = bytes_read();
    CHECK(troika_trainer_load(trainer, path, &position, &error));
    if (number("counts", 0)) printf("read %lld\n", bytes_read() - before);
    CHECK(troika_loader_seek(loader, &position, &error));
    if ((path = argument("again", NULL))) CHECK(troika_trainer_save(trainer, path, &error));
  }
  enter("training");
  for (i = 0; i < number("rounds", 0); ++i) {
    double began = seconds();
    CHECK(troika_trainer_train_batches(trainer, loader, 1, &metrics, &error));
    if (number("times", 0)) printf("step %.6f\n", seconds() - began);
    if (number("peek", 0) && i % 2) {
      static float values[1 << 20];
      troika_parameter_info info = TROIKA_PARAMETER_INFO_INIT;
      int64_t size = sizeof values[0];
      int axis;
      CHECK(troika_model_describe_parameter(model, 0, &info, &error));
      for (axis = 0; axis < info.rank; ++axis) size *= info.dims[axis];
      CHECK(troika_model_get_parameter(model, info.name, values, size, &error));
      printf("parameter %llx\n", digest(values, (size_t)size));
    }
    enter("between steps");
  }
  if (number("batches", 6) > 0) {
    CHECK(troika_trainer_train_batches(trainer, loader, number("batches", 6), &metrics, &error));
    print_metrics("train", &metrics);
  }
  for (i = 0; i < number("epochs", 0); ++i) {
    CHECK(troika_trainer_train_epoch(trainer, loader, &metrics, &error));
    print_metrics("epoch", &metrics);
  }
  enter("evaluation");
  for (i = 0; i < number("evaluations", 1); ++i) CHECK(troika_trainer_evaluate(trainer, test, &metrics, &error));
  print_metrics("test", &metrics);
  CHECK(troika_trainer_predict_loader(trainer, test, output, sizeof output, &samples, &error));
  printf("predict %lld %llx\n", (long long)samples, digest(output, (size_t)samples * 10 * sizeof(float)));
  if ((path = argument("save", NULL))) {
    enter("checkpoint");
    for (i = 0; i < number("saves", 1); ++i) CHECK(troika_trainer_save(trainer, path, &error));
    printf("state %llx\n", digest_of_file(path));
  }
  if ((path = argument("weights", NULL)) && place.rank == 0) {
    CHECK(troika_model_save(model, path, &error));
    printf("weights %llx\n", digest_of_file(path));
  }
  CHECK(troika_group_barrier(group, &error));
  troika_trainer_destroy(trainer);
  troika_loader_destroy(loader);
  troika_loader_destroy(test);
  troika_dataset_destroy(data);
  troika_model_destroy(model);
  troika_group_destroy(group);
  troika_context_destroy(context);
  return 0;
}
