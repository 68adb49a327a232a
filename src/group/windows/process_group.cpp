// No transport between processes runs on Windows, so a group has one process.
#include "group/process_group.h"

#include "core/error.h"
#include "core/machine.h"
#include "core/text.h"
#include "group/windows/lone_process.h"

namespace troika {

ProcessGroup::ProcessGroup(const GroupOptions& options, const Log&)
    : options_(checked(options)), secret_(options.secret), member_(std::make_shared<Member>(nullptr)) {
  if (size() > 1)
    throw Error(Status::unsupported, text("group: size is ", size(), ", a library for Windows trains in one process"));
  const Deadline deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(options_.connect_timeout_ms);
  roster_ = member_->join(rank(), size(), host_name(), deadline);
}

ProcessGroup::~ProcessGroup() = default;

}  // namespace troika
