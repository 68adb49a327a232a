// Two queues: the launches of the step, and those that run concurrently with them.
#include "plan/launch_order.h"

#include <algorithm>

namespace troika {
namespace {

bool overlap(const Location& a, const Location& b) {
  return a.segment != Segment::none && a.segment == b.segment && a.offset < b.offset + b.bytes &&
         b.offset < a.offset + a.bytes;
}

// Returns what a launch writes, including what it changes in place.
std::vector<Location> written(const Launch& launch) {
  std::vector<Location> locations = launch.outputs;
  locations.push_back(launch.scratch);
  locations.insert(locations.end(), launch.changed.begin(), launch.changed.end());
  return locations;
}

std::vector<Location> touched(const Launch& launch) {
  std::vector<Location> locations = written(launch);
  locations.insert(locations.end(), launch.inputs.begin(), launch.inputs.end());
  return locations;
}

// Whether one launch writes what the other reads or writes.
bool are_in_conflict(const Launch& a, const Launch& b) {
  const auto meet = [](const std::vector<Location>& some, const std::vector<Location>& others) {
    return std::any_of(some.begin(), some.end(), [&](const Location& l) {
      return std::any_of(others.begin(), others.end(), [&](const Location& other) { return overlap(l, other); });
    });
  };
  return meet(written(a), touched(b)) || meet(touched(a), written(b));
}

}  // namespace

LaunchOrder order_launches(const Plan& plan, size_t first, size_t last) {
  LaunchOrder order(last - first);
  std::vector<size_t> row, beside;  // so far; each waits for the one before it
  size_t awaited = 0;               // number of launches of `beside` that the last launch of `row` has waited for
  const auto launch = [&](size_t i) -> const Launch& { return plan.launches[plan.steps[first + i].index]; };
  for (size_t i = 0; i < order.size(); ++i) {
    const auto is_in_conflict = [&](size_t other) { return are_in_conflict(launch(i), launch(other)); };
    std::vector<size_t>& own = launch(i).is_beside ? beside : row;
    if (!own.empty()) order[i].push_back(own.back());
    if (launch(i).is_beside) {
      const auto found = std::find_if(row.rbegin(), row.rend(), is_in_conflict);
      if (found != row.rend()) order[i].push_back(*found);
    } else {
      const auto open = beside.rend() - static_cast<std::ptrdiff_t>(awaited);
      const auto found = std::find_if(beside.rbegin(), open, is_in_conflict);
      if (found != open) {
        order[i].push_back(*found);
        awaited = static_cast<size_t>(beside.rend() - found);
      }
    }
    own.push_back(i);
  }
  return order;
}

}  // namespace troika
