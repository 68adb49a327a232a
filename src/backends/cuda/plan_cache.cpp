// Reading and writing the file of engines.
#include "backends/cuda/plan_cache.h"

#include <fstream>
#include <nlohmann/json.hpp>

#include "core/atomic_file.h"
#include "core/error.h"

namespace troika::cuda {

using Json = nlohmann::json;

PlanCache::PlanCache(std::string path, std::string machine, const std::string& shipped)
    : path_(std::move(path)), machine_(std::move(machine)) {
  for (const std::string& file : {path_, shipped}) read(file);
}

// Entries that are known already stay.
void PlanCache::read(const std::string& path) {
  std::ifstream file(path);
  const Json json = Json::parse(file, nullptr, false);
  if (!json.is_object() || json.value("machine", Json()) != Json(machine_)) return;
  const auto engines = json.find("engines");
  if (engines == json.end() || !engines->is_object()) return;
  for (const auto& [problem, engine] : engines->items())
    if (engine.is_string()) engines_.emplace(problem, engine.get<std::string>());
}

std::optional<std::string> PlanCache::find(const std::string& problem) const {
  std::lock_guard lock(mutex_);
  const auto found = engines_.find(problem);
  if (found == engines_.end()) return std::nullopt;
  return found->second;
}

void PlanCache::store(const std::string& problem, const std::string& engine) {
  std::lock_guard lock(mutex_);
  engines_[problem] = engine;
  if (path_.empty()) return;
  read(path_);  // what other processes have found since
  write();
}

void PlanCache::write() const {
  const std::string engines = Json{{"machine", machine_}, {"engines", engines_}}.dump(1) + '\n';
  try {
    write_file_atomically("file of engines", path_, engines);
  } catch (const Error&) {  // the next process measures them again
  }
}

}  // namespace troika::cuda
