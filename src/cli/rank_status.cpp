// Status files as JSON.
#include "cli/rank_status.h"

#include <nlohmann/json.hpp>

#include "cli/client.h"
#include "cli/files.h"
#include "cli/text.h"
#include "core/path.h"

namespace troika::cli {
namespace {

using Json = nlohmann::ordered_json;

// Calls `visit(name, field)` for every field of the file.
template <typename Status, typename Visitor>
void visit_status(Status& status, Visitor&& visit) {
  visit("rank", status.rank);
  visit("processes", status.processes);
  visit("host", status.process.host);
  visit("process", status.process.id);
  visit("began", status.process.began);
  visit("state", status.state);
  visit("message", status.message);
  visit("time", status.time);
  visit("epoch", status.epoch);
  visit("epochs", status.epochs);
  visit("step", status.step);
  visit("steps", status.steps);
  visit("images_per_second", status.images_per_second);
  visit("step_seconds", status.step_seconds);
  visit("wait_seconds", status.wait_seconds);
}

}  // namespace

std::filesystem::path status_folder(const std::filesystem::path& of) { return of / "status"; }

std::filesystem::path rank_status_file(const std::filesystem::path& of, int rank) {
  return status_folder(of) / formatted("rank-%d.json", rank);
}

std::string print_status(const RankStatus& status) {
  Json out;
  visit_status(status, [&](const char* name, const auto& field) { out[name] = field; });  // NaN becomes null
  return out.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

RankStatus read_status(const std::filesystem::path& file) {
  RankStatus status;
  const Json parsed = Json::parse(read_file(file), nullptr, false);
  try {
    visit_status(status, [&](const char* name, auto& field) {
      if (!parsed.at(name).is_null()) parsed.at(name).get_to(field);
    });
    if (status.rank >= 0 && status.rank < status.processes && status.processes <= kMostRanks) return status;
  } catch (const Json::exception&) {}
  throw Failure("'" + text_of(file) + "' is not the status of a process; remove the file");
}

}  // namespace troika::cli
