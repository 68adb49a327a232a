// From one training run to the next.
#include "train/training_run.h"

#include <algorithm>

#include "core/text.h"

namespace troika {

TrainingRun::TrainingRun(const Context& context, Model& model, const LocalDevices& local,
                         const TrainerOptions& all_options)
    : options(all_options),
      attached(context, model, local, options, StepLayout::Purpose::training),
      sync(model, attached.layout, attached.state),
      stepper(attached, sync, options),
      pieces(attached, stepper, model) {}

bool TrainingRun::is_frozen(int group) const {
  const size_t groups = options.groups.size();
  if (group < 0 || group >= static_cast<int>(groups))
    throw Error(Status::invalid_argument, text("trainer: group is ", group, ", need 0",
                                               groups == 0 ? "; there are no groups" : text(" to ", groups - 1)));
  return options.groups[static_cast<size_t>(group)].is_frozen;
}

std::unique_ptr<TrainingRun> TrainingRun::with_frozen(const Context& context, Model& model, const LocalDevices& local,
                                                      int group, bool is_frozen) {
  TrainerOptions changed = options;
  changed.groups[static_cast<size_t>(group)].is_frozen = is_frozen;
  auto next = std::make_unique<TrainingRun>(context, model, local, changed);

  TrainingState state = stepper.state();
  state.updates[static_cast<size_t>(group) + 1] = 0;
  next->stepper.restore(state);

  HostSlots slots = sync.read_slots();
  const std::vector<std::string>& trained = next->attached.layout.trainable();
  std::erase_if(slots, [&trained](const auto& slot) {
    return std::find(trained.begin(), trained.end(), parameter_of_slot(slot.first)) == trained.end();
  });
  next->sync.restore_slots(std::move(slots));
  return next;
}

}  // namespace troika
