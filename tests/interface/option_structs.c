/* Option structs of newer hosts: unknown fields must be 0. Sizes of no version are refused. */
#include <stdio.h>
#include <string.h>
#include <troika/troika.h>

static int failures = 0;

static void expect(const char *what, troika_status found, troika_status wanted, const troika_error *error) {
  if (found == wanted) return;
  ++failures;
  printf("%s: %s, needs %s: %s\n", what, troika_status_name(found), troika_status_name(wanted), error->message);
}

/* An option struct of a later version, with 16 bytes that this version does not know. */
#define LATER(type) \
  struct {          \
    type known;     \
    char unknown[16]; \
  }

/* Tries `call`, which reads `options.known`, as a newer host and as a wrong host. `first` is the
 * first field. */
#define TRY(type, INIT, first, call, undo)                                                \
  do {                                                                                    \
    LATER(type) options = {INIT, {0}};                                                    \
    SET;                                                                                  \
    expect(#type " as it is", call, TROIKA_OK, &error);                                   \
    undo;                                                                                 \
    options.known.struct_size = (uint32_t)(offsetof(type, first) + sizeof(options.known.first)); \
    expect(#type " of no version", call, TROIKA_ERROR_INVALID_ARGUMENT, &error);          \
    options.known.struct_size = (uint32_t)sizeof options;                                 \
    expect(#type " of a newer host", call, TROIKA_OK, &error);                            \
    undo;                                                                                 \
    options.unknown[15] = 1;                                                              \
    expect(#type " with an unknown field", call, TROIKA_ERROR_UNSUPPORTED, &error);       \
    options.known.struct_size = 0;                                                        \
    expect(#type " without a size", call, TROIKA_ERROR_INVALID_ARGUMENT, &error);         \
  } while (0)

int main(void) {
  const troika_device device = {TROIKA_DEVICE_CPU, 0};
  const int64_t sample[] = {4};
  troika_error error = {0, ""};
  troika_context context = NULL, other = NULL;
  troika_model model = NULL, mlp = NULL;
  troika_dataset dataset = NULL;
  troika_loader loader = NULL;
  troika_trainer trainer = NULL;
  troika_plan_result plan = TROIKA_PLAN_RESULT_INIT;

  expect("context", troika_context_create(NULL, &context, &error), TROIKA_OK, &error);
  expect("model", troika_model_create(context, "mlp", NULL, &mlp, &error), TROIKA_OK, &error);
  expect("dataset", troika_dataset_create_synthetic(context, sample, 1, 8, 2, 0, &dataset, &error), TROIKA_OK, &error);

#define SET (void)0
  TRY(troika_context_options, TROIKA_CONTEXT_OPTIONS_INIT, cpu_threads,
      troika_context_create(&options.known, &other, &error), troika_context_destroy(other));
  TRY(troika_model_options, TROIKA_MODEL_OPTIONS_INIT, reserved,
      troika_model_create(context, "mlp", &options.known, &model, &error), troika_model_destroy(model));
  TRY(troika_trainer_options, TROIKA_TRAINER_OPTIONS_INIT, loss,
      troika_model_attach(mlp, &device, 1, &options.known, &trainer, &error), troika_trainer_destroy(trainer));
  TRY(troika_plan_options, TROIKA_PLAN_OPTIONS_INIT, devices,
      troika_plan_estimate(mlp, &options.known, NULL, &plan, &error), (void)0);
#undef SET
#define SET options.known.batch = 2
  TRY(troika_loader_options, TROIKA_LOADER_OPTIONS_INIT, shuffle,
      troika_loader_create(dataset, &options.known, &loader, &error), troika_loader_destroy(loader));

  troika_dataset_destroy(dataset);
  troika_model_destroy(mlp);
  troika_context_destroy(context);
  return failures != 0;
}
