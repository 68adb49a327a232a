// Events of a rank, from the steps of its plan.
#include "train/step_events.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "core/text.h"
#include "train/trace_text.h"

namespace troika {
namespace {

// A collective in words, and the bytes of its data on a rank.
struct Exchanged {
  std::string name;
  size_t bytes;
};

// Returns the bytes that a launch reads and writes: a tensor that it changes in place counts twice.
size_t bytes_of(const Launch& launch) {
  size_t bytes = 0;
  for (const auto* locations : {&launch.inputs, &launch.outputs}) {
    std::set<std::pair<Segment, size_t>> places;
    for (const Location& location : *locations)
      if (location.segment != Segment::none && places.insert({location.segment, location.offset}).second)
        bytes += location.bytes;
  }
  return bytes;
}

class RankEvents {
 public:
  RankEvents(const Trainer& trainer, int rank, const Plan& plan, std::vector<StepEvent>& events)
      : trainer_(trainer), rank_(rank), plan_(plan), events_(events) {}

  void add(const std::vector<TraceEvent>& events) {
    if (events.empty()) return;
    began_ = events.front().begin;
    for (const TraceEvent& event : events) add(event);
    // Collectives whose wait is in the next step go on.
    for (const auto& [started, begin] : started_) add_collective(started, begin, events.back().end, events.back().end);
  }

 private:
  void add(const TraceEvent& e) {
    const size_t index = e.step.index;
    switch (e.step.kind) {
      case PlanStep::launch: return add_launch(e, plan_.launches[index]);
      case PlanStep::start_all_reduce:
      case PlanStep::start_all_gather:
      case PlanStep::start_group_sum: return add_start(e);
      case PlanStep::wait_all_reduce: return add_wait(e, PlanStep::start_all_reduce);
      case PlanStep::wait_all_gather: return add_wait(e, PlanStep::start_all_gather);
      case PlanStep::wait_group_sum: return add_wait(e, PlanStep::start_group_sum);
      case PlanStep::channel_gather:
      case PlanStep::channel_scatter: return add_exchange(e);
      case PlanStep::send:
      case PlanStep::receive: return add_message(e, plan_.messages[index]);
      case PlanStep::pause: return;
    }
  }

  using Started = std::pair<PlanStep::Kind, size_t>;  // a start, and its index

  StepEvent& add(StepEvent::Kind kind, std::string name, const TraceEvent& e) {
    return events_.emplace_back(StepEvent{kind, rank_, std::move(name), e.begin, e.end});
  }

  void add_launch(const TraceEvent& e, const Launch& launch) {
    StepEvent& event = add(StepEvent::launch, text(launch.op, ' ', launch.layer), e);
    event.kernel = launch.kernel_name;
    event.bytes = bytes_of(launch);
    event.operations = launch.operations;
  }

  void add_start(const TraceEvent& e) {
    const Exchanged exchanged = exchanged_by(e.step);
    add(StepEvent::start, "start " + exchanged.name, e).bytes = exchanged.bytes;
    started_[{e.step.kind, e.step.index}] = e.begin;
  }

  // A collective that the step before has started has gone on since this step began.
  void add_wait(const TraceEvent& e, PlanStep::Kind start) {
    add(StepEvent::wait, "wait for " + exchanged_by({start, e.step.index}).name, e).bytes =
        exchanged_by({start, e.step.index}).bytes;
    const auto started = started_.find({start, e.step.index});
    add_collective({start, e.step.index}, started == started_.end() ? began_ : started->second, e.arrival, e.end);
    if (started != started_.end()) started_.erase(started);
  }

  void add_collective(const Started& started, std::chrono::steady_clock::time_point begin,
                      std::chrono::steady_clock::time_point arrival, std::chrono::steady_clock::time_point last) {
    const Exchanged exchanged = exchanged_by({started.first, started.second});
    StepEvent event{StepEvent::collective, rank_, exchanged.name, begin, std::clamp(arrival, begin, last)};
    event.bytes = exchanged.bytes;
    events_.push_back(event);
  }

  // The rank waits for its result at once.
  void add_exchange(const TraceEvent& e) {
    const Exchanged exchanged = exchanged_by(e.step);
    add(StepEvent::wait, "wait for " + exchanged.name, e).bytes = exchanged.bytes;
    add(StepEvent::collective, exchanged.name, e).bytes = exchanged.bytes;
  }

  void add_message(const TraceEvent& e, const Message& message) {
    const bool is_send = e.step.kind == PlanStep::send;
    const int peer = world_rank_of(message.peer);
    StepEvent& event =
        add(is_send ? StepEvent::send : StepEvent::receive,
            text(name_of(e.step.kind), ' ', message.slot, is_send ? " to rank " : " from rank ", peer), e);
    event.bytes = message.location.bytes;
    event.peer = peer;
    event.message = message.slot;
  }

  Exchanged exchanged_by(const PlanStep& step) const {
    switch (step.kind) {
      case PlanStep::start_all_reduce: return {text("all_reduce bucket ", step.index), bucket_bytes(step.index)};
      case PlanStep::start_all_gather: return {text("all_gather bucket ", step.index), bucket_bytes(step.index)};
      case PlanStep::start_group_sum: {
        const GroupSum& sum = plan_.sums[step.index];
        return {text(name_of(sum.collective.kind), " sum ", step.index), sum.from.bytes};
      }
      default: {
        const ChannelExchange& exchange = plan_.exchanges[step.index];
        const bool gathers = step.kind == PlanStep::channel_gather;
        return {text(gathers ? "all_gather" : "reduce_scatter", " channels ", step.index),
                gathers ? exchange.to.bytes : exchange.from.bytes};
      }
    }
  }

  size_t bucket_bytes(size_t bucket) const { return trainer_.state().table_of(rank_).buckets()[bucket].bytes; }

  int world_rank_of(int peer) const {
    for (const std::vector<int>& group : trainer_.layout().ranks().groups(RankGroup::pipeline))
      if (std::find(group.begin(), group.end(), rank_) != group.end()) return group[static_cast<size_t>(peer)];
    return peer;
  }

  const Trainer& trainer_;
  const int rank_;
  const Plan& plan_;
  std::vector<StepEvent>& events_;
  std::chrono::steady_clock::time_point began_;                       // the step
  std::map<Started, std::chrono::steady_clock::time_point> started_;  // that no wait has ended
};

}  // namespace

const char* name_of(StepEvent::Kind kind) {
  switch (kind) {
    case StepEvent::launch: return "launch";
    case StepEvent::start: return "start";
    case StepEvent::wait: return "wait";
    case StepEvent::collective: return "collective";
    case StepEvent::send: return "send";
    case StepEvent::receive: return "receive";
  }
  return "";
}

std::vector<StepEvent> require_events(const Trainer& trainer) {
  std::vector<StepEvent> events;
  for (const auto& [rank, replica] : trainer.ranks()) {
    if (!replica->traced_plan()) continue;
    RankEvents of_rank(trainer, rank, *replica->traced_plan(), events);
    of_rank.add(replica->trace());
  }
  if (events.empty()) throw_no_trace();
  return events;
}

}  // namespace troika
