// The objects that a library has created for callers and that are not destroyed yet, so that a
// stale or wrong handle is an error, not a crash.
#pragma once

#include <memory>
#include <mutex>
#include <unordered_map>

#include "creations.h"

namespace emulated_gpu {

// `T::kKind` names the objects in tests that report leaks.
template <typename T>
class LiveObjects {
 public:
  LiveObjects() {
    LiveKind(T::kKind, [this] {
      const std::lock_guard lock(mutex_);
      return objects_.size();
    });
  }

  T* add(std::shared_ptr<T> object) {
    const std::lock_guard lock(mutex_);
    T* const address = object.get();
    objects_[address] = std::move(object);
    return address;
  }

  // Returns null if there is no object at the address.
  std::shared_ptr<T> find(const void* address) const {
    const std::lock_guard lock(mutex_);
    const auto found = objects_.find(address);
    return found == objects_.end() ? nullptr : found->second;
  }

  // Returns null if there is no object at the address. The caller's pointer is the last, so that
  // the object is destroyed outside the lock.
  std::shared_ptr<T> remove(const void* address) {
    const std::lock_guard lock(mutex_);
    auto node = objects_.extract(address);
    return node.empty() ? nullptr : std::move(node.mapped());
  }

 private:
  mutable std::mutex mutex_;
  std::unordered_map<const void*, std::shared_ptr<T>> objects_;
};

// All objects of a type. Never destroyed: other libraries destroy some of their objects while the
// process exits.
template <typename T>
LiveObjects<T>& live() {
  static auto& objects = *new LiveObjects<T>;
  return objects;
}

}  // namespace emulated_gpu
