// The groups of a world of processes.
#include "comm/processes/process_transport.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <set>

#include "comm/processes/machine_memory.h"
#include "comm/processes/memory_communicator.h"
#include "comm/processes/node_communicator.h"
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
        nodes_(world.nodes),
        local_(std::move(local)),
        link_(world.link),
        exchange_(world.exchange),
        memory_(world.memory),
        deadline_(world.deadline) {}

  std::vector<std::unique_ptr<Communicator>> create_communicators(const std::vector<int>& group) override {
    if (shares_memory(group))
      if (auto ends = MemoryCommunicator::create(link_, *exchange_, group, owners_, deadline_); !ends.empty())
        return ends;
    auto all = create_sums(group);
    const std::vector<std::vector<int>> machines = machines_of(group);
    if (machines.empty()) return all;
    const size_t width = machines[0].size();
    std::vector<std::unique_ptr<Communicator>> within, between(group.size());
    for (const std::vector<int>& machine : machines)
      std::ranges::move(create_sums(machine), std::back_inserter(within));
    for (size_t place = 0; place < width; ++place) {
      std::vector<int> ranks;
      for (const std::vector<int>& machine : machines) ranks.push_back(machine[place]);
      auto ends = create_sums(ranks);
      for (size_t machine = 0; machine < ends.size(); ++machine)
        between[machine * width + place] = std::move(ends[machine]);
    }
    for (size_t position = 0; position < group.size(); ++position)
      if (all[position])
        all[position] = std::make_unique<NodeCommunicator>(NodeCommunicator::Ends{
            std::move(all[position]), std::move(within[position]), std::move(between[position])});
    return all;
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
  std::vector<std::unique_ptr<Communicator>> create_sums(const std::vector<int>& group) {
    const int id = next_id_++;
    const std::vector<int> held = held_of(group);
    if (held.empty()) return std::vector<std::unique_ptr<Communicator>>(group.size());
    if (held.size() == group.size()) return local_->create_communicators(group);
    return ProcessSums::create_communicators(link_, id, group, owners_);
  }

  // Whether the group's ranks are in several processes that share memory.
  bool shares_memory(const std::vector<int>& group) const {
    const std::vector<int> processes = processes_of(group);
    return processes.size() > 1 && memory_ && memory_->reaches(processes);
  }

  std::vector<int> processes_of(const std::vector<int>& group) const {
    std::set<int> processes;
    for (int rank : group) processes.insert(owners_[static_cast<size_t>(rank)]);
    return {processes.begin(), processes.end()};
  }

  int node_of(int rank) const { return nodes_[static_cast<size_t>(owners_[static_cast<size_t>(rank)])]; }

  // Returns the ranks of each machine, if sums go within the machines first: there are several
  // machines with several processes each. A machine's sum must be a node of the tree of the whole
  // sum, so that the bits are the same. Otherwise returns nothing.
  std::vector<std::vector<int>> machines_of(const std::vector<int>& group) const {
    std::vector<std::vector<int>> machines;
    if (nodes_.empty()) return machines;
    std::set<int> seen;
    for (int rank : group) {
      if (machines.empty() || node_of(rank) != node_of(machines.back().front())) {
        if (!seen.insert(node_of(rank)).second) return {};
        machines.emplace_back();
      }
      machines.back().push_back(rank);
    }
    const size_t width = machines[0].size();
    if (machines.size() < 2 || !std::has_single_bit(width)) return {};
    for (const std::vector<int>& machine : machines) {
      if (machine.size() != width || processes_of(machine).size() < 2) return {};
    }
    return machines;
  }

  std::vector<int> held_of(const std::vector<int>& group) const {
    std::vector<int> held;
    std::copy_if(group.begin(), group.end(), std::back_inserter(held),
                 [&](int rank) { return owners_[static_cast<size_t>(rank)] == link_->process(); });
    return held;
  }

  const std::vector<int> owners_, nodes_;
  const std::unique_ptr<Transport> local_;
  const std::shared_ptr<SharedLink> link_;
  const std::shared_ptr<Exchange> exchange_;
  const std::shared_ptr<MachineMemory> memory_;  // null: each process has its own
  const Deadline deadline_;
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
