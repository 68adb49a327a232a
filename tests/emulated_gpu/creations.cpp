// The kinds of objects, and the call that must fail.
#include "creations.h"

#include <mutex>
#include <utility>
#include <vector>

namespace emulated_gpu {
namespace {

struct Creations {
  std::mutex mutex;
  std::vector<std::pair<const char*, std::function<size_t()>>> kinds;
  int64_t left = -1;  // creating calls before the call that fails; below 0: no call is to fail
  std::string spared, failed;
  int64_t refused_ends = 0;

  static Creations& get() {
    static Creations& creations = *new Creations;  // never destroyed: threads may use it at exit
    return creations;
  }
};

}  // namespace

void fail_creation(int64_t n, std::string spared) {
  Creations& creations = Creations::get();
  const std::lock_guard lock(creations.mutex);
  creations.left = n;
  creations.spared = std::move(spared);
  creations.failed.clear();
}

std::string failed_creation() {
  Creations& creations = Creations::get();
  const std::lock_guard lock(creations.mutex);
  return creations.failed;
}

bool must_fail(const char* call) {
  Creations& creations = Creations::get();
  const std::lock_guard lock(creations.mutex);
  if (creations.left < 0 || creations.spared == call || creations.left-- > 0) return false;
  creations.failed = call;
  return true;
}

int64_t refused_ends() {
  Creations& creations = Creations::get();
  const std::lock_guard lock(creations.mutex);
  return creations.refused_ends;
}

void note_refused_end() {
  Creations& creations = Creations::get();
  const std::lock_guard lock(creations.mutex);
  ++creations.refused_ends;
}

std::map<std::string, size_t> live_objects() {
  Creations& creations = Creations::get();
  std::unique_lock lock(creations.mutex);
  const auto kinds = creations.kinds;
  lock.unlock();  // counting takes locks that others hold while they ask must_fail()
  std::map<std::string, size_t> counts;
  for (const auto& [kind, count] : kinds)
    if (const size_t live = count(); live > 0) counts[kind] += live;
  return counts;
}

LiveKind::LiveKind(const char* kind, std::function<size_t()> count) {
  Creations& creations = Creations::get();
  const std::lock_guard lock(creations.mutex);
  creations.kinds.emplace_back(kind, std::move(count));
}

}  // namespace emulated_gpu
