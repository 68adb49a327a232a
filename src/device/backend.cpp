// Names of devices, and the search for the backend that has one.
#include "device/backend.h"

#include <charconv>

#include "core/fork_lock.h"
#include "core/text.h"

namespace troika {

std::string to_string(DeviceId id) {
  return (id.kind == DeviceKind::cpu ? "cpu:" : "cuda:") + std::to_string(id.index);
}

std::ostream& operator<<(std::ostream& out, DeviceId id) { return out << to_string(id); }

DeviceId parse_device(const std::string& source) {
  const size_t colon = source.find(':');
  const std::string kind = source.substr(0, colon);
  DeviceId id;
  bool good = kind == "cpu" || kind == "cuda";
  id.kind = kind == "cuda" ? DeviceKind::cuda : DeviceKind::cpu;
  if (colon != std::string::npos) {
    const char *begin = source.data() + colon + 1, *end = source.data() + source.size();
    auto [stop, error] = std::from_chars(begin, end, id.index);
    good = good && error == std::errc() && stop == end && id.index >= 0;
  }
  if (!good) throw Error(Status::invalid_argument, text("device '", source, "' is none; need cpu, cpu:N or cuda:N"));
  return id;
}

void BackendRegistry::add(std::unique_ptr<Backend> backend) {
  const DeviceKind kind = backend->kind();
  std::erase_if(entries_, [&](const Entry& entry) { return entry.kind == kind; });
  entries_.push_back({kind, {std::move(backend)}, {}});
}

void BackendRegistry::add_on_demand(DeviceKind kind, Load load) { entries_.push_back({kind, {}, std::move(load)}); }

void BackendRegistry::add_unavailable(DeviceKind kind, std::string reason) {
  entries_.push_back({kind, {nullptr, {}, std::move(reason)}, {}});
}

const BackendRegistry::Entry* BackendRegistry::find(DeviceKind kind) const {
  const auto lock = lock_after_fork(mutex_, generation_);
  for (Entry& entry : entries_) {
    if (entry.kind != kind) continue;
    if (entry.load) {
      entry.loaded = entry.load();
      entry.load = {};
    }
    return &entry;
  }
  return nullptr;
}

int BackendRegistry::device_count(DeviceKind kind) const {
  const Entry* entry = find(kind);
  return entry && entry->loaded.backend ? entry->loaded.backend->device_count() : 0;
}

const Backend& BackendRegistry::require(DeviceId id) const {
  const Entry* entry = find(id.kind);
  if (!entry)
    throw Error(Status::device_unavailable, text("device ", id, " is of a kind that this library does not have"));
  if (!entry->loaded.backend)
    throw Error(Status::device_unavailable, text("device ", id, " is not usable: ", entry->loaded.reason));
  if (const int count = entry->loaded.backend->device_count(); id.index < 0 || id.index >= count)
    throw Error(Status::device_unavailable,
                text("device ", id, " does not exist; there are ", count, ", from ", DeviceId{id.kind, 0}));
  return *entry->loaded.backend;
}

std::vector<const TransportDef*> BackendRegistry::transports() const {
  const auto lock = lock_after_fork(mutex_, generation_);
  std::vector<const TransportDef*> all;
  for (const Entry& entry : entries_) {
    if (!entry.loaded.backend) continue;
    const std::vector<const TransportDef*> own = entry.loaded.backend->transports();
    all.insert(all.end(), own.begin(), own.end());
  }
  return all;
}

std::vector<std::string> BackendRegistry::describe() const {
  std::vector<std::string> lines;
  for (const auto& [kind, name] : {std::pair(DeviceKind::cpu, "cpu"), std::pair(DeviceKind::cuda, "cuda")}) {
    const Entry* entry = find(kind);
    if (!entry) continue;
    const auto& [backend, versions, reason] = entry->loaded;
    lines.push_back(text(name, versions.empty() ? "" : " ", versions,
                         backend ? text(", ", backend->device_count(), " devices") : text(", not usable: ", reason)));
  }
  return lines;
}

}  // namespace troika
