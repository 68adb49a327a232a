// The group's handle: its processes, and the exchange of calls that need no trainer.
#pragma once

#include <troika/group.h>

#include "api/handle.h"
#include "train/context.h"
#include "train/host_collectives.h"

namespace troika::api {

struct GroupObject {
  GroupObject(std::shared_ptr<Context> c, const GroupOptions& options)
      : context(std::move(c)), group(options, context->log()), collectives(group, context->plugin_folder()) {}
  const std::shared_ptr<Context> context;  // its log outlives the group
  const ProcessGroup group;
  HostCollectives collectives;
  Use busy;
};

}  // namespace troika::api

struct troika_group_s : troika::api::Handle<troika::api::GroupObject, 0x54524752, troika::api::Threads::yes> {
  using Handle::Handle;
};
