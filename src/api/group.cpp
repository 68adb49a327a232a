// troika_group_*.
#include "api/context_handle.h"
#include "api/field_check.h"
#include "api/group_handle.h"
#include "api/structs.h"
#include "core/environment.h"
#include "group/launch_environment.h"

using namespace troika;
using namespace troika::api;

namespace {

GroupOptions read_group_options(const troika_group_options* given, const char* function) {
  const auto o = read_options(given);
  const FieldCheck check(text(function, ": options."));
  const bool is_explicit = o.rank != TROIKA_UNSET || o.processes != TROIKA_UNSET;
  GroupOptions options;
  if (is_explicit) {
    check.integer("processes", o.processes, 1, 4096);
    check.integer("rank", o.rank, 0, o.processes - 1);
    options.rank = o.rank;
    options.size = o.processes;
  } else {
    options = read_launch_environment(launcher_variable);
  }
  if (o.node != TROIKA_UNSET) {
    check.integer("node", o.node, 0, INT32_MAX);
    options.node = o.node;
  }
  check.integer("connect_timeout_ms", o.connect_timeout_ms, 1, INT32_MAX);
  check.integer("deadline_ms", o.deadline_ms, 1, INT32_MAX);
  options.connect_timeout_ms = o.connect_timeout_ms;
  options.deadline_ms = o.deadline_ms;
  if (o.rendezvous) options.rendezvous = o.rendezvous;
  if (o.network) options.interface = o.network;
  if (o.transport) options.transport = o.transport;
  if (o.secret) options.secret = o.secret;
  return options;
}

}  // namespace

troika_status troika_group_create(troika_context context, const troika_group_options* options, troika_group* out_group,
                                  troika_error* error) {
  constexpr const char* kName = "troika_group_create";
  return guard(error, [&] {
    *required(out_group, kName, "out_group") = nullptr;
    const auto owner = object_of(context, kName, "context");
    const GroupOptions read = read_group_options(options, kName);
    auto handle = std::make_unique<troika_group_s>(std::make_shared<GroupObject>(owner.shared(), read));
    *out_group = handle.release();
  });
}

troika_status troika_group_describe(troika_group group, troika_group_info* out_info, troika_error* error) {
  constexpr const char* kName = "troika_group_describe";
  return guard(error, [&] {
    const auto object = object_of(group, kName, "group");
    result_size(out_info, kName, "out_info");
    const ProcessGroup& processes = object->group;
    const ProcessInfo& own = processes.own();
    troika_group_info info = TROIKA_GROUP_INFO_INIT;
    info.rank = processes.rank();
    info.processes = processes.size();
    info.local_rank = own.local_rank;
    info.local_processes = processes.processes_of_node(own.node);
    info.node = own.node;
    info.nodes = processes.nodes();
    write_result(out_info, info, kName, "out_info");
  });
}

troika_status troika_group_barrier(troika_group group, troika_error* error) {
  constexpr const char* kName = "troika_group_barrier";
  return guard(error, [&] {
    const auto object = object_of(group, kName, "group");
    Exclusive exclusive(object->busy, kName, "group");
    object->exchange->all_gather("a barrier", "", object->deadline());
  });
}

void troika_group_destroy(troika_group group) { destroy_handle(group); }
