// One pass over a plan's steps.
#include "runtime/executor.h"

#include "plan/launch_order.h"

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
  plan.recorded.clear();
  std::vector<void*> inputs, outputs;
  for (Launch& launch : plan.launches) {
    inputs.clear();
    outputs.clear();
    for (const Location& l : launch.inputs) inputs.push_back(bases.address(l));
    for (const Location& l : launch.outputs) outputs.push_back(bases.address(l));
    launch.kernel->bind(inputs, outputs, bases.address(launch.scratch));
  }
}

void record(Plan& plan, Device& device) {
  std::vector<RecordedRun> recorded;
  for (size_t first = 0; first < plan.steps.size(); ++first) {
    size_t last = first;
    while (last < plan.steps.size() && plan.steps[last].kind == PlanStep::launch) ++last;
    if (first == last) continue;
    recorded.push_back({first, last, device.record(order_launches(plan, first, last), [&](size_t i) {
                          plan.launches[plan.steps[first + i].index].kernel->run();
                        })});
    first = last;
  }
  plan.recorded = std::move(recorded);
}

namespace {

int gather_slot(size_t bucket, size_t buckets) { return static_cast<int>(buckets + bucket); }

void sum_over_group(const GroupSum& sum, Device& device, const Bases& bases, const RankGroups& groups, size_t buckets,
                    Deadline deadline) {
  Communicator& group = *(sum.group == RankGroup::data      ? groups.data
                          : sum.group == RankGroup::channel ? groups.channel
                                                            : groups.model);
  const int slot = sum.group == RankGroup::data ? data_slots(buckets) - 1 : 0;
  std::byte* const to = bases.address(sum.to);
  device.copy(to, bases.address(sum.from), sum.from.bytes);
  const auto count = static_cast<int64_t>(sum.from.bytes / size_of(sum.dtype));
  group.start(slot, sum.dtype == DType::i32 ? Collective::all_of() : Collective::all_reduce(sum.dtype, count), to);
  group.wait(slot, deadline);
}

void exchange_channels(PlanStep::Kind kind, const ChannelExchange& exchange, Device& device, const Bases& bases,
                       Communicator& group, Deadline deadline) {
  std::byte *const from = bases.address(exchange.from), *const to = bases.address(exchange.to);
  const OwnedBytes& own = exchange.pieces[static_cast<size_t>(exchange.rank)];
  if (kind == PlanStep::channel_gather) {
    device.copy(to + own.begin, from, own.end - own.begin);
    group.start(0, Collective::all_gather(exchange.pieces), to);
    group.wait(0, deadline);
  } else {
    group.start(0, Collective::reduce_scatter(exchange.pieces), from);
    group.wait(0, deadline);
    device.copy(to, from + own.begin, own.end - own.begin);
  }
}

}  // namespace

void execute(const Plan& plan, Device& device, const Bases& bases, const std::vector<BucketRange>& buckets,
             const RankGroups& groups, Deadline deadline, std::vector<TraceEvent>* trace) {
  Communicator* const communicator = groups.data;
  auto recorded = plan.recorded.begin();
  for (size_t i = 0; i < plan.steps.size(); ++i) {
    const PlanStep& step = plan.steps[i];
    if (!trace && recorded != plan.recorded.end() && recorded->first == i) {
      recorded->recording->run();
      if (communicator) communicator->progress();
      i = recorded->last - 1;
      ++recorded;
      continue;
    }
    TraceEvent event{step, {}, {}};
    if (trace) event.begin = std::chrono::steady_clock::now();
    switch (step.kind) {
      case PlanStep::launch:
        plan.launches[step.index].kernel->run();
        if (communicator) communicator->progress();
        break;
      case PlanStep::start_all_reduce: {
        const BucketRange& range = buckets[step.index];
        communicator->start(static_cast<int>(step.index),
                            Collective::all_reduce(DType::f32, static_cast<int64_t>(range.bytes / sizeof(float))),
                            bases.gradients + range.offset);
        communicator->progress();
        break;
      }
      case PlanStep::wait_all_reduce: communicator->wait(static_cast<int>(step.index), deadline); break;
      case PlanStep::send:
      case PlanStep::receive: {
        const Message& message = plan.messages[step.index];
        std::byte* const data = bases.address(message.location);
        if (step.kind == PlanStep::send)
          groups.pipeline->send(message.peer, message.slot, data, message.location.bytes, deadline);
        else
          groups.pipeline->receive(message.peer, message.slot, data, message.location.bytes, deadline);
        if (communicator) communicator->progress();
        break;
      }
      case PlanStep::start_all_gather: {
        const BucketRange& range = buckets[step.index];
        communicator->start(gather_slot(step.index, buckets.size()), Collective::all_gather(range.pieces),
                            bases.parameters + range.offset);
        communicator->progress();
        break;
      }
      case PlanStep::wait_all_gather: communicator->wait(gather_slot(step.index, buckets.size()), deadline); break;
      case PlanStep::group_sum:
        sum_over_group(plan.sums[step.index], device, bases, groups, buckets.size(), deadline);
        if (communicator) communicator->progress();
        break;
      case PlanStep::channel_gather:
      case PlanStep::channel_scatter:
        exchange_channels(step.kind, plan.exchanges[step.index], device, bases, *groups.channel, deadline);
        if (communicator) communicator->progress();
        break;
    }
    if (trace) {
      event.end = std::chrono::steady_clock::now();
      trace->push_back(event);
    }
  }
}

}  // namespace troika
