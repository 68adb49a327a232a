// Attaching: checks, the layout of the step, devices, state.
#include "train/attachment.h"

#include "core/text.h"
#include "models/initializer.h"

namespace troika {
namespace {

StepLayout make_layout(const Context& context, const Model& model, const LocalDevices& local,
                       const TrainerOptions& options, StepLayout::Purpose purpose) {
  if (!model.is_complete())
    throw Error(Status::invalid_argument,
                text("model '", model.name(), "': has no output yet; set it by troika_model_set_output"));
  if (local.devices.empty())
    throw Error(Status::invalid_argument, text("model '", model.name(), "': the list of devices is empty"));
  for (DeviceId device : local.devices) context.backends().require(device);
  return StepLayout(model.graph(), options, local.world_size, "troika_model_attach: options.", purpose);
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
