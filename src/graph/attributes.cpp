// Typed access to a node's settings.
#include "graph/attributes.h"

#include "core/error.h"
#include "core/text.h"

namespace troika {

template <typename T>
const T& Attributes::get(const std::string& name) const {
  auto it = items_.find(name);
  if (it == items_.end()) throw Error(Status::internal, text("attribute '", name, "' is absent"));
  const T* value = std::get_if<T>(&it->second);
  if (!value) throw Error(Status::internal, text("attribute '", name, "' has another type"));
  return *value;
}

int64_t Attributes::integer(const std::string& name) const { return get<int64_t>(name); }
double Attributes::real(const std::string& name) const { return get<double>(name); }
const std::vector<int64_t>& Attributes::list(const std::string& name) const { return get<std::vector<int64_t>>(name); }
const std::string& Attributes::word(const std::string& name) const { return get<std::string>(name); }

}  // namespace troika
