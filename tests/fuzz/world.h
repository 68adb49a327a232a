// The handles that the calls of a tape have made, and the callbacks that calls pass to the library.
#pragma once

#include <troika/troika.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <mutex>
#include <string>
#include <vector>

#include "api/dlpack_structs.h"
#include "fuzz/tape.h"

extern "C" __attribute__((weak)) decltype(troika_pending_destroy) troika_pending_destroy;
extern "C" __attribute__((weak)) decltype(troika_group_destroy) troika_group_destroy;
extern "C" __attribute__((weak)) decltype(troika_gradients_destroy) troika_gradients_destroy;

namespace troika::fuzz {

// The position of a kind of handle in World, and how a handle is destroyed.
template <typename T>
struct HandleKind;
#define TROIKA_HANDLE_KIND(kind, place)                                                                \
  template <>                                                                                          \
  struct HandleKind<troika_##kind> {                                                                   \
    static constexpr size_t kPlace = place;                                                            \
    static void destroy(void* handle) { troika_##kind##_destroy(static_cast<troika_##kind>(handle)); } \
  };
TROIKA_HANDLE_KIND(context, 0)
TROIKA_HANDLE_KIND(tensor, 1)
TROIKA_HANDLE_KIND(dataset, 2)
TROIKA_HANDLE_KIND(loader, 3)
TROIKA_HANDLE_KIND(batch, 4)
TROIKA_HANDLE_KIND(model, 5)
TROIKA_HANDLE_KIND(trainer, 6)
TROIKA_HANDLE_KIND(pending, 7)
TROIKA_HANDLE_KIND(group, 8)
TROIKA_HANDLE_KIND(gradients, 9)
#undef TROIKA_HANDLE_KIND
constexpr size_t kKinds = 10;

class World;

// The `user` of a callback. It counts how often the library released it.
struct Token {
  const char* call = "";  // that passed it to the library
  std::atomic<int> released{0};
  std::atomic<int> expected{0};
  uint8_t action = 0;
  World* world = nullptr;                      // of the only thread; null with several threads
  troika_trainer trainer = nullptr;            // of a progress callback
  int64_t sample = 0, labels = 0, values = 0;  // elements of a sample, of a dataset's callback
  bool is_stream = false;
};

// All tokens of a tape, which live until its end.
class Tokens {
 public:
  Token& add() {
    const std::lock_guard lock(mutex_);
    return tokens_.emplace_back();
  }
  // Waits for steps that go on, then checks that each token was released as often as it should be.
  void check();

 private:
  std::mutex mutex_;
  std::deque<Token> tokens_;
};

// The handles of one thread, and those that all threads share.
class World {
 public:
  World(Tokens& tokens, World* shared, bool is_alone) : tokens_(tokens), shared_(shared), is_alone_(is_alone) {}
  Tokens& tokens() { return tokens_; }
  bool is_alone() const { return is_alone_; }

  template <typename T>
  void add(T handle) {
    handles_[HandleKind<T>::kPlace].push_back(handle);
  }
  void add_lent(troika_batch batch, troika_loader loader) { lent_.push_back({batch, loader}); }

  // Returns a handle of this kind, or null if there is none.
  template <typename T>
  T pick(uint8_t choice) {
    constexpr size_t kPlace = HandleKind<T>::kPlace;
    return static_cast<T>(pick_of(kPlace, choice));
  }
  void* pick_of(size_t place, uint8_t choice);

  // Returns a handle that is this thread's own, which the caller destroys; null if there is none.
  template <typename T>
  T take(uint8_t choice) {
    auto& handles = handles_[HandleKind<T>::kPlace];
    if (handles.empty()) return nullptr;
    const auto at = handles.begin() + choice % handles.size();
    const T handle = static_cast<T>(*at);
    handles.erase(at);
    if constexpr (std::is_same_v<T, troika_loader>) forget(handle);
    return handle;
  }
  bool is_shared(void* handle) const;

  // Destroys all handles, in an order that the tape decides.
  void destroy_all(Tape& tape);

  std::vector<DLManagedTensor*> managed;
  std::vector<DLManagedTensorVersioned*> managed_versioned;
  std::vector<troika_value> values{0, 1, -1};
  std::vector<char> file;  // the last model that was written to memory

 private:
  struct Lent {
    troika_batch batch;
    troika_loader loader;
  };
  void forget(troika_loader loader);

  Tokens& tokens_;
  World* shared_;
  bool is_alone_;
  std::vector<void*> handles_[kKinds];
  std::vector<Lent> lent_;  // batches of loaders
};

// ---- callbacks ----

void TROIKA_CALL release_token(void* user);
void TROIKA_CALL on_log(int32_t level, const char* topic, const char* line, void* user);
int32_t TROIKA_CALL on_progress(const troika_progress* progress, void* user);
void TROIKA_CALL on_done(troika_status status, const troika_step_result* result, const troika_error* error, void* user);
int64_t TROIKA_CALL on_read(const troika_read_request* request, troika_error* error, void* user);

// Checks what every call promises of its status and its message.
void check_status(const char* call, troika_status status, const troika_error* error);

}  // namespace troika::fuzz
