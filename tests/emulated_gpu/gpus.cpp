// The choice of the stream that runs next, by lot.
#include "gpus.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace emulated_gpu {
namespace {

constexpr int kAll = -2;  // a piece of work may access the memory of all GPUs

}  // namespace

Gpus& Gpus::get() {
  static Gpus& gpus = *new Gpus;  // never destroyed: threads may use it at exit
  return gpus;
}

bool Gpus::run_one() {
  std::vector<std::shared_ptr<CUstream_st>> busy;
  for (const auto* set : {&streams, &orphans})
    for (const auto& stream : *set)
      if (!stream->queue.empty()) busy.push_back(stream);
  std::shuffle(busy.begin(), busy.end(), lot);
  for (const auto& stream : busy) {
    if (stream->queue.front().is_ready && !stream->queue.front().is_ready()) continue;
    const Work work = std::move(stream->queue.front());
    stream->queue.pop_front();
    if (work.run) {
      const int reached = work.reaches_all ? kAll : stream->gpu;
      if (!access || accessed != reached) {
        access.reset();
        access.emplace(stream->gpu, work.reaches_all);
        accessed = reached;
      }
      work.run();
    }
    if (stream->queue.empty()) orphans.erase(stream);
    changed.notify_all();
    return true;
  }
  return false;
}

}  // namespace emulated_gpu
