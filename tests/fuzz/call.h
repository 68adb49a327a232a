// One call of a tape: what its arguments share, and the checks after it.
#pragma once

#include <string_view>
#include <vector>

#include "api/allocation_hooks.h"
#include "fuzz/world.h"

namespace troika::fuzz {

// A pattern for outputs, which a failed call must not change.
constexpr uint8_t kUntouched = 0x5A;

class Call {
 public:
  Call(Tape& tape, World& world, const char* name) : tape_(tape), world_(world), name_(name) {
    reads_arrays = is("troika_dataset_create_arrays") || is("troika_dataset_create_tokens") ||
                   is("troika_dataset_create_token_stream") || is("troika_model_predict_into");
  }
  uint8_t byte() { return tape_.byte(); }
  World& world() { return world_; }
  const char* name() const { return name_; }
  bool is(std::string_view name) const { return name == name_; }
  bool has(std::string_view part) const { return std::string_view(name_).find(part) != std::string_view::npos; }
  bool is_destroy() const { return has("_destroy"); }

  // Keeps a text for the length of the call.
  const char* keep(std::string text) { return texts_.emplace_back(std::move(text)).c_str(); }

  // Makes the call, except if an argument could not be made, and checks what it promises.
  template <typename Function, typename... Arguments>
  void run(Function&& function, Arguments&... arguments) {
    if (is_skipped) return;
    test::let_allocations_fail(true);
    const troika_status status = function();
    test::let_allocations_fail(false);
    if (has_status) check_status(name_, status, error);
    if (token && status >= 0 && is_token_released) token->expected = 1;
    (arguments.finish(status), ...);
  }

  int64_t count = 0;  // elements of the array before, or bytes of the buffer before
  bool reads_arrays;  // sizes above those of the arrays would be the caller's fault
  bool is_skipped = false;
  bool has_status = true;
  bool is_token_released = false;  // the library was told how to release `token`
  troika_error* error = nullptr;
  Token* token = nullptr;
  std::vector<int64_t> dims;  // the last shape
  troika_trainer trainer = nullptr;
  troika_loader loader = nullptr;
  troika_dataset dataset = nullptr;
  troika_model model = nullptr;

 private:
  Tape& tape_;
  World& world_;
  const char* name_;
  std::deque<std::string> texts_;
};

struct Function {
  const char* name;
  void (*call)(Call&);
};

// ---- numbers and texts, by the name of the argument or of the field ----

int64_t make_number(Call& call, std::string_view name);
double make_double(Call& call, std::string_view name);
const char* make_text(Call& call, std::string_view name);
// Makes a shape of 1 to 8 sizes; sets `call.dims` and `call.count`.
const int64_t* make_dims(Call& call);
// Memory that is large enough for every array that a tape may describe.
const void* readable_memory(Call& call);
constexpr int64_t kMostElements = 64;  // of a sample in such an array

template <typename T>
T make(Call& call, const char* name) {
  if constexpr (std::is_same_v<T, const char*>) {
    return make_text(call, name);
  } else if constexpr (std::is_same_v<T, double>) {
    return make_double(call, name);
  } else if constexpr (std::is_same_v<T, troika_device>) {
    const uint8_t b = call.byte();
    if (b >= 236) return {static_cast<int32_t>(make_number(call, "kind")), static_cast<int32_t>(make_number(call, ""))};
    return {TROIKA_DEVICE_CPU, b % 4};
  } else if constexpr (std::is_same_v<T, troika_mesh>) {
    const auto part = [&] { return static_cast<int32_t>(make_number(call, "mesh")); };
    return {part(), part(), part(), call.byte() > 250 ? 1 : 0};
  } else if constexpr (std::is_same_v<T, troika_group>) {
    return nullptr;  // complete() picks one
  } else {
    return static_cast<T>(make_number(call, name));
  }
}

// ---- structs that begin with their size ----

// Changes fields of an option struct, then sets arrays, their sizes, and callbacks.
template <typename T>
void complete(T&, Call&) {}
void complete(troika_arrays& s, Call& call);
void complete(troika_source& s, Call& call);
void complete(troika_context_options& s, Call& call);
void complete(troika_loader_options& s, Call& call);
void complete(troika_trainer_options& s, Call& call);
void complete(troika_plan_options& s, Call& call);
void complete(troika_group_options& s, Call& call);

}  // namespace troika::fuzz
