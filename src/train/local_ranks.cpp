// Opening devices, and the groups of their ranks.
#include "train/local_ranks.h"

#include <algorithm>
#include <numeric>

#include "comm/transports.h"
#include "core/text.h"

namespace troika {

namespace {

std::vector<int> first_ranks(size_t n) {
  std::vector<int> ranks(n);
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

std::vector<DeviceKind> kinds_of(const std::vector<DeviceId>& devices) {
  std::vector<DeviceKind> kinds;
  for (DeviceId device : devices) kinds.push_back(device.kind);
  return kinds;
}

bool is_cpu(DeviceId device) { return device.kind == DeviceKind::cpu; }

// Returns how many devices share the process's cores: the CPU devices, or all if there is none.
int count_sharing(const std::vector<DeviceId>& devices) {
  const auto on_cpus = static_cast<int>(std::count_if(devices.begin(), devices.end(), is_cpu));
  return on_cpus > 0 ? on_cpus : static_cast<int>(devices.size());
}

// Returns each device's share of the process's cores. GPUs next to CPU devices get none.
std::vector<DeviceShare> share_cores(const CpuShare& cpus, const std::vector<DeviceId>& devices) {
  const int sharing = count_sharing(devices);
  const bool is_alike = sharing == static_cast<int>(devices.size());
  std::vector<DeviceShare> shares;
  int index = 0;
  for (DeviceId device : devices)
    shares.push_back(is_alike || is_cpu(device) ? cpus.of_device(index++, sharing) : DeviceShare{});
  return shares;
}

}  // namespace

LocalDevices::LocalDevices(std::vector<DeviceId> all)
    : kinds(kinds_of(all)), ranks(first_ranks(all.size())), devices(std::move(all)) {}

LocalDevices::LocalDevices(std::vector<DeviceKind> of_all, std::vector<int> held, std::vector<DeviceId> of_held)
    : kinds(std::move(of_all)), ranks(std::move(held)), devices(std::move(of_held)) {}

bool LocalDevices::mixes_kinds() const {
  return std::any_of(kinds.begin(), kinds.end(), [&](DeviceKind kind) { return kind != kinds.front(); });
}

LocalRanks::LocalRanks(const Context& context, const LocalDevices& local, const StepLayout& layout, bool connects,
                       bool collects_trace, std::chrono::milliseconds deadline)
    : owners_(local.owners),
      mix_kinds_(local.mixes_kinds()),
      exchange_(local.exchange),
      process_(local.exchange ? local.exchange->rank() : 0),
      deadline_(deadline) {
  const CpuShare& cpus = local.cpus ? *local.cpus : context.cpus();
  const std::vector<DeviceShare> shares = share_cores(cpus, local.devices);
  std::vector<std::shared_ptr<Device>> opened;
  for (size_t i = 0; i < local.devices.size(); ++i) {
    DeviceShare share = shares[i];
    // Sums within kernels may depend on the number of threads.
    if (layout.spec().logical_shards > 0) share.threads = 1;
    if (layout.ranks().channels() > 1) share.threads = std::max(1, cpus.threads / count_sharing(local.devices));
    if (local.threads > 0) share.threads = local.threads;
    share.shares_memory = local.memory != nullptr;
    opened.push_back(context.backends().open(local.devices[i], share));
  }
  for (size_t i = 0; i < opened.size(); ++i) {
    ranks_.push_back(
        {local.ranks[i], std::make_unique<Replica>(local.ranks[i], opened[i], collects_trace, local.runs_on_callers)});
    all_.ranks.push_back(local.ranks[i]);
  }
  if (connects && local.world_size() > 1) connect(context, local, opened, layout);
}

// After a failure, sums may still arrive in the gradients of all local ranks, until the last rank
// has left the group.
LocalRanks::~LocalRanks() {
  for (const LocalRank& local : ranks_) local.replica->disconnect();
}

const LocalRank* LocalRanks::find(int rank) const {
  const auto found =
      std::find_if(ranks_.begin(), ranks_.end(), [&](const LocalRank& local) { return local.rank == rank; });
  return found == ranks_.end() ? nullptr : &*found;
}

bool LocalRanks::holds(int rank) const { return find(rank) != nullptr; }

Replica& LocalRanks::at(int rank) const {
  const LocalRank* const local = find(rank);
  if (!local) throw Error(Status::unsupported, text("rank ", rank, ": another process holds it"));
  return *local->replica;
}

bool LocalRanks::run_ahead() const {
  return std::all_of(ranks_.begin(), ranks_.end(), [](const LocalRank& local) { return local.replica->runs_ahead(); });
}

double LocalRanks::least_wait() const {
  if (run_ahead()) return 0;
  const auto waits_less = [](const LocalRank& a, const LocalRank& b) {
    return a.replica->waited() < b.replica->waited();
  };
  const LocalRank& least = *std::min_element(ranks_.begin(), ranks_.end(), waits_less);
  return std::chrono::duration<double>(least.replica->waited()).count();
}

void LocalRanks::all_gather(const std::vector<OwnedBytes>& pieces, void* data) const {
  try {
    host_->start(0, Collective::all_gather(pieces), data);
    host_->wait(0, std::chrono::steady_clock::now() + deadline_);
  } catch (const std::exception& e) {
    host_->abort(e.what());
    rethrow(std::current_exception());
  }
}

std::vector<std::string> LocalRanks::gather_texts(const char* what, const std::string& own) const {
  return exchange_->all_gather(what, own, std::chrono::steady_clock::now() + deadline_);
}

void LocalRanks::rethrow(const std::exception_ptr& error) const {
  const std::string reason = exchange_ ? exchange_->failure() : "";
  try {
    std::rethrow_exception(error);
  } catch (const Error& e) {
    if (e.status() != Status::comm || reason.empty()) throw;
    throw Error(Status::comm, text("process ", process_, ": ", reason));
  }
}

void LocalRanks::abort(const std::string& reason) const {
  for (const LocalRank& local : ranks_) local.replica->abort(reason);
  if (host_) host_->abort(reason);
}

void LocalRanks::connect(const Context& context, const LocalDevices& local,
                         const std::vector<std::shared_ptr<Device>>& devices, const StepLayout& layout) {
  const RankMap& map = layout.ranks();
  World world{map.size(),
              {},
              layout.spec().logical_shards > 0,
              local.owners,
              local.nodes,
              local.link,
              local.memory,
              local.exchange,
              std::chrono::steady_clock::now() + deadline_,
              local.takes_vendor_sums,
              local.mixes_kinds()};
  for (size_t i = 0; i < ranks_.size(); ++i) world.local.push_back({ranks_[i].rank, devices[i]});
  if (!world.is_whole() || world.mixes_kinds) world.host = create_host_transport(world);
  const TransportDef& chosen = choose_transport(world, context.backends().transports());
  context.log().write(LogTopic::comm, LogLevel::debug,
                      text("transport '", chosen.name, "' connects ", world.size, " ranks"));
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
  if (!local.link) return;
  host_ = create_host_communicator(world.link);
  host_->reserve(1);
}

}  // namespace troika
