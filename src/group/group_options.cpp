// The limits of options.
#include "group/group_options.h"

#include "core/error.h"
#include "core/text.h"

namespace troika {
namespace {

constexpr int kMostProcesses = 4096;

}  // namespace

const GroupOptions& checked(const GroupOptions& o) {
  auto refuse = [](const std::string& reason) { throw Error(Status::invalid_argument, "group: " + reason); };
  if (o.size < 1 || o.size > kMostProcesses) refuse(text("size is ", o.size, ", need 1 to ", kMostProcesses));
  if (o.rank < 0 || o.rank >= o.size) refuse(text("rank is ", o.rank, ", need 0 to ", o.size - 1));
  if (o.connect_timeout_ms < 1) refuse(text("connect_timeout_ms is ", o.connect_timeout_ms, ", need at least 1"));
  if (o.deadline_ms < 1) refuse(text("deadline_ms is ", o.deadline_ms, ", need at least 1"));
  if (o.size > 1 && o.rendezvous.empty())
    refuse("rendezvous is empty, need tcp://host:port, file:///folder/name or mpi://");
  if (o.bootstrap && !o.bootstrap->is_one_machine() && o.interface.empty())
    refuse("rendezvous is mpi:// and the processes are on several machines, need a network (TROIKA_INTERFACE)");
  return o;
}

}  // namespace troika
