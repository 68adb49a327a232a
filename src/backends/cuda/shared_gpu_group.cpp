// Who waits for whom in the collectives of replicas that share a GPU.
#include "backends/cuda/shared_gpu_group.h"

#include <algorithm>

#include "backends/cuda/check.h"
#include "core/split.h"
#include "core/text.h"

namespace troika::cuda {

// One rank's end. An event is waited for only when its rank has recorded it, which the host's counters tell; so the host waits
// for other ranks to get there, never for the GPU.
class SharedGpuCommunicator : public Communicator {
 public:
  SharedGpuCommunicator(std::shared_ptr<SharedGpuGroup> group, int rank) : group_(std::move(group)), rank_(rank) {}

  int rank() const override { return rank_; }
  int size() const override { return static_cast<int>(group_->devices_.size()); }

  void start_all_reduce(int slot, float* data, int64_t count) override {
    start(slot, Slot::all_reduce, data, count, nullptr);
  }

  void start_all_gather(int slot, std::byte* data, const std::vector<OwnedBytes>& pieces) override {
    start(slot, Slot::all_gather, reinterpret_cast<float*>(data), 0, &pieces);
  }

  void start_reduce_scatter(int slot, float* data, const std::vector<OwnedBytes>& pieces) override {
    start(slot, Slot::reduce_scatter, data, 0, &pieces);
  }

  void start_all_of(int slot, int32_t* flag) override {
    start(slot, Slot::all_of, reinterpret_cast<float*>(flag), 1, nullptr);
  }

  void progress() override {
    std::lock_guard lock(group_->mutex_);
    launch_what_all_have_started();
  }

  void wait(int slot, Deadline deadline) override {
    std::unique_lock lock(group_->mutex_);
    Slot& s = group_->slots_.at(static_cast<size_t>(slot));
    const int64_t target = s.ranks[static_cast<size_t>(rank_)].rounds * size();
    // Other ranks may wait for this one's slice of another collective before they start this one.
    while (true) {
      check_usable();
      if (s.launched >= target) break;
      if (launch_what_all_have_started()) continue;
      auto has_changed = [&] { return group_->is_aborted_ || s.launched >= target || can_launch_any(); };
      if (!group_->changed_.wait_until(lock, deadline, has_changed))
        throw Error(Status::comm, text("rank ", rank_, " of ", size(), ": collective ", slot, " was started ",
                                       s.started, " times by the deadline, need ", target));
    }
    for (const SharedGpuGroup::RankSlot& other : s.ranks) check_launch(cudaStreamWaitEvent(stream(), other.done, 0));
  }

  void abort(const std::string& reason) override {
    std::lock_guard lock(group_->mutex_);
    if (!group_->is_aborted_) group_->abort_reason_ = reason;
    group_->is_aborted_ = true;
    group_->changed_.notify_all();
  }

 private:
  using Slot = SharedGpuGroup::Slot;

  cudaStream_t stream() const { return group_->devices_[static_cast<size_t>(rank_)]->stream(); }

  void check_usable() const {
    if (group_->is_aborted_)
      throw Error(Status::comm,
                  text("rank ", rank_, " of ", size(), ": the group was aborted: ", group_->abort_reason_));
  }

  void start(int slot, Slot::Kind kind, float* data, int64_t count, const std::vector<OwnedBytes>* pieces) {
    std::lock_guard lock(group_->mutex_);
    check_usable();
    Slot& s = group_->slots_.at(static_cast<size_t>(slot));
    SharedGpuGroup::RankSlot& own = s.ranks[static_cast<size_t>(rank_)];
    if (s.started > own.rounds * size() && (s.kind != kind || s.count != count))
      throw Error(Status::internal, text("rank ", rank_, " of ", size(), ": collective ", slot,
                                         " is of another kind or size than on a rank that has started it"));
    check_launch(cudaEventRecord(own.ready, stream()));
    own.data = data;
    own.is_launched = false;
    ++own.rounds;
    s.kind = kind;
    s.count = count;
    s.pieces = pieces;
    ++s.started;
    group_->changed_.notify_all();
  }

  // Under the mutex, as what follows.
  bool can_launch(const Slot& s) const {
    const SharedGpuGroup::RankSlot& own = s.ranks[static_cast<size_t>(rank_)];
    return !own.is_launched && s.started >= own.rounds * size();
  }

  bool can_launch_any() const {
    return std::any_of(group_->slots_.begin(), group_->slots_.end(), [&](const Slot& s) { return can_launch(s); });
  }

