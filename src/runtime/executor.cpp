// One pass over a plan's steps.
#include "runtime/executor.h"

namespace troika {

std::byte* Bases::address(const Location& location) const {
  switch (location.segment) {
    case Segment::none: return nullptr;
    case Segment::arena: return arena + location.offset;
    case Segment::parameters: return parameters + location.offset;
    case Segment::gradients: return gradients + location.offset;
    case Segment::optimizer: return optimizer + location.offset;
  }
  return nullptr;
}

void bind(Plan& plan, const Bases& bases) {
  std::vector<void*> inputs, outputs;
  for (Launch& launch : plan.launches) {
    inputs.clear();
    outputs.clear();
    for (const Location& l : launch.inputs) inputs.push_back(bases.address(l));
    for (const Location& l : launch.outputs) outputs.push_back(bases.address(l));
    launch.kernel->bind(inputs, outputs, bases.address(launch.scratch));
  }
}

void execute(const Plan& plan, const Bases& bases, const std::vector<BucketRange>& buckets, Communicator* communicator,
             Deadline deadline, std::vector<TraceEvent>* trace) {
  for (const PlanStep& step : plan.steps) {
    TraceEvent event{step, {}, {}};
    if (trace) event.begin = std::chrono::steady_clock::now();
    switch (step.kind) {
      case PlanStep::launch:
        plan.launches[step.index].kernel->run();
        if (communicator) communicator->progress();
        break;
      case PlanStep::start_all_reduce: {
        const BucketRange& range = buckets[step.index];
        communicator->start_all_reduce(static_cast<int>(step.index),
                                       reinterpret_cast<float*>(bases.gradients + range.offset),
                                       static_cast<int64_t>(range.bytes / sizeof(float)));
        communicator->progress();
        break;
      }
      case PlanStep::wait_all_reduce: communicator->wait(static_cast<int>(step.index), deadline); break;
    }
    if (trace) {
      event.end = std::chrono::steady_clock::now();
      trace->push_back(event);
    }
  }
}

}  // namespace troika
