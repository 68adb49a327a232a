// Opening devices, and the groups of their ranks.
#include "train/local_ranks.h"

#include <algorithm>

#include "comm/transports.h"
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
  if (connects && n > 1) connect(context, opened, layout);
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

void LocalRanks::connect(const Context& context, const std::vector<std::shared_ptr<Device>>& devices,
                         const StepLayout& layout) {
  const RankMap& map = layout.ranks();
  World world{map.size(), {}, layout.spec().logical_shards > 0};
  for (const LocalRank& local : ranks_) world.local.push_back({local.rank, devices[static_cast<size_t>(local.rank)]});
  const TransportDef& chosen = choose_transport(world, context.backends().transports());
  context.log().write(LogLevel::debug, text("transport '", chosen.name, "' connects ", world.size, " ranks"));
  const auto transport = chosen.create(world);
  // Passes each member of every group of a kind the member's end of that group.
  auto connect_groups = [&](RankGroup kind, auto create, auto set) {
    for (const std::vector<int>& group : map.groups(kind)) {
      if (group.size() < 2) continue;
      auto ends = ((*transport).*create)(group);
      for (size_t i = 0; i < group.size(); ++i)
        if (ends[i]) set(at(group[i]).groups(), std::move(ends[i]));
    }
  };
  for (RankGroup kind : {RankGroup::data, RankGroup::channel, RankGroup::model})
    connect_groups(kind, &Transport::create_communicators,
                   [&](RankGroups& groups, std::unique_ptr<Communicator> end) { groups.set(kind, std::move(end)); });
  connect_groups(RankGroup::pipeline, &Transport::create_messengers,
                 [](RankGroups& groups, std::unique_ptr<Messenger> end) { groups.set_pipeline(std::move(end)); });
}

}  // namespace troika
