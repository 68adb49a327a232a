// Opening devices, and the groups of their ranks.
#include "train/local_ranks.h"

#include <algorithm>

#include "comm/communicators.h"
#include "core/text.h"

namespace troika {

LocalRanks::LocalRanks(const Context& context, const std::vector<DeviceId>& devices, const StepLayout& layout,
                       bool connects, bool collects_trace) {
  const int n = static_cast<int>(devices.size());
  std::vector<std::shared_ptr<Device>> opened;
  for (int rank = 0; rank < n; ++rank) {
    DeviceShare share = context.cpu_share(rank, n);
    // Sums within kernels may depend on the number of threads.
    if (layout.spec().logical_shards > 0) share.threads = 1;
    if (layout.ranks().channels() > 1) share.threads = std::max(1, context.cpu_threads() / n);
    opened.push_back(context.backends().open(devices[static_cast<size_t>(rank)], share));
  }
  for (int rank = 0; rank < n; ++rank) {
    ranks_.push_back({rank, std::make_unique<Replica>(rank, opened[static_cast<size_t>(rank)], collects_trace)});
    all_.ranks.push_back(rank);
  }
  if (connects) connect(opened, layout);
}

Replica& LocalRanks::at(int rank) const {
  const auto found =
      std::find_if(ranks_.begin(), ranks_.end(), [&](const LocalRank& local) { return local.rank == rank; });
  if (found == ranks_.end()) throw Error(Status::internal, text("rank ", rank, " is not held by this process"));
  return *found->replica;
}

bool LocalRanks::run_ahead() const {
  return std::all_of(ranks_.begin(), ranks_.end(), [](const LocalRank& local) { return local.replica->runs_ahead(); });
}

namespace {

bool repeats_a_device(const std::vector<std::shared_ptr<Device>>& devices) {
  for (auto device = devices.begin(); device != devices.end(); ++device)
    if (std::any_of(devices.begin(), device, [&](const auto& other) { return other->id() == (*device)->id(); }))
      return true;
  return false;
}

}  // namespace

void LocalRanks::connect(const std::vector<std::shared_ptr<Device>>& devices, const StepLayout& layout) {
  // Gives each member of every group of a kind the end of that group which `create` makes.
  auto connect_groups = [&](RankGroup kind, auto create, auto set) {
    for (const std::vector<int>& group : layout.ranks().groups(kind)) {
      if (group.size() < 2) continue;
      std::vector<std::shared_ptr<Device>> members;
      for (int rank : group) members.push_back(devices[static_cast<size_t>(rank)]);
      auto ends = create(members, group[0]);
      for (size_t i = 0; i < group.size(); ++i) (at(group[i]).*set)(std::move(ends[i]));
    }
  };
  // NCCL launches several groups in an order of its own, in which replicas that share GPUs would wait for each other.
  const bool needs_fixed_order = layout.spec().logical_shards > 0 || repeats_a_device(devices);
  auto create_sums = [&](int slots) {
    return [=](const auto& members, int) { return create_communicators(members, slots, needs_fixed_order); };
  };
  auto create_data = [&](const auto& members, int first) {
    const size_t buckets = layout.part(layout.ranks().part_of(first)).buckets.size();
    return create_communicators(members, data_slots(buckets), needs_fixed_order);
  };
  connect_groups(RankGroup::data, create_data, &Replica::set_communicator);
  connect_groups(
      RankGroup::pipeline, [](const auto& members, int) { return create_messengers(members); }, &Replica::set_pipeline);
  connect_groups(RankGroup::channel, create_sums(1), &Replica::set_channel_group);
  connect_groups(RankGroup::model, create_sums(1), &Replica::set_model_group);
}

}  // namespace troika
