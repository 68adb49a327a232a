// The collectives of replicas that share a GPU.
#include "backends/cuda/shared_gpu_group.h"

#include "backends/cuda/check.h"

namespace troika::cuda {

GpuGroup::Stage SharedGpuGroup::launch(const Slot& slot, int rank) {
  const DType dtype = slot.collective.dtype;
  const size_t element = size_of(dtype);
  void* data[kMostSummed];
  for (int r = 0; r < size(); ++r) data[r] = slot.ranks[static_cast<size_t>(r)].data;
  for (const OwnedBytes& piece : *slot.pieces) {
    const size_t bytes = piece.end - piece.begin;
    if (bytes == 0 || (piece.owner == rank) == (slot.collective.kind == CollectiveKind::all_gather)) continue;
    const auto begin = static_cast<int64_t>(piece.begin / element), count = static_cast<int64_t>(bytes / element);
    switch (slot.collective.kind) {
      case CollectiveKind::all_reduce: launch_sum(dtype, data, size(), begin, count, side(rank)); break;
      case CollectiveKind::reduce_scatter:
        launch_sum(dtype, data, size(), begin, count, side(rank), rank);
        break;  // nobody else reads it
      case CollectiveKind::all_of: launch_all_of(data, size(), side(rank)); break;
      case CollectiveKind::all_gather:  // nobody writes what it owns, or changes its buffer before all have copied
        check_launch(cudaMemcpyAsync(static_cast<std::byte*>(data[rank]) + piece.begin,
                                     static_cast<const std::byte*>(data[piece.owner]) + piece.begin, bytes,
                                     cudaMemcpyDeviceToDevice, side(rank)));
        break;
    }
  }
  return done;
}

}  // namespace troika::cuda
