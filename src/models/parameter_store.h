// The values of a model's parameters and buffers: host copies, which the model shares with the
// trainer that holds it.
#pragma once

#include <atomic>
#include <cstddef>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "graph/graph.h"

namespace troika {

struct Parameter {
  std::string name;  // "conv1.weight"
  TensorType type;   // f32; i64 for num_batches_tracked
  bool is_buffer = false;
  bool is_initialized = false;
  std::vector<std::byte> data;  // row-major; empty until initialized, and while the owner has a newer value
};

// A second name of a parameter.
struct SharedName {
  std::string name;  // "fc.weight"
  size_t of;         // the entry
  bool is_taken;     // a layer has the name
};

// Holds values that are newer than the host copies: a trainer after a step.
class ParameterOwner {
 public:
  virtual ~ParameterOwner() = default;
  // Writes the newest values into the store's host copies. Throws BUSY while the owner is in a
  // step.
  virtual void pull() = 0;
};

// Entries are in the order in which layers were added. Reading and writing by name is safe from
// several threads.
class ParameterStore {
 public:
  // For building, before anything is attached: adds all of them, or none.
  void add(std::vector<Parameter> parameters);
  void truncate(size_t size);  // removes the last entries, before anything is attached

  size_t size() const { return entries_.size(); }
  const Parameter& entry(size_t i) const { return entries_[i]; }  // its data may be older than the owner's
  size_t index_of(const std::string& name) const;                 // NOT_FOUND, with the nearest name if there is one
  bool contains(const std::string& name) const { return names_.contains(name); }

  // Whether the pattern matches a name of entry `i`.
  bool matches(std::string_view pattern, size_t i) const;

  // A second name of an entry: a layer that is added later shares the entry under the name.
  void share(const std::string& name, size_t i);
  const std::vector<SharedName>& shared_names() const { return shared_; }
  // Called by such a layer: the names that it has taken.
  void mark_taken(const std::vector<std::string>& names);

  // First bring the host copies up to date. `what` is the model's name, for messages.
  void read(size_t i, void* data, size_t bytes);
  void write(size_t i, const void* data, size_t bytes);
  void write(size_t i, std::vector<std::byte> data);  // takes the memory over

  // Grows whenever a host copy is written: replicas upload again if it differs from the version
  // that they uploaded.
  uint64_t version() const { return version_; }

  // The trainer that holds the parameters. If there was an owner, its values are pulled first.
  void set_owner(ParameterOwner* owner);
  bool is_owner(const ParameterOwner* owner) const { return owner_ == owner; }
  // The same at the end of an owner, unless another one has taken its place.
  void give_up(const ParameterOwner* owner);
  void drop_owner(const ParameterOwner* owner);  // without pulling: its values are lost
  // Called by the owner before a step: DETACHED if it is not the owner any more. The host copies
  // are outdated from now on, and free their memory until a value is needed.
  void mark_newer(const ParameterOwner* owner);
  bool is_outdated() const { return owner_is_newer_; }  // the owner has newer values
  void refresh();                                       // pulls if the owner has newer values
  // For the owner, which writes the host copies itself: whether it has newer values, and then that
  // it has written them.
  bool begin_refresh(const ParameterOwner* owner);
  void end_refresh() { owner_is_newer_ = false; }
  // For the owner, inside pull() and upload: direct access to the host copies.
  std::vector<std::byte>& data(size_t i) { return entries_[i].data; }
  // Returns memory for the host copy, which keeps its contents. Throws OUT_OF_MEMORY with the
  // parameter's name and size.
  std::vector<std::byte>& allocate(size_t i);

  std::recursive_mutex& mutex() { return mutex_; }

 private:
  std::vector<Parameter> entries_;
  std::unordered_map<std::string, size_t> names_;
  std::vector<SharedName> shared_;
  std::atomic<uint64_t> version_{1};
  std::atomic<ParameterOwner*> owner_{nullptr};
  std::atomic<bool> owner_is_newer_{false};
  std::recursive_mutex mutex_;
};

}  // namespace troika
