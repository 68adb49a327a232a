// Which communicators and messages a group of GPUs has.
#include "backends/cuda/gpu_transport.h"

#include <algorithm>
#include <atomic>
#include <set>
#include <thread>

#include "backends/cuda/cuda_device.h"
#include "backends/cuda/gpu_messages.h"
#include "backends/cuda/peer_gpu_group.h"
#include "backends/cuda/shared_gpu_group.h"
#include "backends/cuda/staged_communicator.h"
#include "backends/cuda/staged_messenger.h"
#include "comm/nccl/nccl_communicator.h"
#include "comm/nccl/nccl_library.h"
#include "core/text.h"

namespace troika::cuda {
namespace {

constexpr auto kTimeToJoin = std::chrono::minutes(2);

// A member of a group that this process holds.
struct GpuMember {
  int position;  // its rank in the group
  std::shared_ptr<CudaDevice> device;
};

// The ranks of an NCCL group that this process holds.
struct NcclGroup {
  std::vector<GpuMember> members;
  std::vector<GpuObject<Communicator*, std::default_delete<Communicator>{}>> ranks;
};

// A rank whose GPU is current when the group is aborted or ends, on whichever thread that is.
class OnGpu : public Communicator {
 public:
  OnGpu(std::shared_ptr<const NcclGroup> group, size_t index) : group_(std::move(group)), index_(index) {}
  int rank() const override { return own().rank(); }
  int size() const override { return own().size(); }
  void reserve(int slots) override { own().reserve(slots); }
  void start(int slot, const Collective& collective, void* data) override { own().start(slot, collective, data); }
  void progress() override { own().progress(); }
  void wait(int slot, Deadline deadline) override { own().wait(slot, deadline); }
  // Aborts every rank of this process. NCCL reports late, or never, that this rank has gone. The
  // others would wait for this rank until their deadline.
  void abort(const std::string& reason) override {
    for (size_t i = 0; i < group_->ranks.size(); ++i) {
      const ContextGuard guard(*group_->members[i].device->context());
      group_->ranks[i]->abort(reason);
    }
  }

 private:
  Communicator& own() const { return *group_->ranks[index_]; }

  const std::shared_ptr<const NcclGroup> group_;
  const size_t index_;
};

// One thread per member: joining is collective. `processes`: null if this process has all
// members.
std::vector<std::unique_ptr<Communicator>> create_nccl(std::vector<GpuMember> members, size_t size, const ncclUniqueId& id,
                                                       const std::shared_ptr<const Exchange>& processes) {
  const Deadline deadline = std::chrono::steady_clock::now() + kTimeToJoin;
  const auto group = std::make_shared<NcclGroup>();
  group->members = std::move(members);
  group->ranks.resize(group->members.size());
  std::atomic<bool> is_given_up = false;
  std::exception_ptr error;  // the first: others follow from it
  std::vector<std::thread> threads;
  for (size_t i = 0; i < group->members.size(); ++i)
    threads.emplace_back([&, i] {
      const GpuMember& member = group->members[i];
      try {
        const ContextGuard guard(*member.device->context());
        const nccl::Rank own{member.device->id().index, member.device->stream(), &is_given_up, processes};
        auto made = std::make_unique<nccl::NcclCommunicator>(member.position, static_cast<int>(size), id, own, deadline);
        group->ranks[i] = {made.release(), {member.device->context()}};
      } catch (...) {
        if (!is_given_up.exchange(true)) error = std::current_exception();
      }
    });
  for (std::thread& thread : threads) thread.join();
  if (error) std::rethrow_exception(error);
  std::vector<std::unique_ptr<Communicator>> communicators(size);
  for (size_t i = 0; i < group->members.size(); ++i)
    communicators[static_cast<size_t>(group->members[i].position)] = std::make_unique<OnGpu>(group, i);
  return communicators;
}

ncclUniqueId create_id() {
  const nccl::Library& library = nccl::Library::get();
  ncclUniqueId id{};
  library.check(library.get_unique_id(&id), "a group's id");
  return id;
}

// The process of the group's first rank makes the id. All processes take part, with and without
// members: the id travels over the authenticated connections of the processes.
ncclUniqueId share_id(Exchange& exchange, int creator) {
  ncclUniqueId id{};
  std::string own;
  if (exchange.rank() == creator) {
    id = create_id();
    own.assign(id.internal, sizeof id.internal);
  }
  const std::vector<std::string> all =
      exchange.all_gather("the id of a group of NCCL", own, std::chrono::steady_clock::now() + kTimeToJoin);
  const std::string& made = all[static_cast<size_t>(creator)];
  if (made.size() != sizeof id.internal)
    throw Error(Status::comm, text("process ", creator, ": its id of NCCL has ", made.size(), " bytes, need ",
                                   sizeof id.internal));
  made.copy(id.internal, made.size());
  return id;
}

std::set<int> indices_of(const std::vector<std::shared_ptr<CudaDevice>>& gpus) {
  std::set<int> indices;
  for (const auto& gpu : gpus)
    if (gpu) indices.insert(gpu->id().index);
  return indices;
}

class GpuTransport : public Transport {
 public:
  explicit GpuTransport(const World& world)
      : owners_(world.owners), exchange_(world.exchange), host_(world.host), mixes_kinds_(world.mixes_kinds) {
    gpus_.resize(static_cast<size_t>(world.size));
    for (const LocalMember& member : world.local)
      gpus_[static_cast<size_t>(member.rank)] = std::dynamic_pointer_cast<CudaDevice>(member.device);
    // NCCL takes each GPU once, and adds in an order of its own. It launches several groups in an
    // order of its own, too, in which replicas that share GPUs would wait for each other.
    uses_nccl_ = !world.needs_fixed_order && world.takes_vendor_sums && !mixes_kinds_ &&
                 indices_of(gpus_).size() == world.local.size();
  }

