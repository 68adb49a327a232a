// The library as this program uses it: handles that destroy themselves, and failures that throw.
#pragma once

#include <troika/troika.h>

#include <stdexcept>
#include <string>
#include <utility>

#include "cli/library_words.h"

namespace troika::cli {

// An error, in one line that says what to do; main prints it and exits with 1.
class Failure : public std::runtime_error {
 public:
  // `status` is the library's, or says the same of what the tool looks for itself.
  explicit Failure(const std::string& line, troika_status status = TROIKA_ERROR_INVALID_ARGUMENT)
      : std::runtime_error(line), status_(status) {}

  bool is_not_found() const { return status_ == TROIKA_ERROR_NOT_FOUND; }
  // The same failure with a further way out.
  Failure with_advice(const std::string& advice) const { return Failure(what() + ("; " + advice), status_); }

 private:
  troika_status status_;
};

// Throws the library's message, in the tool's words, if a call failed. Returns informative
// statuses.
inline troika_status check(troika_status status, const troika_error& error) {
  if (status < 0) throw Failure(in_words_of_tool(error.message), status);
  return status;
}

// Calls a function of the library with an error struct as its last argument, and checks the status.
template <typename Function, typename... Arguments>
troika_status call(Function function, Arguments... arguments) {
  troika_error error;
  return check(function(arguments..., &error), error);
}

// Owns one handle of the library.
template <typename T, void (*destroy)(T)>
class Handle {
 public:
  Handle() = default;
  Handle(Handle&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Handle& operator=(Handle&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Handle() { destroy(handle_); }

  T get() const { return handle_; }
  T* out() { return &handle_; }  // for a call that fills an empty handle

 private:
  T handle_ = nullptr;
};

using Context = Handle<troika_context, troika_context_destroy>;
using Tensor = Handle<troika_tensor, troika_tensor_destroy>;
using Model = Handle<troika_model, troika_model_destroy>;
using Trainer = Handle<troika_trainer, troika_trainer_destroy>;
using Dataset = Handle<troika_dataset, troika_dataset_destroy>;
using Loader = Handle<troika_loader, troika_loader_destroy>;
using Batch = Handle<troika_batch, troika_batch_destroy>;

// A context with `threads` CPU threads (0: every core), whose warnings go to stderr.
Context create_context(int threads = 0, uint64_t seed = 0);

}  // namespace troika::cli
