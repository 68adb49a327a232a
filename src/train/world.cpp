// The comparison of processes that attach a model.
#include "train/world.h"

#include <algorithm>
#include <numeric>

#include "comm/transports.h"
#include "core/packed.h"
#include "core/text.h"
#include "core/utf8.h"
#include "models/print.h"

namespace troika {
namespace {

using Fields = std::vector<std::pair<std::string, std::string>>;  // names and values

std::string print_settings(const TrainerOptions& options, const SettingValues& values) {
  std::vector<std::string> words;
  for (Setting setting : options.columns())
    if (values.has(setting)) words.push_back(text(name_of(setting), ' ', std::to_string(values[setting])));
  return join(words, ", ");
}

// Returns everything on which the plans and the numbers of a step depend.
Fields fields_of(const Context& context, const Model& model, const TrainerOptions& o) {
  const Schedule& s = o.schedule;
  Fields fields = {
      {"the model", model.name()},
      {"the model's layers", print_graph(model.graph())},
      {"mesh", name_of(o.mesh)},
      {"compute", std::string(name_of(o.compute))},
      {"allow_tf32", text(o.allow_tf32)},
      {"optimizer", std::string(o.optimizer->name)},
      {"settings", print_settings(o, o.settings)},
      {"loss", text(static_cast<int>(o.loss))},
      {"reduction", text(static_cast<int>(o.reduction))},
      {"huber_delta", std::to_string(o.huber_delta)},
      {"label_smoothing", std::to_string(o.labels.smoothing)},
      {"class_weights", print_list(o.class_weights)},
      {"sample_weights", text(o.weighs_samples)},
      {"ignore_index", o.labels.ignored ? text(*o.labels.ignored) : "not set"},
      {"samples_on_host", text(!o.keeps_samples)},
      {"seed", text(o.seed)},
      {"the context's seed", text(context.seed())},
      {"bucket_bytes", text(o.bucket_bytes)},
      {"micro_batches", text(o.micro_batches)},
      {"logical_shards", text(o.logical_shards)},
      {"shares", print_list(o.shares)},
      {"pipeline_schedule", text(static_cast<int>(o.pipeline_schedule))},
      {"pipeline_chunks", text(o.pipeline_chunks)},
      {"layer_cuts", join(o.layer_cuts, ", ")},
      {"recompute", text(o.recompute.segments, ", ", join(o.recompute.layers, ", "), ", ", o.recompute.budget_bytes)},
      {"sync_batch_norm", text(o.syncs_statistics)},
      {"shard_optimizer", text(o.shards_optimizer)},
      {"compress_gradients", text(o.compresses_gradients)},
      {"late_updates", text(o.updates_late)},
      {"fuse", text(o.fuse)},
      {"decay_one_axis", text(o.decays_one_axis)},
      {"average_decay", std::to_string(o.average_decay)},
      {"loss scaling", text(o.conditioning.is_scaled, ", ", o.loss_scale, ", ", o.conditioning.scale_interval)},
      {"max_gradient_norm", std::to_string(o.conditioning.max_norm)},
      {"skip_not_finite", text(o.conditioning.skips_not_finite)},
      {"evaluate_average", text(o.evaluates_average)},
      {"schedule", text(static_cast<int>(s.kind), ", ", s.period, ", ", s.gamma, ", ", s.minimum, ", ", s.warmup_steps,
                        ", ", s.power, ", ", s.rise, ", ", s.divisor, ", ", s.final_divisor, ", ", s.patience, ", ",
                        s.threshold, ", ", s.maximizes, ", ", join(s.milestones, " "), ", ", join(s.table, " "))},
      {"the number of groups", text(o.groups.size())},
  };
  for (size_t group = 0; group < o.groups.size(); ++group)
    fields.emplace_back(text("group ", group),
                        text(o.groups[group].pattern, o.groups[group].is_frozen ? ", frozen, " : ", ",
                             print_settings(o, o.groups[group].settings)));
  return fields;
}

// Long values differ in one place; the message says which.
std::string difference(const std::string& theirs, const std::string& first) {
  constexpr size_t kShown = 40;
  if (theirs.size() <= kShown && first.size() <= kShown)
    return text("'", printable(theirs), "', rank 0 has '", printable(first), "'");
  size_t at = 0;
  while (at < theirs.size() && at < first.size() && theirs[at] == first[at]) ++at;
  const size_t begin = at > kShown / 2 ? at - kShown / 2 : 0;
  return text("'... ", printable(theirs.substr(begin, kShown)), "', rank 0 has '... ",
              printable(first.substr(begin, kShown)), "'");
}

void compare(const Fields& theirs, const Fields& first, int rank) {
  for (size_t i = 0; i < first.size(); ++i) {
    const std::string value = i < theirs.size() ? theirs[i].second : "";
    if (value != first[i].second)
      throw Error(Status::mismatch, text("troika_model_attach: ", first[i].first, " of rank ", rank, " is ",
                                         difference(value, first[i].second)));
  }
}

// The message of a process that attaches a model.
struct Offer {
  std::vector<DeviceId> devices;
  CpuClaim cpus;
  Fields fields;

