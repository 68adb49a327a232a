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
#include "comm/nccl/nccl_communicator.h"
#include "comm/nccl/nccl_library.h"
#include "core/text.h"

namespace troika::cuda {
namespace {

constexpr auto kTimeToJoin = std::chrono::minutes(2);

// The ranks of an NCCL group, all of this process.
struct NcclGroup {
  std::vector<std::shared_ptr<CudaDevice>> devices;
  std::vector<GpuObject<Communicator*, std::default_delete<Communicator>{}>> ranks;
};

// A rank whose GPU is current when the group is aborted or ends, on whichever thread that is.
class OnGpu : public Communicator {
 public:
  OnGpu(std::shared_ptr<const NcclGroup> group, int rank) : group_(std::move(group)), rank_(rank) {}
  int rank() const override { return rank_; }
  int size() const override { return own().size(); }
  void reserve(int slots) override { own().reserve(slots); }
  void start(int slot, const Collective& collective, void* data) override { own().start(slot, collective, data); }
  void progress() override { own().progress(); }
  void wait(int slot, Deadline deadline) override { own().wait(slot, deadline); }
  // Aborts every rank. NCCL reports late, or never, that this rank has gone, and the others would
  // wait for it until their deadline.
  void abort(const std::string& reason) override {
    for (size_t i = 0; i < group_->ranks.size(); ++i) {
      const ContextGuard guard(*group_->devices[i]->context());
      group_->ranks[i]->abort(reason);
    }
  }

 private:
  Communicator& own() const { return *group_->ranks[static_cast<size_t>(rank_)]; }

  const std::shared_ptr<const NcclGroup> group_;
  const int rank_;
};

// One thread per rank: joining is collective.
std::vector<std::unique_ptr<Communicator>> create_nccl(const std::vector<std::shared_ptr<CudaDevice>>& devices) {
  const nccl::Library& library = nccl::Library::get();
  ncclUniqueId id{};
  library.check(library.get_unique_id(&id), "a group's id");
  const int size = static_cast<int>(devices.size());
  const Deadline deadline = std::chrono::steady_clock::now() + kTimeToJoin;
  const auto group = std::make_shared<NcclGroup>();
  group->devices = devices;
  group->ranks.resize(devices.size());
  std::atomic<bool> is_given_up = false;
  std::exception_ptr error;  // the first: others follow from it
  std::vector<std::thread> threads;
  for (int rank = 0; rank < size; ++rank)
    threads.emplace_back([&, rank] {
      CudaDevice& device = *devices[static_cast<size_t>(rank)];
      try {
        const ContextGuard guard(*device.context());
        const nccl::Rank own{device.id().index, device.stream(), &is_given_up};
        auto made = std::make_unique<nccl::NcclCommunicator>(rank, size, id, own, deadline);
        group->ranks[static_cast<size_t>(rank)] = {made.release(), {device.context()}};
      } catch (...) {
        if (!is_given_up.exchange(true)) error = std::current_exception();
      }
    });
  for (std::thread& thread : threads) thread.join();
  if (error) std::rethrow_exception(error);
  std::vector<std::unique_ptr<Communicator>> communicators;
  for (int rank = 0; rank < size; ++rank) communicators.push_back(std::make_unique<OnGpu>(group, rank));
  return communicators;
}

std::set<int> indices_of(const std::vector<std::shared_ptr<CudaDevice>>& gpus) {
  std::set<int> indices;
  for (const auto& gpu : gpus) indices.insert(gpu->id().index);
  return indices;
}

class GpuTransport : public Transport {
 public:
  explicit GpuTransport(const World& world) {
    for (const LocalMember& member : world.local) gpus_.push_back(std::dynamic_pointer_cast<CudaDevice>(member.device));
    // NCCL takes each GPU once, and adds in an order of its own. It launches several groups in an
    // order of its own, too, in which replicas that share GPUs would wait for each other.
    uses_nccl_ = !world.needs_fixed_order && indices_of(gpus_).size() == gpus_.size();
  }

  std::vector<std::unique_ptr<Communicator>> create_communicators(const std::vector<int>& group) override {
    const std::vector<std::shared_ptr<CudaDevice>> gpus = gpus_of(group);
    const bool is_shared = indices_of(gpus).size() == 1;
    if (uses_nccl_ && !is_shared) return create_nccl(gpus);
    return is_shared ? create_ends(std::make_shared<SharedGpuGroup>(gpus))
                     : create_ends(std::make_shared<PeerGpuGroup>(gpus));
  }

  std::vector<std::unique_ptr<Messenger>> create_messengers(const std::vector<int>& group) override {
    const auto messages = GpuMessages::create(gpus_of(group));
    std::vector<std::unique_ptr<Messenger>> messengers;
    for (size_t rank = 0; rank < group.size(); ++rank)
      messengers.push_back(messages->messenger(static_cast<int>(rank)));
    return messengers;
  }

 private:
  std::vector<std::shared_ptr<CudaDevice>> gpus_of(const std::vector<int>& group) const {
    std::vector<std::shared_ptr<CudaDevice>> gpus;
    for (int rank : group) gpus.push_back(gpus_.at(static_cast<size_t>(rank)));
    return gpus;
  }

  static std::vector<std::unique_ptr<Communicator>> create_ends(const std::shared_ptr<GpuGroup>& group) {
    std::vector<std::unique_ptr<Communicator>> communicators;
    for (int rank = 0; rank < group->size(); ++rank) communicators.push_back(group->communicator(rank));
    return communicators;
  }

  std::vector<std::shared_ptr<CudaDevice>> gpus_;  // by rank
  bool uses_nccl_ = false;
};

bool connects(const World& world) {
  return world.local.size() == static_cast<size_t>(world.size) &&
         std::all_of(world.local.begin(), world.local.end(),
                     [](const LocalMember& member) { return member.device->id().kind == DeviceKind::cuda; });
}

}  // namespace

const TransportDef gpu_transport{"GPUs of one process", connects, [](const World& world) -> std::unique_ptr<Transport> {
                                   return std::make_unique<GpuTransport>(world);
                                 }};

std::string built_nccl_version() { return join(nccl::kBuiltVersion, "."); }

}  // namespace troika::cuda
