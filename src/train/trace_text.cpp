// Printing traces.
#include "train/trace_text.h"

#include <algorithm>

#include "core/text.h"

namespace troika {

std::string trace_text(const LocalRanks& ranks) {
  std::ostringstream out = text_stream();
  std::chrono::steady_clock::time_point start = std::chrono::steady_clock::time_point::max();
  for (const auto& [rank, replica] : ranks)
    if (replica->traced_plan() && !replica->trace().empty()) start = std::min(start, replica->trace().front().begin);
  auto us = [&](auto t) { return std::chrono::duration_cast<std::chrono::microseconds>(t - start).count(); };
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
  return out.str();
}

}  // namespace troika
