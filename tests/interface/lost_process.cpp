// A host whose objects outlive their process: lost_process exit | fork
//
// exit: a global object destroys a trainer after the libraries that it used have ended.
// fork: the child calls and destroys objects that were created before the fork.
#include <sys/wait.h>
#include <troika/troika.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>

namespace {

troika_error error;

struct Objects {
  troika_context context = nullptr;
  troika_model model = nullptr;
  troika_dataset dataset = nullptr;
  troika_loader loader = nullptr;
  troika_trainer trainer = nullptr;
  Objects() { troika_context_create(nullptr, &context, &error); }
  ~Objects() {
    // A call while the process exits is refused, and does not crash.
    if (trainer && troika_trainer_train_epoch(trainer, loader, nullptr, &error) != TROIKA_ERROR_UNSUPPORTED) _exit(3);
    troika_trainer_destroy(trainer);
    troika_loader_destroy(loader);
    troika_dataset_destroy(dataset);
    troika_model_destroy(model);
    troika_context_destroy(context);
  }
} objects;

bool create(Objects& o, int devices) {
  const int64_t image[] = {1, 28, 28};
  const troika_device cpus[] = {{TROIKA_DEVICE_CPU, 0}, {TROIKA_DEVICE_CPU, 1}};
  troika_loader_options batches = TROIKA_LOADER_OPTIONS_INIT;
  batches.batch = 16;
  return troika_model_create(o.context, "mlp", nullptr, &o.model, &error) == TROIKA_OK &&
         troika_dataset_create_synthetic(o.context, image, 3, 64, 10, 1, &o.dataset, &error) == TROIKA_OK &&
         troika_loader_create(o.dataset, &batches, &o.loader, &error) == TROIKA_OK &&
         troika_model_attach(o.model, cpus, devices, nullptr, &o.trainer, &error) == TROIKA_OK &&
         troika_trainer_train_epoch(o.trainer, o.loader, nullptr, &error) == TROIKA_OK;
}

bool is_refused(troika_status status) {
  return status == TROIKA_ERROR_UNSUPPORTED && std::strstr(error.message, "before this process was forked");
}

// Returns the number of the first check that fails; 0 if none does.
int check_child(Objects& o) {
  troika_batch batch = nullptr;
  troika_tensor input = nullptr, output = nullptr;
  const int64_t dims[] = {1, 1, 28, 28};
  const troika_device cpu = {TROIKA_DEVICE_CPU, 0};
  alarm(25);
  if (troika_tensor_create(o.context, cpu, TROIKA_DTYPE_F32, dims, 4, nullptr, &input, &error) != TROIKA_OK) return 1;
  if (!is_refused(troika_trainer_train_epoch(o.trainer, o.loader, nullptr, &error))) return 2;
  if (!is_refused(troika_trainer_predict(o.trainer, input, &output, &error))) return 3;
  if (!is_refused(troika_trainer_save(o.trainer, "state.safetensors", &error))) return 4;
  if (!is_refused(troika_model_predict(o.model, cpu, input, &output, &error))) return 5;
  if (!is_refused(troika_model_save(o.model, "weights.safetensors", &error))) return 6;
  if (!is_refused(troika_loader_next(o.loader, &batch, &error))) return 7;
  troika_trainer_destroy(o.trainer);
  troika_loader_destroy(o.loader);
  troika_model_destroy(o.model);
  troika_tensor_destroy(input);
  troika_dataset_destroy(o.dataset);
  troika_context_destroy(o.context);
  return 0;
}

}  // namespace

int main(int, char** argv) {
  const bool forks = std::strcmp(argv[1], "fork") == 0;
  if (!create(objects, forks ? 2 : 1)) return std::puts(error.message), 1;
  if (!forks) return 0;
  const pid_t child = fork();
  if (child == 0) _exit(check_child(objects));
  int status = 0;
  waitpid(child, &status, 0);
  if (status != 0) return std::printf("the child's status is %d\n", status), 2;
  // The parent's objects are as they were.
  return troika_trainer_train_epoch(objects.trainer, objects.loader, nullptr, &error) == TROIKA_OK ? 0 : 4;
}
