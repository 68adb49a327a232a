// troika_trainer_step_async and troika_pending_*.
#include "api/data_handles.h"
#include "api/pending_handle.h"
#include "api/step_result.h"
#include "api/structs.h"
#include "api/trainer_handle.h"

using namespace troika;
using namespace troika::api;

namespace {

// Runs the step, unless an earlier step was stopped, and keeps what the step returned. Returns
// whether later steps may run. Several processes stop one step together, and agree on the next.
bool run_step(Trainer& trainer, const Batch& batch, bool is_stopped, PendingObject& pending) {
  troika_step_result result = TROIKA_STEP_RESULT_INIT;
  troika_error error{};
  const troika_status status = guard(&error, [&] {
    require_no_exit();
    StepResult found;
    if (is_stopped || !trainer.step(batch, found)) return TROIKA_STOPPED;
    result = to_public(found);
    return found.is_skipped ? TROIKA_STEP_SKIPPED : TROIKA_OK;
  });
  result.struct_size = sizeof result;
  std::lock_guard lock(pending.mutex);
  pending.status = status;
  pending.result = result;
  pending.error = error;
  return status != TROIKA_STOPPED || trainer.peers().exist();
}

void publish(PendingObject& pending, troika_done_function done, void* user) {
  {
    std::lock_guard lock(pending.mutex);
    pending.is_done = true;
  }
  pending.ended.notify_all();
  if (!done) return;
  try {
    done(pending.status, &pending.result, &pending.error, user);
  } catch (...) {  // the host's own; there is no call that could return it
  }
}

}  // namespace

troika_status troika_trainer_step_async(troika_trainer trainer, troika_batch batch, troika_done_function done,
                                        void* user, troika_pending* out_pending, troika_error* error) {
  constexpr const char* kName = "troika_trainer_step_async";
  return guard(error, [&] {
    if (out_pending) *out_pending = nullptr;
    const auto object = object_of(trainer, kName, "trainer");
    const auto hold = batch_of(batch, kName, "batch");
    // The loader fills its batch again.
    const auto kept = batch->is_loaders ? std::make_shared<const Batch>(*hold) : hold.shared();
    const auto pending = std::make_shared<PendingObject>();
    auto handle = out_pending ? std::make_unique<troika_pending_s>(pending) : nullptr;
    Use& busy = object->trainer->busy();
    object->steps->add(
        {[owner = object.shared(), kept, pending](bool is_stopped) {
           return run_step(*owner->trainer, *kept, is_stopped, *pending);
         },
         [pending, done, user] { publish(*pending, done, user); }, done != nullptr},
        [&] {
          if (!busy.begin_alone()) refuse_busy(kName, "trainer");
        },
        [&busy] { busy.end_alone(); });
    if (out_pending) *out_pending = handle.release();
  });
}

troika_status troika_pending_poll(troika_pending pending, int32_t* out_is_done, troika_error* error) {
  constexpr const char* kName = "troika_pending_poll";
  return guard(error, [&] {
    const auto object = object_of(pending, kName, "pending");
    std::lock_guard lock(object->mutex);
    *required(out_is_done, kName, "out_is_done") = object->is_done ? 1 : 0;
  });
}

troika_status troika_pending_wait(troika_pending pending, int64_t timeout_ms, troika_step_result* out_result,
                                  troika_error* error) {
  constexpr const char* kName = "troika_pending_wait";
  troika_error step_error{};
  const troika_status status = guard(error, [&] {
    if (out_result) result_size(out_result, kName, "out_result");
    const auto object = object_of(pending, kName, "pending");
    std::unique_lock lock(object->mutex);
    const auto is_done = [&] { return object->is_done; };
    constexpr int64_t kLongest = int64_t{1} << 40;  // milliseconds, beyond which clocks overflow
    if (timeout_ms < 0)
      object->ended.wait(lock, is_done);
    else if (!object->ended.wait_for(lock, std::chrono::milliseconds(std::min(timeout_ms, kLongest)), is_done))
      throw Error(Status::busy, text(kName, ": the step has not ended after ", timeout_ms, " ms"));
    if (object->status < 0) {
      step_error = object->error;
    } else if (out_result && object->status != TROIKA_STOPPED) {
      write_result(out_result, object->result, kName, "out_result");
    }
    return object->status;
  });
  if (step_error.status < 0 && error) *error = step_error;
  return status;
}

void troika_pending_destroy(troika_pending pending) { destroy_handle(pending); }
