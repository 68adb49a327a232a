// Printing traces.
#include "train/trace_text.h"

#include <algorithm>

#include "core/error.h"
#include "core/text.h"

namespace troika {

std::string require_trace(const LocalRanks& ranks) {
  std::ostringstream out = text_stream();
  std::chrono::steady_clock::time_point start = std::chrono::steady_clock::time_point::max();
  for (const auto& [rank, replica] : ranks)
    if (replica->traced_plan() && !replica->trace().empty()) start = std::min(start, replica->trace().front().begin);
  const auto us = [&](auto t) {
    const auto ns = std::chrono::duration_cast<std::chrono::nanoseconds>(t - start).count();
    return text(ns / 1000, '.', ns % 1000 / 100);  // tenths: kernels of a GPU may take two microseconds
  };
  for (const auto& [rank, replica] : ranks) {
    if (!replica->traced_plan()) continue;
    const Plan& plan = *replica->traced_plan();
    for (const TraceEvent& e : replica->trace()) {
      out << rank << ' ' << us(e.begin) << ' ' << us(e.end) << ' ';
      if (e.step.kind == PlanStep::launch) {
        const Launch& launch = plan.launches[e.step.index];
        out << launch.op << ' ' << launch.layer << '\n';
        continue;
      }
      const bool is_message = e.step.kind == PlanStep::send || e.step.kind == PlanStep::receive;
      out << name_of(e.step.kind) << ' '
          << (is_message ? static_cast<size_t>(plan.messages[e.step.index].slot) : e.step.index) << '\n';
    }
  }
  std::string trace = out.str();
  if (trace.empty()) throw_no_trace();
  return trace;
}

void throw_no_trace() {
  throw Error(Status::not_initialized, "trace: there is none; set collect_trace and run a step first");
}

std::string print_plans(const LocalRanks& ranks) {
  std::string plans;
  for (const auto& [rank, replica] : ranks) plans += text("replica ", rank, " ", print_plan(replica->current_plan()));
  return plans;
}

}  // namespace troika
