// Fuzzes the reader of model files: a model that opens can be described, written and run.
#include <cstring>
#include <vector>

#include "fuzz/world.h"

extern "C" {
__attribute__((weak)) decltype(troika_model_open_memory) troika_model_open_memory;
__attribute__((weak)) decltype(troika_model_save_memory) troika_model_save_memory;
}

using troika::fuzz::check_status;

// Exit status 77: the library has no such function.
extern "C" int LLVMFuzzerInitialize(int*, char***) {
  if (!&troika_model_open_memory || !&troika_model_save_memory) _Exit(77);
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  troika_context context = nullptr;
  troika_model model = nullptr, again = nullptr;
  troika_error error;
  if (troika_context_create(nullptr, &context, nullptr) != TROIKA_OK) abort();
  check_status("open", troika_model_open_memory(context, data, static_cast<int64_t>(size), &model, &error), &error);
  if (model) {
    int64_t elements = 0, bytes = 0;
    check_status("count", troika_model_count_parameters(model, nullptr, &elements, &error), &error);
    check_status("print", troika_model_print(model, nullptr, 0, nullptr, &error), &error);
    const troika_status status = troika_model_save_memory(model, nullptr, 0, &bytes, &error);
    check_status("size", status, &error);
    if (status == TROIKA_OK && bytes < 1 << 20) {
      std::vector<char> file(static_cast<size_t>(bytes));
      check_status("save", troika_model_save_memory(model, file.data(), bytes, &bytes, &error), &error);
      const troika_status opened = troika_model_open_memory(context, file.data(), bytes, &again, &error);
      if (opened != TROIKA_OK && opened != TROIKA_ERROR_OUT_OF_MEMORY)
        troika::fuzz::report("open again", error.message);
    }
  }
  troika_model_destroy(again);
  troika_model_destroy(model);
  troika_context_destroy(context);
  return 0;
}
