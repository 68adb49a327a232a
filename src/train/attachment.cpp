// Attaching: checks, the layout of the step, devices, state.
#include "train/attachment.h"

#include "core/text.h"
#include "models/initializer.h"

namespace troika {
namespace {

// The kinds of devices round differently. Replicas stay equal if one device makes each update for
// all.
StepSpec spec_for(const LocalDevices& local, const TrainerOptions& options) {
  StepSpec spec = options;
  if (!local.mixes_kinds()) return spec;
  if (spec.updates_late)
    throw Error(Status::unsupported, "troika_model_attach: options.late_updates is 1, needs CPUs alone or GPUs alone");
  spec.shards_optimizer = true;
  return spec;
}

// Devices that compute channels of the same layers also update values that all of them hold.
void check_kinds(const LocalDevices& local, const RankMap& map) {
  for (const std::vector<int>& group : map.groups(RankGroup::channel))
    for (int rank : group)
      if (local.kinds[static_cast<size_t>(rank)] != local.kinds[static_cast<size_t>(group.front())])
        throw Error(Status::unsupported,
                    text("troika_model_attach: options.mesh splits channels over ranks ", group.front(), " and ", rank,
                         ", which are on a CPU and a GPU; split by data or by layer there"));
}

StepLayout make_layout(const Context& context, const Model& model, const LocalDevices& local,
                       const TrainerOptions& options, StepLayout::Purpose purpose) {
  if (!model.is_complete())
    throw Error(Status::invalid_argument,
                text("model '", model.name(), "': has no output yet; set it by troika_model_set_output"));
  if (local.devices.empty())
    throw Error(Status::invalid_argument, text("model '", model.name(), "': the list of devices is empty"));
  for (DeviceId device : local.devices) context.backends().require(device);
  StepLayout layout(model.graph(), spec_for(local, options), local.world_size(), "troika_model_attach: options.",
                    purpose);
  check_kinds(local, layout.ranks());
  return layout;
}

LocalRanks open_ranks(const Context& context, Model& model, const LocalDevices& local, const StepLayout& layout,
                      bool trains, bool collects_trace, std::chrono::milliseconds deadline) {
  if (trains) {
    // Refuses a model that cannot be trained now, not at the first step.
    build_graph(layout.request(Mode::train, layout.ranks().size(), 0), context.log());
    initialize_default(model, context.seed(), true);
  }
  return LocalRanks(context, local, layout, trains, collects_trace, deadline);
}

}  // namespace

Attachment::Attachment(const Context& context, Model& model, const LocalDevices& local, const TrainerOptions& options,
                       StepLayout::Purpose purpose)
    : layout(make_layout(context, model, local, options, purpose)),
      ranks(open_ranks(context, model, local, layout, purpose == StepLayout::Purpose::training, options.collect_trace,
                       std::chrono::milliseconds(options.deadline_ms))),
      state(layout, ranks, *model.parameters()),
      runner(layout, ranks, state, context.log(), std::chrono::milliseconds(options.deadline_ms),
             static_cast<size_t>(model.input_shape().elements()) * size_of(model.input_dtype()),
             model.output_shape().elements()),
      keeper(ranks) {}

}  // namespace troika
