// Fuzzes the reader of weights files and training states, from a file and from memory.
#include <cstring>

#include "fuzz/files.h"
#include "fuzz/world.h"

extern "C" {
__attribute__((weak)) decltype(troika_model_load_memory) troika_model_load_memory;
}

namespace {

using troika::fuzz::check_status;

// Objects that every input is loaded into. They may change, but stay usable.
struct Host {
  Host() {
    const int64_t dims[] = {2};
    const troika_device cpu = {TROIKA_DEVICE_CPU, 0};
    troika_value x = 0;
    if (troika_context_create(nullptr, &context, nullptr) != TROIKA_OK ||
        troika_model_create_empty(context, "net", &model, nullptr) != TROIKA_OK ||
        troika_model_add_input(model, "x", dims, 1, &x, nullptr) != TROIKA_OK ||
        troika_model_add_linear(model, "fc", x, 2, 1, &x, nullptr) != TROIKA_OK ||
        troika_model_set_output(model, x, nullptr) != TROIKA_OK ||
        troika_model_attach(model, &cpu, 1, nullptr, &trainer, nullptr) != TROIKA_OK)
      abort();
  }
  ~Host() {
    troika_trainer_destroy(trainer);
    troika_model_destroy(model);
    troika_context_destroy(context);
  }
  troika_context context = nullptr;
  troika_model model = nullptr;
  troika_trainer trainer = nullptr;
};

}  // namespace

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  troika::fuzz::enter_temporary_folder();
  return 0;
}

// The first byte chooses the options.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return -1;
  static Host host;
  const uint8_t choice = *data++;
  --size;
  troika::fuzz::write_file("x.safetensors", {reinterpret_cast<const char*>(data), size});
  troika_error error;
  char text[2000];
  int64_t text_size = 0;
  check_status("inspect", troika_file_inspect("x.safetensors", text, sizeof text, &text_size, &error), &error);

  troika_load_options options = TROIKA_LOAD_OPTIONS_INIT;
  options.allow_partial = choice & 1;
  if (choice & 2) options.strip_prefix = "m.";
  troika_load_report report = TROIKA_LOAD_REPORT_INIT;
  check_status("load", troika_model_load(host.model, "x.safetensors", &options, &report, &error), &error);
  if (strnlen(report.names, sizeof report.names) == sizeof report.names) abort();
  troika_loader_position position = TROIKA_LOADER_POSITION_INIT;
  check_status("state", troika_trainer_load(host.trainer, "x.safetensors", &position, &error), &error);
  if (&troika_model_load_memory) {
    const auto bytes = static_cast<int64_t>(size);
    check_status("memory", troika_model_load_memory(host.model, data, bytes, &options, &report, &error), &error);
  }
  return 0;
}
