// Reads and writes parameter values, through the owner if it has newer ones.
#include "models/parameter_store.h"

#include <algorithm>
#include <cstring>
#include <iterator>

#include "core/error.h"
#include "core/host_memory.h"
#include "core/nearest_name.h"
#include "core/text.h"

namespace troika {

void ParameterStore::add(std::vector<Parameter> parameters) {
  const size_t size = entries_.size();
  try {
    for (Parameter& parameter : parameters) {
      names_.emplace(parameter.name, entries_.size());
      entries_.push_back(std::move(parameter));
    }
  } catch (...) {
    for (const Parameter& parameter : parameters) names_.erase(parameter.name);  // one that was not moved yet
    truncate(size);
    throw;
  }
}

void ParameterStore::truncate(size_t size) {
  for (size_t i = size; i < entries_.size(); ++i) names_.erase(entries_[i].name);
  entries_.erase(entries_.begin() + static_cast<std::ptrdiff_t>(size), entries_.end());
}

bool ParameterStore::matches(std::string_view pattern, size_t i) const {
  if (matches_pattern(pattern, entries_[i].name)) return true;
  return std::any_of(shared_.begin(), shared_.end(),
                     [&](const SharedName& shared) { return shared.of == i && matches_pattern(pattern, shared.name); });
}

void ParameterStore::share(const std::string& name, size_t i) {
  shared_.push_back({name, i, false});
  try {
    names_.emplace(name, i);
  } catch (...) {
    shared_.pop_back();
    throw;
  }
}

void ParameterStore::mark_taken(const std::vector<std::string>& names) {
  for (SharedName& shared : shared_)
    shared.is_taken = shared.is_taken || std::find(names.begin(), names.end(), shared.name) != names.end();
}

size_t ParameterStore::index_of(const std::string& name) const {
  if (const auto found = names_.find(name); found != names_.end()) return found->second;
  const std::string* nearest = nearest_name(
      name, entries_, [](const Parameter& p) -> auto& { return p.name; });
  throw Error(Status::not_found,
              text("parameter '", name, "' is not in the model; it has ", entries_.size(), " parameters and buffers",
                   nearest ? text(", the nearest name is '", *nearest, "'") : std::string()));
}

void ParameterStore::read(size_t i, void* data, size_t bytes) {
  std::lock_guard lock(mutex_);
  refresh();
  const Parameter& p = entries_[i];
  if (bytes != p.type.bytes())
    throw Error(Status::invalid_argument, text("parameter '", p.name, "': buffer has ", bytes, " bytes, ",
                                               name_of(p.type.dtype), p.type.shape, " needs ", p.type.bytes()));
  if (!p.is_initialized)
    throw Error(Status::not_initialized,
                text("parameter '", p.name, "' has no value yet; initialize, load or attach the model first"));
  std::memcpy(data, p.data.data(), bytes);
}

void ParameterStore::write(size_t i, const void* data, size_t bytes) {
  std::lock_guard lock(mutex_);
  refresh();
  Parameter& p = entries_[i];
  if (bytes != p.type.bytes())
    throw Error(Status::invalid_argument, text("parameter '", p.name, "': data has ", bytes, " bytes, ",
                                               name_of(p.type.dtype), p.type.shape, " needs ", p.type.bytes()));
  allocate(i);
  std::memcpy(p.data.data(), data, bytes);
  p.is_initialized = true;
  ++version_;
}

void ParameterStore::write(size_t i, std::vector<std::byte> data) {
  std::lock_guard lock(mutex_);
  refresh();
  Parameter& p = entries_[i];
  if (data.size() != p.type.bytes())
    throw Error(Status::internal, text("parameter '", p.name, "': ", data.size(), " bytes are not its size"));
  p.data = std::move(data);
  p.is_initialized = true;
  ++version_;
}

std::vector<std::byte>& ParameterStore::allocate(size_t i) {
  Parameter& p = entries_[i];
  resize_host(p.data, p.type.bytes(), "parameter", p.name);
  return p.data;
}

void ParameterStore::set_owner(ParameterOwner* owner) {
  std::lock_guard lock(mutex_);
  refresh();
  owner_ = owner;
}

void ParameterStore::give_up(const ParameterOwner* owner) {
  std::lock_guard lock(mutex_);
  if (owner_ != owner) return;
  refresh();
  owner_ = nullptr;
}

void ParameterStore::drop_owner(const ParameterOwner* owner) {
  std::lock_guard lock(mutex_);
  if (owner_ != owner) return;
  owner_is_newer_ = false;
  owner_ = nullptr;
  for (Parameter& p : entries_) p.is_initialized = p.is_initialized && !p.data.empty();
}

void ParameterStore::mark_newer(const ParameterOwner* owner) {
  std::lock_guard lock(mutex_);
  if (owner_ != owner)
    throw Error(Status::detached, "the model was attached again; this trainer no longer owns its parameters");
  owner_is_newer_ = true;
  for (Parameter& p : entries_) std::vector<std::byte>().swap(p.data);
}

bool ParameterStore::begin_refresh(const ParameterOwner* owner) {
  std::lock_guard lock(mutex_);
  if (owner_ != owner || !owner_is_newer_) return false;
  ++version_;
  return true;
}

void ParameterStore::refresh() {
  std::lock_guard lock(mutex_);
  if (!owner_is_newer_) return;
  ++version_;  // the owner itself notes that it has this version
  try {
    owner_.load()->pull();
  } catch (...) {  // nothing new to upload
    --version_;
    throw;
  }
  owner_is_newer_ = false;
}

}  // namespace troika
