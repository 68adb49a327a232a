// The group's handle: its processes, and the exchange of calls that need no trainer.
#pragma once

#include <troika/group.h>

#include "api/handle.h"
#include "group/process_group.h"
#include "train/context.h"

namespace troika::api {

struct GroupObject {
  GroupObject(std::shared_ptr<Context> c, const GroupOptions& options)
      : context(std::move(c)), group(options, context->log()), exchange(group.create_exchange()) {}
  const std::shared_ptr<Context> context;  // its log outlives the group
  const ProcessGroup group;
  const std::unique_ptr<Exchange> exchange;
  Use busy;

  Deadline deadline() const {
    return std::chrono::steady_clock::now() + std::chrono::milliseconds(group.options().deadline_ms);
  }
};

}  // namespace troika::api

struct troika_group_s : troika::api::Handle<troika::api::GroupObject, 0x54524752, troika::api::Threads::yes> {
  using Handle::Handle;
};
