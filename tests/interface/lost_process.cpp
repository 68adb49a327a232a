// A host whose objects outlive their process: lost_process exit | busy | fork | serve
//
// exit: a global object destroys a trainer after the libraries that it used have ended.
// busy: the process exits while threads compute and a state is written.
// fork: the child calls and destroys objects that were created before the fork.
// serve: children predict with the context of a process that predicts on another thread.
#include <sys/wait.h>
#include <troika/troika.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

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

// Threads train and predict until the process ends, which may be at any moment.
int exit_while_busy(int moment) {
  static Objects& others = *new Objects;  // lives as long as the threads
  if (!create(others, 2)) return 7;
  std::thread([] {
    while (troika_trainer_train_epoch(others.trainer, others.loader, nullptr, nullptr) == TROIKA_OK) {
    }
  }).detach();
  std::thread([] {
    const troika_device cpu = {TROIKA_DEVICE_CPU, 0};
    std::vector<float> images(28 * 28 * 64, 0.5f), output(10 * 64);
    for (int64_t n = 1;; n = n % 64 + 1) {  // compiles a plan for each size
      const auto bytes = static_cast<int64_t>(sizeof(float)) * n * 10;
      if (troika_model_predict_into(objects.model, cpu, images.data(), n, nullptr, output.data(), bytes, nullptr) ==
          TROIKA_ERROR_UNSUPPORTED)
        return;
    }
  }).detach();
  troika_batch batch = nullptr;
  troika_save_options saving = TROIKA_SAVE_OPTIONS_INIT;
  saving.in_background = 1;
  if (troika_trainer_save_with(objects.trainer, "background.safetensors", &saving, &error) != TROIKA_OK) return 8;
  if (troika_loader_next(objects.loader, &batch, &error) != TROIKA_OK) return 9;
  for (int i = 0; i < 20; ++i)
    if (troika_trainer_step_async(objects.trainer, batch, nullptr, nullptr, nullptr, &error) != TROIKA_OK) return 10;
  std::this_thread::sleep_for(std::chrono::microseconds(moment * 700));
  return 0;
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

// Predicts with a new model of the context, on as many threads as the context has.
bool predict(troika_context context, const std::atomic<bool>* ends, std::atomic<int>* predictions) {
  const troika_device cpu = {TROIKA_DEVICE_CPU, 0};
  const std::vector<float> image(28 * 28, 0.5f);
  float output[10];
  troika_model model = nullptr;
  bool is_ok = troika_model_create(context, "mlp", nullptr, &model, nullptr) == TROIKA_OK &&
               troika_model_initialize_default(model, 1, nullptr) == TROIKA_OK;
  do {
    is_ok = is_ok && troika_model_predict_into(model, cpu, image.data(), 1, nullptr, output, sizeof output, nullptr) ==
                         TROIKA_OK;
    ++*predictions;
  } while (is_ok && ends && !*ends);
  troika_model_destroy(model);
  return is_ok;
}

// Returns 0 if every child has predicted. Some of them are forked while the thread has all threads
// that the context has for predictions.
int serve() {
  troika_context_options options = TROIKA_CONTEXT_OPTIONS_INIT;
  options.cpu_threads = options.predict_threads = 2;
  troika_context context = nullptr;
  if (troika_context_create(&options, &context, &error) != TROIKA_OK) return 5;
  std::atomic<bool> ends{false};
  std::atomic<int> predictions{0};
  std::thread server([&] { predict(context, &ends, &predictions); });
  // When it predicts, nothing is compiled any more: oneDNN's locks are free in children.
  const auto wait_for_server = [&] {
    for (const int seen = predictions; predictions < seen + 3;) std::this_thread::yield();
  };
  wait_for_server();
  std::atomic<int> lines{0};
  troika_context_options logged = TROIKA_CONTEXT_OPTIONS_INIT;
  logged.log_level = TROIKA_LOG_DEBUG;
  logged.log_user = &lines;
  logged.log = [](int32_t, const char*, const char*, void* user) {
    ++*static_cast<std::atomic<int>*>(user);
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
  };
  troika_context slow = nullptr;  // its log is locked when the process is forked
  if (troika_context_create(&logged, &slow, &error) != TROIKA_OK) _exit(13);  // the server runs
  std::thread writer([&] { predict(slow, nullptr, &predictions); });
  while (lines == 0) std::this_thread::yield();
  if (const pid_t child = fork(); child == 0) {
    alarm(25);
    _exit(predict(slow, nullptr, &predictions) ? 0 : 1);
  } else {
    int status = 0;
    waitpid(child, &status, 0);
    writer.join();
    troika_context_destroy(slow);
    if (status != 0) _exit(14);
  }
  int failed = 0;
  for (int round = 0; round < 20; ++round) {
    wait_for_server();
    const pid_t child = fork();
    if (child == 0) {
      alarm(25);
      _exit(predict(context, nullptr, &predictions) ? 0 : 1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    failed += status != 0;
  }
  ends = true;
  server.join();
  troika_context_destroy(context);
  return failed == 0 ? 0 : 6;
}

}  // namespace

int main(int argc, char** argv) {
  if (std::strcmp(argv[1], "serve") == 0) return serve();
  if (std::strcmp(argv[1], "busy") == 0)
    return create(objects, 2) ? exit_while_busy(argc > 2 ? std::atoi(argv[2]) : 0) : 11;
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
