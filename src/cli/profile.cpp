// Reads traces, and makes a table of them.
#include "cli/profile.h"

#include <algorithm>
#include <sstream>

#include "cli/text.h"

namespace troika::cli {

void Profile::add(const Trainer& trainer) {
  int64_t size = 0;
  call(troika_trainer_trace, trainer.get(), static_cast<char*>(nullptr), int64_t{0}, &size);
  std::string text(static_cast<size_t>(size), '\0');
  call(troika_trainer_trace, trainer.get(), text.data(), size, &size);
  text.resize(text.find('\0'));

  // Each line is "replica begin_us end_us name"; a replica's events come in the same order in every
  // step.
  std::istringstream lines(text);
  std::map<int, size_t> events;  // of each replica, so far
  int replica = 0;
  double begin = 0, end = 0;
  for (std::string name; lines >> replica >> begin >> end && std::getline(lines >> std::ws, name);) {
    std::vector<Event>& best = replicas_[replica];
    const size_t i = events[replica]++;
    const double milliseconds = (end - begin) / 1000;
    if (i < best.size())
      best[i].milliseconds = std::min(best[i].milliseconds, milliseconds);
    else
      best.push_back({name, milliseconds});
  }
}

std::string Profile::table() const {
  std::string result;
  for (const auto& [replica, events] : replicas_) {
    double sum = 0;
    for (const Event& event : events) sum += event.milliseconds;
    for (const Event& event : events)
      result += formatted("%9.3f ms %5.1f %%  replica %d  %s\n", event.milliseconds, 100 * event.milliseconds / sum,
                          replica, event.name.c_str());
    result += formatted("%9.3f ms          replica %d  sum\n", sum, replica);
  }
  return result;
}

}  // namespace troika::cli
