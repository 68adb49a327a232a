// The handle of a pending step, and the state that caller and step share.
#pragma once

#include <troika/pending.h>

#include <condition_variable>
#include <mutex>

#include "api/handle.h"

namespace troika::api {

struct PendingObject {
  std::mutex mutex;
  std::condition_variable ended;
  bool is_done = false;
  // Valid once is_done is set:
  troika_status status = TROIKA_OK;
  troika_step_result result = TROIKA_STEP_RESULT_INIT;
  troika_error error{};
};

}  // namespace troika::api

struct troika_pending_s : troika::api::Handle<troika::api::PendingObject, 0x5452504E, troika::api::Threads::yes> {
  using Handle::Handle;
};