  bool launch_what_all_have_started() {
    bool launched = false;
    for (Slot& s : group_->slots_)
      if (can_launch(s)) {
        launch(s);
        launched = true;
      }
    return launched;
  }

  void launch(Slot& s) {
    SharedGpuGroup::RankSlot& own = s.ranks[static_cast<size_t>(rank_)];
    own.is_launched = true;
    const cudaStream_t side = group_->streams_[static_cast<size_t>(rank_)];
    float* data[kMostShared];
    size_t n = 0;
    for (const SharedGpuGroup::RankSlot& other : s.ranks) {
      check_launch(cudaStreamWaitEvent(side, other.ready, 0));
      data[n++] = other.data;
    }
    switch (s.kind) {
      case Slot::all_reduce: {
        const Range slice = balanced_split(s.count, size(), rank_);
        if (slice.size() > 0) launch_sum(data, size(), slice.begin, slice.size(), side);
        break;
      }
      case Slot::all_gather: gather(s, side); break;
      case Slot::reduce_scatter: scatter(s, data, side); break;
      case Slot::all_of:
        if (rank_ == 0) launch_all_of(reinterpret_cast<int32_t* const*>(data), size(), side);
        break;
    }
    check_launch(cudaEventRecord(own.done, side));
    ++s.launched;
    group_->changed_.notify_all();
  }

  // Nobody writes what it owns, or changes its buffer before all have copied.
  void gather(const Slot& s, cudaStream_t side) const {
    auto* const own = reinterpret_cast<std::byte*>(s.ranks[static_cast<size_t>(rank_)].data);
    for (const OwnedBytes& piece : *s.pieces) {
      if (piece.owner == rank_ || piece.begin == piece.end) continue;
      const auto* const theirs = reinterpret_cast<const std::byte*>(s.ranks[static_cast<size_t>(piece.owner)].data);
      check_launch(cudaMemcpyAsync(own + piece.begin, theirs + piece.begin, piece.end - piece.begin,
                                   cudaMemcpyDeviceToDevice, side));
    }
  }

  // Nobody else reads what it owns.
  void scatter(const Slot& s, float* const* data, cudaStream_t side) const {
    constexpr size_t kSize = sizeof(float);
    for (const OwnedBytes& piece : *s.pieces)
      if (piece.owner == rank_ && piece.begin < piece.end)
        launch_sum(data, size(), static_cast<int64_t>(piece.begin / kSize),
                   static_cast<int64_t>((piece.end - piece.begin) / kSize), side, rank_);
  }

  const std::shared_ptr<SharedGpuGroup> group_;
  const int rank_;
};

std::shared_ptr<SharedGpuGroup> SharedGpuGroup::create(std::vector<std::shared_ptr<CudaDevice>> devices, int slots) {
  if (devices.size() > kMostShared)
    throw Error(Status::unsupported, text("device ", devices[0]->id(), " is asked to hold ", devices.size(),
                                          " replicas, at most ", kMostShared, " can share it"));
  return std::shared_ptr<SharedGpuGroup>(new SharedGpuGroup(std::move(devices), slots));
}

SharedGpuGroup::SharedGpuGroup(std::vector<std::shared_ptr<CudaDevice>> devices, int slots)
    : devices_(std::move(devices)), streams_(devices_.size(), nullptr), slots_(static_cast<size_t>(slots)) {
  const ContextGuard guard(devices_[0]->context());
  const std::string what = text("device ", devices_[0]->id(), ": a group of ", devices_.size(), " replicas");
  for (cudaStream_t& stream : streams_) check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), what);
  for (Slot& slot : slots_) {
    slot.ranks.resize(devices_.size());
    for (RankSlot& rank : slot.ranks) {
      check(cudaEventCreateWithFlags(&rank.ready, cudaEventDisableTiming), what);
      check(cudaEventCreateWithFlags(&rank.done, cudaEventDisableTiming), what);
    }
  }
}

SharedGpuGroup::~SharedGpuGroup() {
  try {
    const ContextGuard guard(devices_[0]->context());
    for (cudaStream_t stream : streams_) {
      cudaStreamSynchronize(stream);
      cudaStreamDestroy(stream);
    }
    for (Slot& slot : slots_)
      for (RankSlot& rank : slot.ranks) {
        cudaEventDestroy(rank.ready);
        cudaEventDestroy(rank.done);
      }
  } catch (const Error&) {  // the driver is gone, and everything with it
  }
}

std::unique_ptr<Communicator> SharedGpuGroup::communicator(int rank) {
  return std::make_unique<SharedGpuCommunicator>(shared_from_this(), rank);
}

}  // namespace troika::cuda