  std::vector<std::unique_ptr<Communicator>> create_communicators(const std::vector<int>& group) override {
    if (needs_host(group)) {
      if (!uses_nccl_) return create_staged<StagedCommunicator>(group, host_->create_communicators(group));
      const ncclUniqueId id = share_id(*exchange_, owner_of(group.front()));
      return create_nccl(members_of(group), group.size(), id, exchange_);
    }
    if (!gpus_[static_cast<size_t>(group.front())]) return std::vector<std::unique_ptr<Communicator>>(group.size());
    const std::vector<std::shared_ptr<CudaDevice>> gpus = gpus_of(group);
    const bool is_shared = indices_of(gpus).size() == 1;
    if (uses_nccl_ && !is_shared) return create_nccl(members_of(group), group.size(), create_id(), nullptr);
    return is_shared ? create_ends(std::make_shared<SharedGpuGroup>(gpus))
                     : create_ends(std::make_shared<PeerGpuGroup>(gpus));
  }

  std::vector<std::unique_ptr<Messenger>> create_messengers(const std::vector<int>& group) override {
    if (needs_host(group)) return create_staged<StagedMessenger>(group, host_->create_messengers(group));
    std::vector<std::unique_ptr<Messenger>> messengers(group.size());
    if (!gpus_[static_cast<size_t>(group.front())]) return messengers;
    const auto messages = GpuMessages::create(gpus_of(group));
    for (size_t rank = 0; rank < group.size(); ++rank) messengers[rank] = messages->messenger(static_cast<int>(rank));
    return messengers;
  }

 private:
  int owner_of(int rank) const { return owners_.empty() ? 0 : owners_[static_cast<size_t>(rank)]; }
  // Whether the group spans processes, or is one of a world that mixes kinds. In such a world some
  // processes have no GPU, and all of them create all groups of the host.
  bool needs_host(const std::vector<int>& group) const {
    const auto is_elsewhere = [&](int rank) { return owner_of(rank) != owner_of(group.front()); };
    return mixes_kinds_ || std::any_of(group.begin(), group.end(), is_elsewhere);
  }

  // Null for a member that another process holds, or a CPU.
  std::vector<std::shared_ptr<CudaDevice>> gpus_of(const std::vector<int>& group) const {
    std::vector<std::shared_ptr<CudaDevice>> gpus;
    for (int rank : group) gpus.push_back(gpus_.at(static_cast<size_t>(rank)));
    return gpus;
  }

  std::vector<GpuMember> members_of(const std::vector<int>& group) const {
    std::vector<GpuMember> members;
    const auto gpus = gpus_of(group);
    for (size_t position = 0; position < gpus.size(); ++position)
      if (gpus[position]) members.push_back({static_cast<int>(position), gpus[position]});
    return members;
  }

  static std::vector<std::unique_ptr<Communicator>> create_ends(const std::shared_ptr<GpuGroup>& group) {
    std::vector<std::unique_ptr<Communicator>> communicators;
    for (int rank = 0; rank < group->size(); ++rank) communicators.push_back(group->communicator(rank));
    return communicators;
  }

  // Ends whose data pass through host memory. Those of CPUs have them there.
  template <typename Staged, typename End>
  std::vector<std::unique_ptr<End>> create_staged(const std::vector<int>& group, std::vector<std::unique_ptr<End>> ends) const {
    const auto gpus = gpus_of(group);
    for (size_t position = 0; position < ends.size(); ++position)
      if (ends[position] && gpus[position])
        ends[position] = std::make_unique<Staged>(gpus[position], std::move(ends[position]));
    return ends;
  }

  const std::vector<int> owners_;
  const std::shared_ptr<Exchange> exchange_;
  const std::shared_ptr<Transport> host_;
  const bool mixes_kinds_;
  std::vector<std::shared_ptr<CudaDevice>> gpus_;  // by rank; null: another process or a CPU has the rank
  bool uses_nccl_ = false;
};

bool connects(const World& world) {
  const auto is_gpu = [](const LocalMember& member) { return member.device->id().kind == DeviceKind::cuda; };
  if (world.mixes_kinds) return std::any_of(world.local.begin(), world.local.end(), is_gpu);
  return (world.local.size() == static_cast<size_t>(world.size) || world.host) &&
         std::all_of(world.local.begin(), world.local.end(), is_gpu);
}

}  // namespace

const TransportDef gpu_transport{"GPUs", connects, [](const World& world) -> std::unique_ptr<Transport> {
                                   return std::make_unique<GpuTransport>(world);
                                 }};

std::string built_nccl_version() { return join(nccl::kBuiltVersion, "."); }

}  // namespace troika::cuda
