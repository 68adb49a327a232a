#include "callbacks.h"

#include "_cgo_export.h"

static void TROIKA_CALL on_destroy(void *user) { troikaGoDestroy((uintptr_t)user); }

static void TROIKA_CALL on_log(int32_t level, const char *topic, const char *line, void *user) {
  troikaGoLog((uintptr_t)user, level, (char *)topic, (char *)line);
}

void troika_go_set_log(troika_context_options *options, uintptr_t handle) {
  options->log = on_log;
  options->log_user = (void *)handle;
  options->log_user_destroy = on_destroy;
}

troika_status troika_go_create_from(troika_context context, troika_arrays arrays,
                                    const void *inputs, const void *targets, uintptr_t handle,
                                    troika_dataset *out_dataset, troika_error *error) {
  arrays.inputs = inputs;
  arrays.targets = targets;
  if (handle != 0) {
    arrays.borrow = 1;
    arrays.destroy = on_destroy;
    arrays.user = (void *)handle;
  }
  return troika_dataset_create_from(context, &arrays, out_dataset, error);
}

static int64_t TROIKA_CALL on_read(const troika_read_request *request, troika_error *error,
                                   void *user) {
  return troikaGoRead((uintptr_t)user, (troika_read_request *)request, error);
}

troika_status troika_go_create_callback(troika_context context, troika_source source,
                                        uintptr_t handle, troika_dataset *out_dataset,
                                        troika_error *error) {
  source.read = on_read;
  source.user = (void *)handle;
  source.user_destroy = on_destroy;
  return troika_dataset_create_callback(context, &source, out_dataset, error);
}

static int32_t TROIKA_CALL on_progress(const troika_progress *progress, void *user) {
  return troikaGoProgress((uintptr_t)user, (troika_progress *)progress);
}

troika_status troika_go_set_progress(troika_trainer trainer, uintptr_t handle,
                                     troika_error *error) {
  return troika_trainer_set_progress(trainer, handle != 0 ? on_progress : NULL, (void *)handle,
                                     handle != 0 ? on_destroy : NULL, error);
}

static void TROIKA_CALL on_done(troika_status status, const troika_step_result *result,
                                const troika_error *error, void *user) {
  troikaGoDone((uintptr_t)user, status, (troika_step_result *)result, (troika_error *)error);
}

troika_status troika_go_step_async(troika_trainer trainer, troika_batch batch, uintptr_t handle,
                                   troika_pending *out_pending, troika_error *error) {
  return troika_trainer_step_async(trainer, batch, on_done, (void *)handle, out_pending, error);
}

/* DLManagedTensor and DLManagedTensorVersioned of dlpack.h 1.0, as far as their deleters. */
struct dl_tensor {
  void *data;
  int32_t device[2];
  int32_t ndim;
  uint8_t code, bits;
  uint16_t lanes;
  int64_t *shape, *strides;
  uint64_t byte_offset;
};

struct dl_managed_tensor {
  struct dl_tensor tensor;
  void *manager_ctx;
  void (*deleter)(void *self);
};

struct dl_managed_tensor_versioned {
  uint32_t version[2];
  void *manager_ctx;
  void (*deleter)(void *self);
};

void troika_go_delete_dlpack(void *managed, int is_versioned) {
  void (*deleter)(void *self) = is_versioned
                                    ? ((struct dl_managed_tensor_versioned *)managed)->deleter
                                    : ((struct dl_managed_tensor *)managed)->deleter;
  if (deleter != NULL) deleter(managed);
}
