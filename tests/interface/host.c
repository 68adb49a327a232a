/* A host of one version of the headers. versions_test.py runs it on a library of another version.
 *
 * Every struct is alone in its memory, so the address sanitizer finds a byte too many. Each struct
 * that the library has filled is printed as NAME HOST_SIZE FILLED_SIZE. The program fails if a byte
 * beyond FILLED_SIZE is not 0. With an argument, every option struct sets its last byte to 1: the
 * calls must answer as the argument says. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include TROIKA_HEADER

static troika_error error;

static void fail(const char *what) {
  fprintf(stderr, "%s: %s\n", what, error.message);
  exit(EXIT_FAILURE);
}

static void check(troika_status status, const char *what) {
  if (status < 0) fail(what);
}

/* Returns a struct from its function _init, in memory of just its size. */
#define NEW(type) ((type *)new_struct(sizeof(type), (init_function)type##_init))
typedef void (*init_function)(void *, uint32_t);
static void *new_struct(size_t size, init_function init) {
  unsigned char *memory = (unsigned char *)malloc(size);
  uint32_t found;
  memset(memory, 0xA5, size);
  init(memory, (uint32_t)size);
  memcpy(&found, memory, sizeof found);
  if (found != size) fail("_init sets another struct_size");
  return memory;
}

static void report(const char *name, const void *filled, size_t size) {
  uint32_t known;
  size_t i;
  memcpy(&known, filled, sizeof known);
  printf("%s %d %d\n", name, (int)size, (int)known);
  for (i = known; i < size; ++i)
    if (((const unsigned char *)filled)[i] != 0) fail(name);
}
#define REPORT(type, filled) report(#type, filled, sizeof(type))

static void ended(void *user) { ++*(int *)user; }

static int32_t TROIKA_CALL on_progress(const troika_progress *progress, void *user) {
  (void)user;
  return progress->batches < progress->batch;
}

