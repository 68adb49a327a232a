// Who waits for whom in the collectives of replicas on GPUs of this process.
#include "backends/cuda/gpu_group.h"

#include <algorithm>

#include "backends/cuda/check.h"
#include "core/text.h"

namespace troika::cuda {

// One rank's end.
class GpuCommunicator : public Communicator {
 public:
  GpuCommunicator(std::shared_ptr<GpuGroup> group, int rank) : group_(std::move(group)), rank_(rank) {}

  int rank() const override { return rank_; }
  int size() const override { return group_->size(); }
  void reserve(int slots) override { group_->reserve(slots); }

  void start(int slot, const Collective& collective, void* data) override {
    check_dtype(slot, rank_, collective);
    std::lock_guard lock(group_->state_.mutex);
    group_->state_.check_usable(rank_);
    Slot& s = group_->slots_.at(static_cast<size_t>(slot));
    const bool is_first = s.reached[GpuGroup::started] == own(s).rounds * size();
    if (!is_first) check_agreement(slot, rank_, collective, s.collective);
    check_launch(cudaEventRecord(own(s).events[GpuGroup::started].get(), launches()));
    own(s).data = data;
    own(s).stage = GpuGroup::started;
    ++own(s).rounds;
    ++s.reached[GpuGroup::started];
    if (is_first) {
      s.collective = collective;
      for (int rank = 0; rank < size(); ++rank) {
        const Range slice = balanced_split(collective.count, size(), rank);
        const size_t element = size_of(collective.dtype);
        s.slices[static_cast<size_t>(rank)] = {static_cast<size_t>(slice.begin) * element,
                                               static_cast<size_t>(slice.end) * element, rank};
      }
    }
    s.pieces = collective.pieces ? collective.pieces : &s.slices;
    group_->state_.notify();
  }

  void progress() override {
    std::lock_guard lock(group_->state_.mutex);
    launch_what_others_have_reached();
  }

  void wait(int slot, Deadline deadline) override {
    std::unique_lock lock(group_->state_.mutex);
    Slot& s = group_->slots_.at(static_cast<size_t>(slot));
    const int64_t target = own(s).rounds * size();
    // Other ranks may wait for this one's part of another collective before they start this one.
    while (true) {
      group_->state_.check_usable(rank_);
      if (s.reached[GpuGroup::done] >= target) break;
      if (launch_what_others_have_reached()) continue;
      auto has_changed = [&] { return s.reached[GpuGroup::done] >= target || can_launch_any(); };
      if (!group_->state_.wait_until(lock, deadline, rank_, has_changed))
        throw Error(Status::comm, text("rank ", rank_, " of ", size(), ": collective ", slot, " was started ",
                                       s.reached[GpuGroup::started], " times and ended ", s.reached[GpuGroup::done],
                                       " times by the deadline, need ", target));
    }
    for (const RankSlot& other : s.ranks)
      check_launch(cudaStreamWaitEvent(launches(), other.events[GpuGroup::done].get(), 0));
  }

  void abort(const std::string& reason) override { group_->state_.abort(reason); }

 private:
  using Slot = GpuGroup::Slot;
  using RankSlot = GpuGroup::RankSlot;

  cudaStream_t launches() const { return group_->device(rank_).stream(); }
  RankSlot& own(Slot& s) const { return s.ranks[static_cast<size_t>(rank_)]; }
  const RankSlot& own(const Slot& s) const { return s.ranks[static_cast<size_t>(rank_)]; }

  // Under the mutex, as what follows.
  bool can_launch(const Slot& s) const {
    return own(s).stage != GpuGroup::done && s.reached[own(s).stage] >= own(s).rounds * size();
  }

  bool can_launch_any() const {
    return std::any_of(group_->slots_.begin(), group_->slots_.end(), [&](const Slot& s) { return can_launch(s); });
  }

  bool launch_what_others_have_reached() {
    bool launched = false;
    for (Slot& s : group_->slots_)
      while (can_launch(s)) {
        launch(s);
        launched = true;
      }
    return launched;
  }

  void launch(Slot& s) {
    const cudaStream_t side = group_->side(rank_);
    for (const RankSlot& other : s.ranks) check_launch(cudaStreamWaitEvent(side, other.events[own(s).stage].get(), 0));
    const GpuGroup::Stage next = group_->launch(s, rank_);
    check_launch(cudaEventRecord(own(s).events[next].get(), side));
    for (int stage = own(s).stage + 1; stage <= next; ++stage) ++s.reached[stage];
    own(s).stage = next;
    group_->state_.notify();
  }

  const std::shared_ptr<GpuGroup> group_;
  const int rank_;
};

GpuGroup::GpuGroup(std::vector<std::shared_ptr<CudaDevice>> devices) : devices_(std::move(devices)) {
  if (size() > kMostSummed)
    throw Error(Status::unsupported, text("a group of ", size(), " replicas on GPUs is to be summed in a fixed order, ",
                                          "at most ", kMostSummed, " can be"));
  for (const auto& device : devices_) streams_.push_back(create_urgent_stream(device->context(), name_of(*device)));
}

std::string GpuGroup::name_of(const CudaDevice& device) const {
  return text("device ", device.id(), ": a group of ", size(), " replicas");
}

void GpuGroup::reserve(int slots) {
  std::lock_guard lock(state_.mutex);
  while (slots_.size() < static_cast<size_t>(slots)) {
    Slot slot;
    slot.slices.resize(devices_.size());
    for (const auto& device : devices_)
      for (Event& event : slot.ranks.emplace_back().events) event = create_event(device->context(), name_of(*device));
    slots_.push_back(std::move(slot));
  }
}

GpuGroup::~GpuGroup() { wait_for_streams(); }

void GpuGroup::wait_for_streams() const {
  for (int rank = 0; rank < size(); ++rank) end_on(device(rank).context(), [&] { cudaStreamSynchronize(side(rank)); });
}

std::unique_ptr<Communicator> GpuGroup::communicator(int rank) {
  return std::make_unique<GpuCommunicator>(shared_from_this(), rank);
}

}  // namespace troika::cuda
