// The groups of a world of processes.
#include "comm/processes/process_transport.h"

#include <algorithm>
#include <numeric>

#include "comm/processes/process_messages.h"
#include "comm/processes/process_sums.h"

namespace troika {
namespace {

// Ids of the group of processes.
constexpr int kHostGroup = 0, kHostMessages = 1, kFirstGroup = 2;

std::vector<int> processes_of(const SharedLink& link) {
  std::vector<int> processes(static_cast<size_t>(link.processes()));
  std::iota(processes.begin(), processes.end(), 0);
  return processes;
}

class ProcessTransport : public Transport {
 public:
  ProcessTransport(const World& world, std::unique_ptr<Transport> local)
      : owners_(world.owners),
        local_(std::move(local)),
        link_(world.link) {}

  std::vector<std::unique_ptr<Communicator>> create_communicators(const std::vector<int>& group) override {
    const int id = next_id_++;
    const std::vector<int> held = held_of(group);
    if (held.empty()) return std::vector<std::unique_ptr<Communicator>>(group.size());
    if (held.size() == group.size()) return local_->create_communicators(group);
    return ProcessSums::create_communicators(link_, id, group, owners_);
  }

  std::vector<std::unique_ptr<Messenger>> create_messengers(const std::vector<int>& group) override {
    const int id = next_id_++;
    const std::vector<int> held = held_of(group);
    if (held.empty()) return std::vector<std::unique_ptr<Messenger>>(group.size());
    std::vector<std::unique_ptr<Messenger>> local = local_->create_messengers(held);
    if (held.size() == group.size()) return local;
    return create_process_messengers(link_, id, group, owners_, std::move(local));
  }

 private:
  std::vector<int> held_of(const std::vector<int>& group) const {
    std::vector<int> held;
    std::copy_if(group.begin(), group.end(), std::back_inserter(held),
                 [&](int rank) { return owners_[static_cast<size_t>(rank)] == link_->process(); });
    return held;
  }

  const std::vector<int> owners_;
  const std::unique_ptr<Transport> local_;
  const std::shared_ptr<SharedLink> link_;
  int next_id_ = kFirstGroup;  // of groups: the same in all processes
};

}  // namespace

bool connects_processes(const World& world) {
  return !world.is_whole() && std::all_of(world.local.begin(), world.local.end(), [](const LocalMember& member) {
    return member.device->id().kind == DeviceKind::cpu;
  });
}

std::unique_ptr<Communicator> create_process_communicator(const std::shared_ptr<SharedLink>& link) {
  const std::vector<int> processes = processes_of(*link);
  auto ends = ProcessSums::create_communicators(link, kHostGroup, processes, processes);
  return std::move(ends[static_cast<size_t>(link->process())]);
}

std::unique_ptr<Messenger> create_process_messenger(const std::shared_ptr<SharedLink>& link) {
  const std::vector<int> processes = processes_of(*link);
  std::vector<std::unique_ptr<Messenger>> local(1);
  auto ends = create_process_messengers(link, kHostMessages, processes, processes, std::move(local));
  return std::move(ends[static_cast<size_t>(link->process())]);
}

std::unique_ptr<Transport> create_process_transport(const World& world, std::unique_ptr<Transport> local) {
  return std::make_unique<ProcessTransport>(world, std::move(local));
}

}  // namespace troika
