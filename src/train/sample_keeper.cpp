// Copying a dataset to several devices, all or none.
#include "train/sample_keeper.h"

#include <algorithm>
#include <iterator>

namespace troika {

// Whether every device has room for the dataset. Replicas may share a device. `ranks`: those that
// need the samples.
bool SampleKeeper::have_room_for(const Dataset& dataset, const std::vector<int>& ranks) const {
  for (int rank : ranks) {
    size_t bytes = 0;
    for (int other : ranks)
      if (ranks_.at(other).device_id() == ranks_.at(rank).device_id())
        bytes += ranks_.at(other).bytes_of_samples(dataset);
    if (bytes > ranks_.at(rank).room_for_samples()) return false;
  }
  return true;
}

bool SampleKeeper::keep(const std::shared_ptr<const Dataset>& dataset, const ActiveRanks& active) {
  auto lacks = [&](int rank) { return !ranks_.at(rank).is_idle() && !ranks_.at(rank).use_samples(dataset); };
  auto keeps_none = [&](int rank) { return lacks(rank) && ranks_.at(rank).room_for_samples() == 0; };
  const std::vector<int>& ranks = active.ranks;
  if (std::none_of(ranks.begin(), ranks.end(), lacks)) return true;
  not_kept_ = dataset;
  if (std::any_of(ranks.begin(), ranks.end(), keeps_none)) return false;
  std::vector<int> without;
  std::copy_if(ranks.begin(), ranks.end(), std::back_inserter(without), lacks);
  if (!have_room_for(*dataset, without)) return false;

  for (int rank : without) ranks_.at(rank).start_keeping(dataset);
  bool are_kept = true;
  std::exception_ptr error;
  for (int rank : without) {
    try {
      ranks_.at(rank).wait_for_keeping();
    } catch (const Error& e) {
      are_kept = false;
      if (e.status() != Status::out_of_memory) error = std::current_exception();
    } catch (...) {
      are_kept = false;
      error = std::current_exception();
    }
  }
  if (are_kept) {
    not_kept_.reset();
    return true;
  }
  for (int rank : ranks) ranks_.at(rank).drop_samples(dataset.get());
  if (error) std::rethrow_exception(error);
  return false;
}

}  // namespace troika
