// Reads traces, and makes a table of them.
#include "cli/profile.h"

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>

#include "cli/files.h"
#include "cli/text.h"
#include "core/path.h"

namespace troika::cli {
namespace {

double rate(double amount, double milliseconds) { return milliseconds > 0 ? 1000 * amount / milliseconds : 0; }

// "  1393 GB/s    46 %", or blanks if there is no amount. `most` 0: without the part of it.
std::string rate_text(double amount, double milliseconds, double most, const char* unit) {
  const double reached = rate(amount, milliseconds);
  if (amount == 0) return std::string(21, ' ');
  return formatted("%8.0f %-6s ", reached / 1e9, unit) +
         (most > 0 ? formatted("%3.0f %%", 100 * reached / most) : "     ");
}

double part_of(double sum, double milliseconds) { return sum > 0 ? 100 * milliseconds / sum : 0; }

}  // namespace

Profile::TemporaryFile::TemporaryFile() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch().count();
  path = std::filesystem::temp_directory_path() /
         formatted("troika-profile-%lld-%p.json", static_cast<long long>(now), static_cast<const void*>(this));
}

Profile::TemporaryFile::~TemporaryFile() {
  std::error_code ignored;
  std::filesystem::remove(path, ignored);
}

void Profile::add(const Trainer& trainer) {
  call(troika_trainer_save_trace, trainer.get(), text_of(file_.path).c_str());
  const auto trace = nlohmann::json::parse(read_file(file_.path));
  // Track n + 1 has the events of replica n but its collectives, in the same order in every step.
  std::map<int, size_t> events;  // of each replica, so far
  for (const auto& event : trace.at("traceEvents")) {
    if (event.at("ph") != "X" || event.at("cat") == "collective") continue;
    const int replica = event.at("tid").get<int>() - 1;
    const double milliseconds = event.at("dur").get<double>() / 1000;
    std::vector<Event>& best = replicas_[replica];
    const size_t i = events[replica]++;
    if (i < best.size()) {
      best[i].milliseconds = std::min(best[i].milliseconds, milliseconds);
      continue;
    }
    const auto& args = event.at("args");
    const std::string kernel = args.value("kernel", "");
    // A sum goes on before the wait for it, so the wait has no rate.
    const double bytes = kernel.empty() ? 0.0 : args.value("bytes", 0.0);
    best.push_back({event.at("name"), milliseconds, kernel, bytes, args.value("operations", 0.0)});
  }
}

// The columns of a launch, or of a sum, before its name.
std::string Profile::row(const Event& event, const MeasuredRates& rates, double sum) {
  return formatted("%9.3f ms %5.1f %% ", event.milliseconds, part_of(sum, event.milliseconds)) +
         rate_text(event.bytes, event.milliseconds, rates.bytes_per_second, "GB/s") +
         rate_text(event.operations, event.milliseconds, rates.operations_per_second, "GFLOPS") + "  ";
}

std::string Profile::sums_by_kind(const std::vector<Event>& events, const MeasuredRates& rates, double sum) {
  std::map<std::string, Event> kinds;
  std::map<std::string, int> counts;
  for (const Event& event : events) {
    const std::string kind = event.name.substr(0, event.name.find(' '));
    Event& total = kinds[kind];
    total.name = kind;
    total.milliseconds += event.milliseconds;
    total.bytes += event.bytes;
    total.operations += event.operations;
    ++counts[kind];
  }
  std::vector<Event> sorted;
  for (const auto& [kind, total] : kinds) sorted.push_back(total);
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const Event& a, const Event& b) { return a.milliseconds > b.milliseconds; });
  std::string out;
  for (const Event& total : sorted)
    out += row(total, rates, sum) + formatted("%s, %d\n", total.name.c_str(), counts[total.name]);
  return out;
}

std::string Profile::table(const std::vector<MeasuredRates>& rates, double step_seconds) const {
  std::string result;
  for (const auto& [replica, events] : replicas_) {
    const MeasuredRates& most = rates.at(static_cast<size_t>(replica));
    double sum = 0;
    for (const Event& event : events) sum += event.milliseconds;
    result += formatted("replica %d: percent of the sum; of the %.0f GB/s of large additions", replica,
                        most.bytes_per_second / 1e9) +
              (most.operations_per_second > 0
                   ? formatted("; of the %.0f GFLOPS of large products", most.operations_per_second / 1e9)
                   : "") +
              "\n";
    for (const Event& event : events)
      result += row(event, most, sum) + formatted("replica %d  %s", replica, event.name.c_str()) +
                (event.kernel.empty() ? "" : "  " + event.kernel) + "\n";
    result += formatted("replica %d by kind:\n", replica) + sums_by_kind(events, most, sum);
    result += formatted("%9.3f ms  replica %d  sum; a step without a trace takes %.3f ms, %+.3f\n", sum, replica,
                        1000 * step_seconds, 1000 * step_seconds - sum);
  }
  return result;
}

}  // namespace troika::cli
