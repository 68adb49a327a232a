// One pass over a plan's steps.
#include "runtime/executor.h"

#include <algorithm>

#include "core/process_state.h"
#include "core/text.h"
#include "plan/launch_order.h"

namespace troika {

std::byte* Bases::address(const Location& location) const {
  switch (location.segment) {
    case Segment::none: return nullptr;
    case Segment::arena: return arena + location.offset;
    case Segment::parameters: return parameters + location.offset;
    case Segment::gradients: return gradients + location.offset;
    case Segment::optimizer: return optimizer + location.offset;
    case Segment::copies: return copies + location.offset;
    case Segment::packed: return reinterpret_cast<std::byte*>(location.offset);
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
    while (last < plan.steps.size() && plan.steps[last].kind == PlanStep::launch && !plan.steps[last].makes_copies)
      ++last;
    if (first == last) continue;
    recorded.push_back({first, last, device.record(order_launches(plan, first, last), [&](size_t i) {
                          plan.launches[plan.steps[first + i].index].kernel->run();
                        })});
    first = last;
  }
  plan.recorded = std::move(recorded);
}

namespace {

void start_sum(const GroupSum& sum, Device& device, const Bases& bases, Communicator& group) {
  std::byte* const to = bases.address(sum.to);
  device.copy(to, bases.address(sum.from), sum.from.bytes);
  group.start(sum.slot, sum.collective, to);
}

void exchange_channels(PlanStep::Kind kind, const ChannelExchange& exchange, Device& device, const Bases& bases,
                       Communicator& group, Deadline deadline) {
  std::byte *const from = bases.address(exchange.from), *const to = bases.address(exchange.to);
  const OwnedBytes& own = exchange.pieces[static_cast<size_t>(exchange.rank)];
  if (kind == PlanStep::channel_gather) {
    device.copy(to + own.begin, from, own.end - own.begin);
    group.start(exchange.slot, Collective::all_gather(exchange.pieces), to);
    group.wait(exchange.slot, deadline);
  } else {
    group.start(exchange.slot, Collective::reduce_scatter(exchange.pieces), from);
    group.wait(exchange.slot, deadline);
    device.copy(to, from + own.begin, own.end - own.begin);
  }
}

// Whether the thread waits in this step until other ranks have come as far.
bool waits_for_ranks(PlanStep::Kind kind) {
  switch (kind) {
    case PlanStep::wait_all_reduce:
    case PlanStep::wait_all_gather:
    case PlanStep::wait_group_sum:
    case PlanStep::channel_gather:
    case PlanStep::channel_scatter:
    case PlanStep::send:
    case PlanStep::receive: return true;
    default: return false;
  }
}

size_t find_pause(const Plan& plan) {
  const auto is_pause = [](const PlanStep& step) { return step.kind == PlanStep::pause; };
  const auto found = std::find_if(plan.steps.begin(), plan.steps.end(), is_pause);
  if (found == plan.steps.end()) throw Error(Status::internal, text("plan ", plan.name, " has no pause"));
  return static_cast<size_t>(found - plan.steps.begin());
}

// Returns when the result that a step has waited for was there; none for other steps.
std::optional<std::chrono::steady_clock::time_point> find_arrival(const Plan& plan, const PlanStep& step,
                                                                  const RankGroups& groups) {
  const auto arrival = [&](RankGroup group, int slot) { return groups.of(group)->arrival(slot); };
  switch (step.kind) {
    case PlanStep::wait_all_reduce: return arrival(RankGroup::data, plan.bucket_slots[step.index].reduce);
    case PlanStep::wait_all_gather: return arrival(RankGroup::data, plan.bucket_slots[step.index].gather);
    case PlanStep::wait_group_sum: return arrival(plan.sums[step.index].group, plan.sums[step.index].slot);
    default: return std::nullopt;
  }
}

// The time that the host takes at most, usually, to start a step and to record two events.
constexpr std::chrono::microseconds kHostTimePerStep{12};

// Sets the times of the events from `first` on, by the clock. An arrival that the host knows stays.
void take_times(LaunchClock& clock, std::vector<TraceEvent>& events, size_t first) {
  std::chrono::steady_clock::time_point end;
  const std::vector<LaunchTime> times = clock.read(end);
  if (times.empty()) return;
  const auto origin = end - times.back().begin - times.back().length;
  auto time = times.begin();
  for (size_t i = first; i < events.size(); ++i) {
    TraceEvent& event = events[i];
    if (event.step.kind == PlanStep::pause || time == times.end()) continue;
    const bool is_known = event.arrival != event.end;
    event.begin = origin + time->begin;
    event.end = event.begin + time->length;
    if (!is_known) event.arrival = event.end;
    ++time;
  }
}

}  // namespace

void Trace::make_room(const Plan& plan, Device* device) {
  events.reserve(plan.steps.size());
  if (!device || plan.steps.size() <= timed_steps) return;
  timed_steps = plan.steps.size();
  clock = device->create_clock(timed_steps);
}

void wait_for_late_sums(const Plan& plan, const RankGroups& groups, Deadline deadline) {
  for (const PlanStep& step : plan.steps)
    if (step.is_late && step.kind == PlanStep::wait_all_reduce)
      groups.of(RankGroup::data)->wait(plan.bucket_slots[step.index].reduce, deadline);
}

std::chrono::steady_clock::duration execute(const Plan& plan, Device& device, const Bases& bases,
                                            const std::vector<BucketRange>& buckets, const RankGroups& groups,
                                            Deadline deadline, Trace* trace, Piece piece, bool has_copies) {
  std::chrono::steady_clock::duration waited{0};
  Communicator* const data = groups.of(RankGroup::data);
  const size_t first = piece == Piece::backward ? find_pause(plan) + 1 : 0;
  const size_t last = piece == Piece::forward ? find_pause(plan) : plan.steps.size();
  LaunchClock* const clock = trace ? trace->clock.get() : nullptr;
  const size_t first_event = trace ? trace->events.size() : 0;
  if (clock) clock->hold(kHostTimePerStep * (last - first));
  auto recorded = plan.recorded.begin();
  while (recorded != plan.recorded.end() && recorded->first < first) ++recorded;
  for (size_t i = first; i < last; ++i) {
    require_no_exit();
    const PlanStep& step = plan.steps[i];
    if (step.is_late ? piece == Piece::without_update : piece == Piece::update) continue;
    if (step.makes_copies && has_copies) continue;
    if (!trace && recorded != plan.recorded.end() && recorded->first == i) {
      recorded->recording->run();
      groups.progress();
      i = recorded->last - 1;
      ++recorded;
      continue;
    }
    TraceEvent event{step, {}, {}, {}};
    const bool waits = waits_for_ranks(step.kind);
    if (trace || waits) event.begin = std::chrono::steady_clock::now();
    const bool is_timed = clock && step.kind != PlanStep::pause;
    if (is_timed) clock->begin(i);
    switch (step.kind) {
      case PlanStep::launch:
        plan.launches[step.index].kernel->run();
        groups.progress();
        break;
      case PlanStep::start_all_reduce: {
        const BucketRange& range = buckets[step.index];
        const auto count = static_cast<int64_t>(range.bytes / sizeof(float));
        data->start(plan.bucket_slots[step.index].reduce,
                    Collective::all_reduce(DType::f32, count, plan.compresses_gradients),
                    bases.gradients + range.offset);
        groups.progress();
        break;
      }
      case PlanStep::wait_all_reduce: data->wait(plan.bucket_slots[step.index].reduce, deadline); break;
      case PlanStep::send:
      case PlanStep::receive: {
        const Message& message = plan.messages[step.index];
        std::byte* const address = bases.address(message.location);
        if (step.kind == PlanStep::send)
          groups.pipeline()->send(message.peer, message.slot, address, message.location.bytes, deadline);
        else
          groups.pipeline()->receive(message.peer, message.slot, address, message.location.bytes, deadline);
        groups.progress();
        break;
      }
      case PlanStep::start_all_gather: {
        const BucketRange& range = buckets[step.index];
        data->start(plan.bucket_slots[step.index].gather, Collective::all_gather(range.pieces),
                    bases.parameters + range.offset);
        groups.progress();
        break;
      }
      case PlanStep::wait_all_gather: data->wait(plan.bucket_slots[step.index].gather, deadline); break;
      case PlanStep::start_group_sum: {
        const GroupSum& sum = plan.sums[step.index];
        start_sum(sum, device, bases, *groups.of(sum.group));
        groups.progress();
        break;
      }
      case PlanStep::wait_group_sum: {
        const GroupSum& sum = plan.sums[step.index];
        groups.of(sum.group)->wait(sum.slot, deadline);
        break;
      }
      case PlanStep::channel_gather:
      case PlanStep::channel_scatter:
        exchange_channels(step.kind, plan.exchanges[step.index], device, bases, *groups.of(RankGroup::channel),
                          deadline);
        groups.progress();
        break;
      case PlanStep::pause: break;
    }
    if (is_timed) clock->end(i);
    if (trace || waits) event.end = std::chrono::steady_clock::now();
    if (waits) waited += event.end - event.begin;
    if (trace) {
      event.arrival = find_arrival(plan, step, groups).value_or(event.end);
      trace->events.push_back(event);
    }
  }
  if (clock) take_times(*clock, trace->events, first_event);
  return waited;
}

}  // namespace troika