/* Sets the last byte of an option struct and expects `wanted` of a call. */
static troika_status wanted;
static int is_newer;
#define TRY(type, options, call)                                                   \
  do {                                                                             \
    if (is_newer) {                                                                \
      ((unsigned char *)options)[sizeof(type) - 1] = 1;                            \
      if ((call) != wanted) fail(#type " with a new field");                       \
      ((unsigned char *)options)[sizeof(type) - 1] = 0;                            \
    }                                                                              \
    check(call, #type);                                                            \
  } while (0)

int main(int argc, char **argv) {
  const int64_t image[] = {1, 8, 8};
  const troika_device devices[] = {{TROIKA_DEVICE_CPU, 0}, {TROIKA_DEVICE_CPU, 1}};
  troika_context_options *context_options = NEW(troika_context_options);
  troika_conv2d_options *conv = NEW(troika_conv2d_options);
  troika_pool2d_options *pool = NEW(troika_pool2d_options);
  troika_loader_options *batches = NEW(troika_loader_options);
  troika_trainer_options *options = NEW(troika_trainer_options);
  troika_parameter_group *groups = (troika_parameter_group *)malloc(2 * sizeof *groups);
  troika_plan_options *plan_options = NEW(troika_plan_options);
  troika_load_options *load_options = NEW(troika_load_options);
  troika_dataset_info *dataset_info = NEW(troika_dataset_info);
  troika_batch_info *batch_info = NEW(troika_batch_info);
  troika_parameter_info *parameter_info = NEW(troika_parameter_info);
  troika_tensor_info *tensor_info = NEW(troika_tensor_info);
  troika_device_info *device_info = NEW(troika_device_info);
  troika_loader_position *position = NEW(troika_loader_position);
  troika_step_result *result = NEW(troika_step_result);
  troika_metrics *metrics = NEW(troika_metrics);
  troika_memory_info *memory = NEW(troika_memory_info);
  troika_load_report *load_report = NEW(troika_load_report);
  troika_plan_result *plan = NEW(troika_plan_result);
  troika_context context;
  troika_model model;
  troika_value x;
  troika_dataset dataset;
  troika_loader loader;
  troika_batch batch;
  troika_trainer trainer;
  troika_tensor tensor;
  int callbacks_ended = 0;

  is_newer = argc > 1;
  if (is_newer) wanted = atoi(argv[1]);
  TRY(troika_context_options, context_options, troika_context_create(context_options, &context, &error));
  check(troika_device_describe(context, devices[0], device_info, &error), "device");
  REPORT(troika_device_info, device_info);

  check(troika_model_create_empty(context, "net", &model, &error), "model");
  check(troika_model_add_input(model, "x", image, 3, &x, &error), "input");
  conv->out_channels = 4;
  conv->kernel[0] = conv->kernel[1] = 3;
  if (is_newer) {
    ((unsigned char *)conv)[sizeof *conv - 1] = 1;
    if (troika_model_add_conv2d(model, "no", x, conv, &x, &error) != wanted) fail("troika_conv2d_options");
    ((unsigned char *)conv)[sizeof *conv - 1] = 0;
  }
  check(troika_model_add_conv2d(model, "conv", x, conv, &x, &error), "convolution");
  pool->kernel[0] = pool->kernel[1] = 2;
  check(troika_model_add_max_pool2d(model, "pool", x, pool, &x, &error), "pooling");
  check(troika_model_add_flatten(model, "flatten", x, &x, &error), "flatten");
  check(troika_model_add_linear(model, "fc", x, 3, 1, &x, &error), "linear");
  check(troika_model_set_output(model, x, &error), "output");
  check(troika_model_describe_parameter(model, 0, parameter_info, &error), "parameter");
  REPORT(troika_parameter_info, parameter_info);

  check(troika_dataset_create_synthetic(context, image, 3, 24, 3, 1, &dataset, &error), "dataset");
  check(troika_dataset_describe(dataset, dataset_info, &error), "dataset");
  REPORT(troika_dataset_info, dataset_info);
  batches->batch = 8;
  TRY(troika_loader_options, batches, troika_loader_create(dataset, batches, &loader, &error));

  troika_parameter_group_init(&groups[0], (uint32_t)sizeof groups[0]);
  troika_parameter_group_init(&groups[1], (uint32_t)sizeof groups[1]);
  groups[0].pattern = "conv.*";
  groups[1].pattern = "fc.bias";
  groups[1].learning_rate = 0.25;
  options->groups = groups;
  options->group_count = 2;
  options->momentum = 0.5;
  TRY(troika_trainer_options, options, troika_model_attach(model, devices, 2, options, &trainer, &error));
  {
    double rate = 0;
    check(troika_trainer_get_learning_rate(trainer, 1, &rate, &error), "rate");
    if (rate != 0.25) fail("the second group has another learning rate");
  }
  check(troika_trainer_set_progress(trainer, on_progress, &callbacks_ended, ended, &error), "progress");

  check(troika_loader_next(loader, &batch, &error), "batch");
  check(troika_batch_describe(batch, batch_info, &error), "batch");
  REPORT(troika_batch_info, batch_info);
  check(troika_trainer_step(trainer, batch, result, &error), "step");
  REPORT(troika_step_result, result);
  if (result->samples != 8 || result->step != 1) fail("the result of a step");
  check(troika_trainer_train_epoch(trainer, loader, metrics, &error), "epoch");
  REPORT(troika_metrics, metrics);
  if (metrics->samples != 16) fail("the metrics of an epoch");
  check(troika_trainer_memory(trainer, 0, memory, &error), "memory");
  REPORT(troika_memory_info, memory);
  check(troika_trainer_save(trainer, "state.safetensors", &error), "save");
  check(troika_trainer_load(trainer, "state.safetensors", position, &error), "load");
  REPORT(troika_loader_position, position);
  position->struct_size = (uint32_t)sizeof *position; /* the call above may have filled less */
  TRY(troika_loader_position, position, troika_loader_seek(loader, position, &error));
  check(troika_loader_tell(loader, position, &error), "position");

  plan_options->devices = 2;
  TRY(troika_plan_options, plan_options, troika_plan_estimate(model, plan_options, NULL, plan, &error));
  REPORT(troika_plan_result, plan);

  check(troika_tensor_create(context, devices[0], TROIKA_DTYPE_F32, image, 3, NULL, &tensor, &error), "tensor");
  check(troika_tensor_describe(tensor, tensor_info, &error), "tensor");
  REPORT(troika_tensor_info, tensor_info);

  check(troika_trainer_set_progress(trainer, NULL, NULL, NULL, &error), "progress");
  if (callbacks_ended != 1) fail("the user data of the callback was not ended");
  troika_trainer_destroy(trainer);
  check(troika_model_save(model, "weights.safetensors", &error), "save");
  TRY(troika_load_options, load_options, troika_model_load(model, "weights.safetensors", load_options, load_report, &error));
  REPORT(troika_load_report, load_report);

  troika_tensor_destroy(tensor);
  troika_loader_destroy(loader);
  troika_dataset_destroy(dataset);
  troika_model_destroy(model);
  troika_context_destroy(context);
  free(context_options), free(conv), free(pool), free(batches), free(options), free(groups), free(plan_options);
  free(load_options), free(dataset_info), free(batch_info), free(parameter_info), free(tensor_info), free(device_info);
  free(position), free(result), free(metrics), free(memory), free(load_report), free(plan);
  return EXIT_SUCCESS;
}
