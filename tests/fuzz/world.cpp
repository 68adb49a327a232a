// Handles and callbacks of a tape.
#include "fuzz/world.h"

#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "api/allocation_hooks.h"
#include "core/utf8.h"

namespace troika::fuzz {

// A trainer that ends in a step's callback leaves the thread of its steps to end by itself. The
// search for leaks would take the thread's memory for one.
bool has_thread_of_steps() {
  std::error_code error;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task", error)) {
    std::string name;
    std::getline(std::ifstream(task.path() / "comm") >> std::ws, name);
    if (name == "troika steps") return true;
  }
  return false;
}

void Tokens::check() {
  for (int wait = 0; wait < 1000; ++wait) {
    const bool all = std::all_of(tokens_.begin(), tokens_.end(),
                                 [](const Token& token) { return token.released >= token.expected; });
    if (all) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  for (int wait = 0; wait < 1000 && has_thread_of_steps(); ++wait)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  for (const Token& token : tokens_)
    if (token.released != token.expected)
      report(token.call,
             "user data were released " + std::to_string(token.released) + " times, needs " + std::to_string(token.expected));
}

void* World::pick_of(size_t place, uint8_t choice) {
  const bool has_lent = place == HandleKind<troika_batch>::kPlace;
  const size_t own = handles_[place].size(), lent = has_lent ? lent_.size() : 0,
               shared = shared_ ? shared_->handles_[place].size() : 0;
  if (own + lent + shared == 0) return nullptr;
  const size_t at = choice % (own + lent + shared);
  if (at < own) return handles_[place][at];
  if (at < own + lent) return lent_[at - own].batch;
  return shared_->handles_[place][at - own - lent];
}

bool World::is_shared(void* handle) const {
  if (!shared_) return false;
  return std::any_of(std::begin(shared_->handles_), std::end(shared_->handles_),
                     [&](const auto& handles) { return std::count(handles.begin(), handles.end(), handle) > 0; });
}

void World::forget(troika_loader loader) {
  lent_.erase(std::remove_if(lent_.begin(), lent_.end(), [&](const Lent& lent) { return lent.loader == loader; }),
              lent_.end());
}

void World::destroy_all(Tape& tape) {
  static constexpr void (*kDestroy[kKinds])(void*) = {
      HandleKind<troika_context>::destroy, HandleKind<troika_tensor>::destroy, HandleKind<troika_dataset>::destroy,
      HandleKind<troika_loader>::destroy,  HandleKind<troika_batch>::destroy,  HandleKind<troika_model>::destroy,
      HandleKind<troika_trainer>::destroy, HandleKind<troika_pending>::destroy, HandleKind<troika_group>::destroy,
      HandleKind<troika_gradients>::destroy};
  size_t first = tape.byte();
  for (size_t i = 0; i < kKinds; ++i, first += 3)  // 3 and 10 have no common factor, so every kind has its turn
    for (void* handle : handles_[first % kKinds]) kDestroy[first % kKinds](handle);
  for (DLManagedTensor* tensor : managed) tensor->deleter(tensor);
  for (DLManagedTensorVersioned* tensor : managed_versioned) tensor->deleter(tensor);
}

// ---- callbacks ----

void TROIKA_CALL release_token(void* user) { ++static_cast<Token*>(user)->released; }

void TROIKA_CALL on_log(int32_t, const char* topic, const char* line, void* user) {
  if (!topic || !line || !user || std::strchr(line, '\n')) report("log", "a line that is not one line");
}

int32_t TROIKA_CALL on_progress(const troika_progress*, void* user) {
  Token& token = *static_cast<Token*>(user);
  switch (token.action % 5) {
    case 1: return 1;
    case 2: troika_trainer_request_stop(token.trainer, nullptr); return 0;
    case 3: troika_trainer_check_replicas(token.trainer, nullptr); return 0;
    case 4:
      if (token.world) troika_loader_destroy(token.world->take<troika_loader>(token.action));
      return 0;
    default: return 0;
  }
}

void TROIKA_CALL on_done(troika_status status, const troika_step_result* result, const troika_error* error,
                         void* user) {
  release_token(user);  // first: the check allocates, and may fail on this thread
  if (!result && status >= 0) report("done", "no result");
  if (error) check_status("done", status, error);
}

int64_t TROIKA_CALL on_read(const troika_read_request* request, troika_error* error, void* user) {
  const Token& token = *static_cast<Token*>(user);
  if (request->n < 1) report("read", "asked for no samples");
  int64_t n = request->n;
  if (token.is_stream) n = std::clamp<int64_t>(10 - request->first, 0, n);
  if (request->inputs) std::memset(request->inputs, 0, static_cast<size_t>(n * token.sample) * 4);
  if (request->labels)
    for (int64_t i = 0; i < n * token.labels; ++i) request->labels[i] = token.action > 250 ? -7 : 0;
  if (request->values) std::memset(request->values, 0, static_cast<size_t>(n * token.values) * sizeof(float));
  if (token.action % 8 == 1) {
    if (error) std::snprintf(error->message, sizeof error->message, "no\nsample \xff");
    return -1;
  }
  if (token.action % 8 == 2) {
    if (error) error->status = TROIKA_STOPPED;
    return -1;
  }
  return token.action % 8 == 3 ? n + 1 : n;
}

void check_status(const char* call, troika_status status, const troika_error* error) {
  if (status > TROIKA_STOPPED || status < TROIKA_ERROR_CALLBACK) report(call, "status " + std::to_string(status));
  if (status == TROIKA_ERROR_INTERNAL) report(call, std::string("INTERNAL: ") + (error ? error->message : ""));
  if (!error) return;
  const size_t size = strnlen(error->message, sizeof error->message);
  if (size == sizeof error->message) report(call, "a message without end");
  const std::string_view message(error->message, size);
  if (status >= 0 && (error->status != 0 || size > 0)) report(call, "success with a message");
  if (status >= 0) return;
  if (error->status != status) report(call, "another status in the error struct");
  if (size == 0) report(call, "no message");
  if (printable(message) != message) report(call, "a message that is not one line of UTF-8: " + std::string(message));
}

}  // namespace troika::fuzz
