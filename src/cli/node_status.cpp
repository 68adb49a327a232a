// A launcher's file as JSON.
#include "cli/node_status.h"

#include <nlohmann/json.hpp>

#include "cli/client.h"
#include "cli/files.h"
#include "cli/text.h"
#include "core/path.h"

namespace troika::cli {
namespace {

using Json = nlohmann::ordered_json;

// Calls `visit(name, field)` for every field of a process.
template <typename Process, typename Visitor>
void visit_process(Process& process, Visitor&& visit) {
  visit("rank", process.rank);
  visit("host", process.process.host);
  visit("process", process.process.id);
  visit("began", process.process.began);
  visit("has_ended", process.has_ended);
  visit("exit_status", process.exit_status);
  visit("signal", process.signal);
}

// The same for a node, without its processes.
template <typename Status, typename Visitor>
void visit_node(Status& status, Visitor&& visit) {
  visit("processes", status.processes);
  visit("attempt", status.attempt);
  visit("began", status.began);
}

}  // namespace

std::filesystem::path node_status_file(const std::filesystem::path& of, int node) {
  return status_folder(of) / formatted("node-%d.json", node);
}

std::string print_status(const NodeStatus& status) {
  Json out;
  visit_node(status, [&](const char* name, const auto& field) { out[name] = field; });
  out["launched"] = Json::array();
  for (const LaunchedProcess& process : status.launched) {
    Json& printed = out["launched"].emplace_back();
    visit_process(process, [&](const char* name, const auto& field) { printed[name] = field; });
  }
  return out.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

NodeStatus read_node_status(const std::filesystem::path& file) {
  NodeStatus status;
  const Json parsed = Json::parse(read_file(file), nullptr, false);
  try {
    visit_node(status, [&](const char* name, auto& field) { parsed.at(name).get_to(field); });
    for (const Json& printed : parsed.at("launched"))
      visit_process(status.launched.emplace_back(),
                    [&](const char* name, auto& field) { printed.at(name).get_to(field); });
    if (status.processes > 0 && status.processes <= kMostRanks) return status;
  } catch (const Json::exception&) {}
  throw Failure("'" + text_of(file) + "' is not the status of a launcher; remove the file");
}

}  // namespace troika::cli
