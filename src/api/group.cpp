// troika_group_*.
#include "api/context_handle.h"
#include "api/field_check.h"
#include "api/group_handle.h"
#include "api/structs.h"
#include "api/tensor_handle.h"
#include "comm/links.h"
#include "core/environment.h"
#include "group/launch_environment.h"

using namespace troika;
using namespace troika::api;

namespace {

bool is_explicit(const troika_group_options& o) { return o.rank != TROIKA_UNSET || o.processes != TROIKA_UNSET; }

GroupOptions read_group_options(const troika_group_options* given, const char* function) {
  const auto o = read_options(given);
  const FieldCheck check(text(function, ": options."));
  GroupOptions options;
  if (is_explicit(o)) {
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

// A launcher says rank and size itself. Its processes trust its messages, so they need no secret of
// their own.
void read_bootstrap(GroupOptions& options, bool is_explicit, const std::string& plugin_folder, const char* function) {
  const Deadline deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(options.connect_timeout_ms);
  options.bootstrap = create_bootstrap(options.rendezvous, plugin_folder, deadline);
  if (!options.bootstrap) return;
  const int rank = options.bootstrap->rank(), size = options.bootstrap->size();
  if (is_explicit && (options.rank != rank || options.size != size))
    throw Error(Status::invalid_argument,
                text(function, ": options.rank is ", options.rank, " of ", options.size, " processes, rendezvous ",
                     options.rendezvous, " says ", rank, " of ", size));
  options.rank = rank;
  options.size = size;
  if (options.secret.empty()) options.secret = options.bootstrap->broadcast(fresh_secret(), deadline);
}

// A call of a group with a tensor, whose data are copied to host memory if they are not there.
class GroupCall {
 public:
  GroupCall(troika_group group, troika_tensor tensor, const char* function)
      : group_(object_of(group, function, "group")),
        tensor_(object_of(tensor, function, "tensor")),
        exclusive_(group_->busy, function, "group") {
    if (!is_on_host()) copy_ = own().to_host();
  }

  HostCollectives& collectives() const { return group_->collectives; }
  const TensorType& type() const { return own().type(); }
  const void* host_data() const { return is_on_host() ? own().data() : copy_.data(); }
  void* host_data() { return is_on_host() ? own().data() : copy_.data(); }
  void write_back() {
    if (!is_on_host()) own().write(copy_.data());
  }
  // Returns a tensor on the same device.
  troika_tensor create(TensorType type, const std::vector<std::byte>& data) const {
    auto tensor = Tensor::create(own().device(), std::move(type));
    tensor->write(data.data());
    return new_tensor(tensor_->context, std::move(tensor));
  }

 private:
  Tensor& own() const { return *tensor_->tensor; }
  bool is_on_host() const { return own().device()->id().kind == DeviceKind::cpu; }

  const Hold<GroupObject> group_;
  const Hold<TensorObject> tensor_;
  const Exclusive exclusive_;
  std::vector<std::byte> copy_;
};

template <typename F>
troika_status call_in_place(troika_group group, troika_tensor tensor, const char* function, troika_error* error, F f) {
  return guard(error, [&] {
    GroupCall call(group, tensor, function);
    f(call.collectives(), call.type(), call.host_data());
    call.write_back();
  });
}

using MakeTensor = std::vector<std::byte> (HostCollectives::*)(const TensorType& type, const void* data, Shape& shape);

troika_status call_for_tensor(troika_group group, troika_tensor tensor, troika_tensor* out_tensor, const char* function,
                              troika_error* error, MakeTensor make) {
  return guard(error, [&] {
    *required(out_tensor, function, "out_tensor") = nullptr;
    const GroupCall call(group, tensor, function);
    Shape shape;
    const std::vector<std::byte> data = (call.collectives().*make)(call.type(), call.host_data(), shape);
    *out_tensor = call.create({call.type().dtype, shape}, data);
  });
}

}  // namespace

troika_status troika_group_create(troika_context context, const troika_group_options* options, troika_group* out_group,
                                  troika_error* error) {
  constexpr const char* kName = "troika_group_create";
  return guard(error, [&] {
    *required(out_group, kName, "out_group") = nullptr;
    const auto owner = object_of(context, kName, "context");
    GroupOptions read = read_group_options(options, kName);
    read_bootstrap(read, is_explicit(read_options(options)), owner->plugin_folder(), kName);
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
    object->collectives.barrier();
  });
}

troika_status troika_group_all_reduce(troika_group group, troika_tensor tensor, troika_error* error) {
  return call_in_place(group, tensor, "troika_group_all_reduce", error,
                       [](HostCollectives& c, const TensorType& type, void* data) { c.all_reduce(type, data); });
}

troika_status troika_group_broadcast(troika_group group, troika_tensor tensor, int32_t root, troika_error* error) {
  return call_in_place(
      group, tensor, "troika_group_broadcast", error,
      [root](HostCollectives& c, const TensorType& type, void* data) { c.broadcast(root, type, data); });
}

troika_status troika_group_receive(troika_group group, troika_tensor tensor, int32_t from, troika_error* error) {
  return call_in_place(
      group, tensor, "troika_group_receive", error,
      [from](HostCollectives& c, const TensorType& type, void* data) { c.receive(from, type, data); });
}

troika_status troika_group_send(troika_group group, troika_tensor tensor, int32_t to, troika_error* error) {
  constexpr const char* kName = "troika_group_send";
  return guard(error, [&] {
    const GroupCall call(group, tensor, kName);
    call.collectives().send(to, call.type(), call.host_data());
  });
}

troika_status troika_group_all_gather(troika_group group, troika_tensor tensor, troika_tensor* out_tensor,
                                      troika_error* error) {
  return call_for_tensor(group, tensor, out_tensor, "troika_group_all_gather", error, &HostCollectives::all_gather);
}

troika_status troika_group_reduce_scatter(troika_group group, troika_tensor tensor, troika_tensor* out_tensor,
                                          troika_error* error) {
  return call_for_tensor(group, tensor, out_tensor, "troika_group_reduce_scatter", error,
                         &HostCollectives::reduce_scatter);
}

void troika_group_destroy(troika_group group) { destroy_handle(group); }