  std::string encode() const {
    Packer message;
    message.number(static_cast<int64_t>(devices.size()));
    for (DeviceId device : devices) message.text(to_string(device));
    message.number(cpus.threads).number(static_cast<int64_t>(cpus.cores.size()));
    for (int core : cpus.cores) message.number(core);
    for (const auto& [name, value] : fields) message.text(name).text(value);
    return message.bytes();
  }
  static Offer decode(const std::string& bytes) {
    Unpacker message(bytes);
    Offer offer;
    for (int64_t devices = message.number(); devices > 0; --devices)
      offer.devices.push_back(parse_device(message.text()));
    offer.cpus.threads = static_cast<int>(message.number());
    for (int64_t cores = message.number(); cores > 0; --cores)
      offer.cpus.cores.push_back(static_cast<int>(message.number()));
    while (!message.is_at_end()) {
      std::string name = message.text();
      offer.fields.emplace_back(std::move(name), message.text());
    }
    return offer;
  }
};

// Returns what this process gets of the cores of its machine.
CpuShare share_of(const ProcessGroup& group, const std::vector<Offer>& all) {
  std::vector<CpuClaim> neighbours;
  size_t own = 0;
  for (int process = 0; process < group.size(); ++process) {
    if (group.process(process).node != group.own().node) continue;
    if (process == group.rank()) own = neighbours.size();
    neighbours.push_back(all[static_cast<size_t>(process)].cpus);
  }
  return divide_cores(neighbours, own);
}

}  // namespace

LocalDevices join_world(const Context& context, const ProcessGroup& group, const Model& model,
                        std::vector<DeviceId> devices, const TrainerOptions& options) {
  std::shared_ptr<Exchange> exchange = group.create_exchange();
  const Deadline deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(group.options().deadline_ms);
  try {
    Offer own{devices, context.cpu_claim(), fields_of(context, model, options)};
    const std::string& transport = group.options().transport;
    own.fields.emplace_back("the group's transport", transport.empty() ? "not set" : transport);
    std::vector<Offer> all;
    for (const std::string& message : exchange->all_gather("attaching a model", own.encode(), deadline))
      all.push_back(Offer::decode(message));
    for (int rank = 1; rank < group.size(); ++rank) compare(all[static_cast<size_t>(rank)].fields, all[0].fields, rank);

    // Channels and layers are split among neighbours.
    std::vector<int> order(static_cast<size_t>(group.size()));
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(),
                     [&](int a, int b) { return group.process(a).node < group.process(b).node; });
    std::vector<int> owners, held;
    std::vector<DeviceKind> kinds;
    for (int process : order)
      for (DeviceId device : all[static_cast<size_t>(process)].devices) {
        if (process == group.rank()) held.push_back(static_cast<int>(owners.size()));
        owners.push_back(process);
        kinds.push_back(device.kind);
      }
    LocalDevices local(std::move(kinds), std::move(held), std::move(devices));
    if (group.size() == 1) return local;
    local.owners = std::move(owners);
    local.cpus = share_of(group, all);
    for (int process = 0; process < group.size(); ++process) local.nodes.push_back(group.process(process).node);
    local.takes_vendor_sums = transport.empty() || transport == "nccl";
    for (const Offer& offer : all) {  // NCCL takes each device of a process once
      for (DeviceId device : offer.devices)
        if (std::count(offer.devices.begin(), offer.devices.end(), device) > 1) local.takes_vendor_sums = false;
    }
    local.link = connect_processes(group.options().link_name(), context.plugin_folder(), exchange,
                                   {group.options().interface, deadline}, "the end of a trainer");
    // Sums in memory are made in place, in memory that only CPU devices share.
    if (group.options().uses_memory() && !local.mixes_kinds())
      local.memory = share_memory(*exchange, local.nodes, deadline);
    local.exchange = exchange_in_memory(exchange, local.memory, deadline);
    return local;
  } catch (const std::exception& e) {
    exchange->abort(e.what());
    throw;
  }
}

}  // namespace troika
