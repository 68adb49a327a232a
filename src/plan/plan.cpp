// Printing plans.
#include "plan/plan.h"

#include <algorithm>
#include <iomanip>

#include "core/text.h"

namespace troika {

double Plan::operations() const {
  double sum = 0;
  for (const Launch& launch : launches) sum += launch.operations;
  return sum;
}

bool Plan::uses(Segment segment) const {
  const auto is_there = [&](const Location& l) { return l.segment == segment; };
  return std::any_of(launches.begin(), launches.end(), [&](const Launch& launch) {
    return std::any_of(launch.inputs.begin(), launch.inputs.end(), is_there) ||
           std::any_of(launch.outputs.begin(), launch.outputs.end(), is_there);
  });
}

namespace {

std::string print_location(const Location& l) {
  static constexpr const char* kNames[] = {"_", "arena", "parameters", "gradients", "optimizer", "copies"};
  if (l.segment == Segment::none) return "_";
  if (l.segment == Segment::packed) return text("packed:", l.bytes);
  return text(kNames[static_cast<int>(l.segment)], "+", l.offset, ":", l.bytes);
}

std::string print_locations(const std::vector<Location>& locations) {
  std::vector<std::string> parts;
  for (const Location& l : locations) parts.push_back(print_location(l));
  return join(parts, " ");
}

}  // namespace

const char* name_of(PlanStep::Kind kind) {
  switch (kind) {
    case PlanStep::launch: return "launch";
    case PlanStep::start_all_reduce: return "start_all_reduce";
    case PlanStep::wait_all_reduce: return "wait_all_reduce";
    case PlanStep::start_all_gather: return "start_all_gather";
    case PlanStep::wait_all_gather: return "wait_all_gather";
    case PlanStep::send: return "send";
    case PlanStep::receive: return "receive";
    case PlanStep::start_group_sum: return "start_group_sum";
    case PlanStep::wait_group_sum: return "wait_group_sum";
    case PlanStep::channel_gather: return "channel_gather";
    case PlanStep::channel_scatter: return "channel_scatter";
    case PlanStep::pause: return "pause";
  }
  return "";
}

std::string print_plan(const Plan& plan) {
  std::ostringstream out = text_stream();
  out << std::fixed << std::setprecision(3) << "plan " << plan.name << ": " << plan.launches.size() << " launches, "
      << plan.operations() / 1e9 << " GFLOP, arena " << std::setprecision(1)
      << static_cast<double>(plan.arena_bytes) / (1 << 20) << " MiB\n";
  for (const InputPort& input : plan.inputs)
    out << "  feed " << input.name << " -> " << print_location(input.location) << '\n';
  for (const PlanStep& step : plan.steps) {
    if (step.kind == PlanStep::start_all_reduce) {
      out << "  start all_reduce bucket " << step.index << '\n';
    } else if (step.kind == PlanStep::wait_all_reduce) {
      out << (step.is_late ? "  late wait all_reduce bucket " : "  wait all_reduce bucket ") << step.index << '\n';
    } else if (step.kind == PlanStep::start_all_gather) {
      out << "  start all_gather bucket " << step.index << '\n';
    } else if (step.kind == PlanStep::wait_all_gather) {
      out << "  wait all_gather bucket " << step.index << '\n';
    } else if (step.kind == PlanStep::wait_group_sum) {
      out << "  wait -> " << print_location(plan.sums[step.index].to) << '\n';
    } else if (step.kind == PlanStep::start_group_sum) {
      static constexpr const char* kGroups[] = {"data", "channel", "model"};
      const GroupSum& sum = plan.sums[step.index];
      out << "  " << kGroups[static_cast<size_t>(sum.group)] << (sum.collective.sums() ? "_sum " : "_and ")
          << print_location(sum.from) << " -> " << print_location(sum.to) << '\n';
    } else if (step.kind == PlanStep::channel_gather || step.kind == PlanStep::channel_scatter) {
      const ChannelExchange& exchange = plan.exchanges[step.index];
      out << (step.kind == PlanStep::channel_gather ? "  channel_gather " : "  channel_scatter ")
          << print_location(exchange.from) << " -> " << print_location(exchange.to) << '\n';
    } else if (step.kind == PlanStep::pause) {
      out << "  pause\n";
    } else if (step.kind != PlanStep::launch) {
      const Message& m = plan.messages[step.index];
      out << (step.kind == PlanStep::send ? "  send " : "  receive ") << m.slot
          << (step.kind == PlanStep::send ? " to rank " : " from rank ") << m.peer << ": " << print_location(m.location)
          << '\n';
    } else {
      const Launch& l = plan.launches[step.index];
      out << (l.is_beside ? "  beside " : step.is_late ? "  late " : step.makes_copies ? "  once " : "  ") << l.op << " '" << l.layer << "' by " << l.kernel_name << " ("
          << l.layouts << ") " << print_locations(l.inputs) << " -> " << print_locations(l.outputs);
      if (l.scratch.bytes) out << " scratch " << print_location(l.scratch);
      out << '\n';
    }
  }
  for (const RecordedRun& run : plan.recorded)
    if (const std::string note = run.recording->note(); !note.empty())
      out << "  recorded " << run.last - run.first << " launches: " << note << '\n';
  for (const OutputPort& output : plan.outputs) out << "  result " << print_location(output.location) << '\n';
  return out.str();
}

}  // namespace troika
