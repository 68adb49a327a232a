// The collectives of replicas on several GPUs: copies between them, and sums.
#include "backends/cuda/peer_gpu_group.h"

#include <algorithm>

#include "backends/cuda/check.h"
#include "backends/cuda/peer_access.h"
#include "core/text.h"

namespace troika::cuda {
namespace {

constexpr size_t kScratchBytes = size_t{8} << 20;  // a rank's; larger slices are summed in parts
constexpr size_t kPartAlignment = 256;             // of each of the others' parts in it

}  // namespace

PeerGpuGroup::PeerGpuGroup(std::vector<std::shared_ptr<CudaDevice>> devices) : GpuGroup(std::move(devices)) {
  for (int rank = 0; rank < size(); ++rank) {
    for (int other = 0; other < size(); ++other) enable_peer_access(device(rank), device(other));
    scratch_.push_back(device(rank).allocate(kScratchBytes, "the slices of other replicas that are summed"));
  }
}

GpuGroup::Stage PeerGpuGroup::launch(const Slot& slot, int rank) {
  const bool sums =
      slot.collective.kind != CollectiveKind::all_gather && slot.ranks[static_cast<size_t>(rank)].stage == started;
  for (const OwnedBytes& piece : *slot.pieces) {
    if (sums == (piece.owner != rank) || piece.begin == piece.end) continue;
    if (sums) {
      sum(slot, piece);
      continue;
    }
    // Its owner has read what this overwrites, as it has summed.
    auto at = [&](int r) { return static_cast<std::byte*>(slot.ranks[static_cast<size_t>(r)].data) + piece.begin; };
    copy(at(rank), rank, at(piece.owner), piece.owner, piece.end - piece.begin, side(rank));
  }
  return sums && slot.collective.kind != CollectiveKind::reduce_scatter ? summed : done;
}

// Other ranks read their own pieces of the owner's buffer meanwhile, none this one.
void PeerGpuGroup::sum(const Slot& slot, const OwnedBytes& piece) {
  const int rank = piece.owner;
  const size_t most = kScratchBytes / static_cast<size_t>(size() - 1) / kPartAlignment * kPartAlignment;
  for (size_t begin = piece.begin; begin < piece.end; begin += most) {
    const size_t bytes = std::min(most, piece.end - begin);
    std::byte* scratch = scratch_[static_cast<size_t>(rank)].get();
    void* data[kMostSummed];
    for (int r = 0; r < size(); ++r) {
      std::byte* const part = static_cast<std::byte*>(slot.ranks[static_cast<size_t>(r)].data) + begin;
      data[r] = r == rank ? part : scratch;
      if (r == rank) continue;
      copy(scratch, rank, part, r, bytes, side(rank));
      scratch += most;
    }
    if (slot.collective.kind == CollectiveKind::all_of)
      launch_all_of(data, size(), side(rank));
    else
      launch_sum(slot.collective.dtype, data, size(), 0, static_cast<int64_t>(bytes / size_of(slot.collective.dtype)),
                 side(rank), rank);
  }
}

void PeerGpuGroup::copy(void* to, int to_rank, const void* from, int from_rank, size_t bytes,
                        cudaStream_t stream) const {
  const int to_gpu = device(to_rank).id().index, from_gpu = device(from_rank).id().index;
  check_launch(to_gpu == from_gpu ? cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, stream)
                                  : cudaMemcpyPeerAsync(to, to_gpu, from, from_gpu, bytes, stream));
}

}  // namespace troika::cuda
