// Attaching devices of several processes: the order of all ranks, and the options that all must
// have.
#pragma once

#include "group/process_group.h"
#include "models/model.h"
#include "train/context.h"
#include "train/local_ranks.h"
#include "train/trainer_options.h"

namespace troika {

// Joins the devices of all processes of the group into one world. The processes of a node are
// neighbours; a process's devices keep their order. Collective. MISMATCH naming the rank and the
// first option, model or kind of device that differs.
LocalDevices join_world(const Context& context, const ProcessGroup& group, const Model& model,
                        std::vector<DeviceId> devices, const TrainerOptions& options);

}  // namespace troika
