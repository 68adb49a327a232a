// Queues of work, and waiting for them.
#include "streams.h"

#include <chrono>
#include <utility>

#include "creations.h"
#include "gpus.h"

namespace emulated_gpu {
namespace {

const LiveKind streams_kind("streams", [] {
  std::lock_guard lock(Gpus::get().mutex);
  return Gpus::get().streams.size();
});
const LiveKind events_kind("events", [] {
  std::lock_guard lock(Gpus::get().mutex);
  return Gpus::get().events.size();
});

}  // namespace

bool enqueue(cudaStream_t stream, Work work) {
  Gpus& gpus = Gpus::get();
  if (why_not(stream) != cudaSuccess) return false;
  std::lock_guard lock(gpus.mutex);
  if (stream->capture) {
    auto& nodes = stream->capture->nodes;
    nodes.push_back(std::make_shared<CUgraphNode_st>(CUgraphNode_st{std::move(work), std::move(stream->behind), {}}));
    stream->behind = {nodes.back().get()};
    return true;
  }
  stream->queue.push_back(std::move(work));
  gpus.changed.notify_all();
  return true;
}

cudaError_t why_not(cudaStream_t stream) {
  Gpus& gpus = Gpus::get();
  std::lock_guard lock(gpus.mutex);
  const auto found = gpus.find(stream);
  if (!found || found->gpu != current_gpu()) return cudaErrorInvalidResourceHandle;
  if (found->is_capture_broken) return cudaErrorStreamCaptureInvalidated;
  return cudaSuccess;
}

cudaError_t create_stream(cudaStream_t& stream) {
  if (must_fail("cudaStreamCreate")) return cudaErrorMemoryAllocation;
  Gpus& gpus = Gpus::get();
  auto made = std::make_shared<CUstream_st>();
  made->gpu = current_gpu();
  stream = made.get();
  std::lock_guard lock(gpus.mutex);
  gpus.streams.insert(std::move(made));
  return cudaSuccess;
}

cudaError_t destroy(cudaStream_t stream) {
  Gpus& gpus = Gpus::get();
  std::lock_guard lock(gpus.mutex);
  const auto found = gpus.find(stream);
  if (!found || found->gpu != current_gpu()) return cudaErrorInvalidResourceHandle;
  if (!found->queue.empty()) gpus.orphans.insert(found);
  gpus.streams.erase(found);
  return cudaSuccess;
}

cudaError_t synchronize(cudaStream_t stream) {
  Gpus& gpus = Gpus::get();
  {
    std::lock_guard lock(gpus.mutex);
    if (!gpus.find(stream)) return cudaErrorInvalidResourceHandle;
    if (stream->capture) {
      stream->is_capture_broken = true;
      return cudaErrorStreamCaptureUnsupported;
    }
  }
  gpus.run_until([&] { return stream->queue.empty(); });
  return cudaSuccess;
}

cudaError_t query(cudaStream_t stream) {
  Gpus& gpus = Gpus::get();
  run_some();
  std::lock_guard lock(gpus.mutex);
  if (!gpus.find(stream)) return cudaErrorInvalidResourceHandle;
  if (stream->capture) {
    stream->is_capture_broken = true;
    return cudaErrorStreamCaptureUnsupported;
  }
  return stream->queue.empty() ? cudaSuccess : cudaErrorNotReady;
}

cudaError_t create_event(cudaEvent_t& event, bool is_timed) {
  if (must_fail("cudaEventCreate")) return cudaErrorMemoryAllocation;
  Gpus& gpus = Gpus::get();
  auto made = std::make_shared<CUevent_st>();
  made->gpu = current_gpu();
  made->is_timed = is_timed;
  event = made.get();
  std::lock_guard lock(gpus.mutex);
  gpus.events.insert(std::move(made));
  return cudaSuccess;
}

cudaError_t destroy(cudaEvent_t event) {
  Gpus& gpus = Gpus::get();
  std::lock_guard lock(gpus.mutex);
  const auto found = gpus.find(event);
  if (!found || found->gpu != current_gpu()) return cudaErrorInvalidResourceHandle;
  gpus.events.erase(found);
  return cudaSuccess;
}

cudaError_t record(cudaEvent_t event, cudaStream_t stream) {
  Gpus& gpus = Gpus::get();
  if (const cudaError_t status = why_not(stream); status != cudaSuccess) return status;
  std::lock_guard lock(gpus.mutex);
  const auto found = gpus.find(event);
  if (!found || found->gpu != stream->gpu) return cudaErrorInvalidResourceHandle;
  if (stream->capture) {  // forks of a capture are not emulated
    stream->is_capture_broken = true;
    return cudaErrorStreamCaptureUnsupported;
  }
  const int64_t number = ++found->recorded;
  stream->queue.push_back({[found, number] {
    found->reached = number;
    found->when = std::chrono::steady_clock::now();
  }});
  gpus.changed.notify_all();
  return cudaSuccess;
}

cudaError_t wait(cudaStream_t stream, cudaEvent_t event) {
  Gpus& gpus = Gpus::get();
  if (const cudaError_t status = why_not(stream); status != cudaSuccess) return status;
  std::lock_guard lock(gpus.mutex);
  const auto found = gpus.find(event);
  if (!found) return cudaErrorInvalidResourceHandle;
  if (stream->capture) {
    stream->is_capture_broken = true;
    return cudaErrorStreamCaptureIsolation;
  }
  const int64_t number = found->recorded;  // does not wait for later records
  stream->queue.push_back({nullptr, [found, number] { return found->reached >= number; }});
  gpus.changed.notify_all();
  return cudaSuccess;
}

cudaError_t synchronize(cudaEvent_t event) {
  Gpus& gpus = Gpus::get();
  std::shared_ptr<CUevent_st> found;
  int64_t number = 0;
  {
    std::lock_guard lock(gpus.mutex);
    found = gpus.find(event);
    if (!found) return cudaErrorInvalidResourceHandle;
    number = found->recorded;
  }
  gpus.run_until([&] { return found->reached >= number; });
  return cudaSuccess;
}

cudaError_t query(cudaEvent_t event) {
  Gpus& gpus = Gpus::get();
  run_some();
  std::lock_guard lock(gpus.mutex);
  const auto found = gpus.find(event);
  if (!found) return cudaErrorInvalidResourceHandle;
  return found->reached >= found->recorded ? cudaSuccess : cudaErrorNotReady;
}

cudaError_t elapsed(float& milliseconds, cudaEvent_t from, cudaEvent_t to) {
  Gpus& gpus = Gpus::get();
  std::lock_guard lock(gpus.mutex);
  const auto first = gpus.find(from), last = gpus.find(to);
  if (!first || !last || !first->is_timed || !last->is_timed || first->recorded == 0 || last->recorded == 0)
    return cudaErrorInvalidResourceHandle;
  if (first->reached < first->recorded || last->reached < last->recorded) return cudaErrorNotReady;
  // The time is multiplied by a number drawn by lot, so that each of several good engines is the
  // fastest at some time.
  const auto lot = static_cast<float>(1 + gpus.lot() % 8);
  milliseconds = lot * std::chrono::duration<float, std::milli>(last->when - first->when).count();
  return cudaSuccess;
}

void drain(int gpu) {
  Gpus& gpus = Gpus::get();
  gpus.run_until([&] {
    for (const auto* set : {&gpus.streams, &gpus.orphans})
      for (const auto& stream : *set)
        if (stream->gpu == gpu && !stream->queue.empty()) return false;
    return true;
  });
}

void run_some() {
  constexpr unsigned kMost = 4;
  Gpus& gpus = Gpus::get();
  std::lock_guard lock(gpus.mutex);
  for (auto left = gpus.lot() % kMost; left > 0; --left)
    if (!gpus.run_one()) break;
  gpus.leave();
}

}  // namespace emulated_gpu
