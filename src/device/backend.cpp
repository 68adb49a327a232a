// Names of devices, and the search for the backend that has one.
#include "device/backend.h"

#include <charconv>

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

int BackendRegistry::device_count(DeviceKind kind) const {
  for (const auto& backend : backends_)
    if (backend->kind() == kind) return backend->device_count();
  return 0;
}

const Backend& BackendRegistry::require(DeviceId id) const {
  for (const auto& backend : backends_) {
    if (backend->kind() != id.kind) continue;
    if (id.index >= 0 && id.index < backend->device_count()) return *backend;
    throw Error(Status::device_unavailable, text("device ", id, " does not exist; there are ", backend->device_count(),
                                                 ", from ", DeviceId{id.kind, 0}));
  }
  for (const auto& [kind, reason] : unavailable_)
    if (kind == id.kind) throw Error(Status::device_unavailable, text("device ", id, " is not usable: ", reason));
  throw Error(Status::device_unavailable, text("device ", id, " is of a kind that this library does not have"));
}

std::vector<const TransportDef*> BackendRegistry::transports() const {
  std::vector<const TransportDef*> all;
  for (const auto& backend : backends_) {
    const std::vector<const TransportDef*> own = backend->transports();
    all.insert(all.end(), own.begin(), own.end());
  }
  return all;
}

}  // namespace troika
