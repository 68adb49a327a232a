// Queues, and the lot that decides which goes on.
#include "streams.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <random>
#include <set>
#include <utility>

#include "memory.h"

namespace emulated_gpu {
namespace {

constexpr int kAll = -2;                       // GPUs that a work reaches
constexpr std::chrono::milliseconds kTurn{2};  // of a thread that waits, before others get the lock

struct Gpus {
  std::mutex mutex;
  std::condition_variable changed;
  std::set<std::shared_ptr<CUstream_st>> streams;
  std::set<std::shared_ptr<CUstream_st>> orphans;  // destroyed, with work left
  std::set<std::shared_ptr<CUevent_st>> events;
  std::mt19937_64 lot{std::random_device{}()};
  std::optional<Access> access;  // while works of one GPU run behind each other
  int accessed = -1;

  static Gpus& get() {
    static Gpus& gpus = *new Gpus;  // for ever: threads may still come as the program ends
    return gpus;
  }

  template <typename Owned>
  static std::shared_ptr<Owned> find(const std::set<std::shared_ptr<Owned>>& set, const Owned* wanted) {
    for (const auto& owned : set)
      if (owned.get() == wanted) return owned;
    return nullptr;
  }
  std::shared_ptr<CUstream_st> find(cudaStream_t stream) const { return find(streams, stream); }
  std::shared_ptr<CUevent_st> find(cudaEvent_t event) const { return find(events, event); }

  // Runs the first work of one stream, drawn among those that can go on. False where none can. Under the lock.
  bool run_one() {
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

  // Until it is true, at which time others may come with what this waits for.
  template <typename Condition>
  void run_until(Condition is_true) {
    std::unique_lock lock(mutex);
    auto others_turn = std::chrono::steady_clock::now() + kTurn;
    while (!is_true()) {
      if (run_one() && std::chrono::steady_clock::now() < others_turn) continue;
      leave();
      changed.wait_for(lock, std::chrono::microseconds(50));
      others_turn = std::chrono::steady_clock::now() + kTurn;
    }
    leave();
  }

  // Closed before the host goes on, in one case of eight: it takes a system call for each piece of memory.
  void leave() {
    if (lot() % 8 == 0) access.reset();
  }
};

thread_local CUstream_st* captured = nullptr;  // by this thread
thread_local cudaStreamCaptureMode capture_mode = cudaStreamCaptureModeGlobal;

}  // namespace

bool enqueue(cudaStream_t stream, Work work) {
  Gpus& gpus = Gpus::get();
  if (why_not(stream) != cudaSuccess) return false;
  std::lock_guard lock(gpus.mutex);
  if (stream->capture)
    stream->capture->works.push_back(std::move(work));
  else
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

bool is_forbidden_by_capture() {
  if (!captured || capture_mode == cudaStreamCaptureModeRelaxed) return false;
  captured->is_capture_broken = true;
  return true;
}

cudaStreamCaptureMode exchange_capture_mode(cudaStreamCaptureMode mode) { return std::exchange(capture_mode, mode); }

cudaError_t create_stream(cudaStream_t& stream) {
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
  if (!found) return cudaErrorInvalidResourceHandle;
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
  if (!found) return cudaErrorInvalidResourceHandle;
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
  const int64_t number = found->recorded;  // what is recorded later is not waited for
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
  // Times a number drawn by lot, so that each of several good engines is the fastest at some time.
  const auto lot = static_cast<float>(1 + gpus.lot() % 8);
  milliseconds = lot * std::chrono::duration<float, std::milli>(last->when - first->when).count();
  return cudaSuccess;
}

cudaError_t begin_capture(cudaStream_t stream) {
  Gpus& gpus = Gpus::get();
  if (const cudaError_t status = why_not(stream); status != cudaSuccess) return status;
  std::lock_guard lock(gpus.mutex);
  if (stream->capture) return cudaErrorIllegalState;
  stream->capture = std::make_unique<CUgraph_st>();
  captured = stream;
  return cudaSuccess;
}

cudaError_t end_capture(cudaStream_t stream, cudaGraph_t& graph) {
  Gpus& gpus = Gpus::get();
  std::lock_guard lock(gpus.mutex);
  graph = nullptr;
  if (!gpus.find(stream)) return cudaErrorInvalidResourceHandle;
  if (!stream->capture) return cudaErrorIllegalState;
  if (captured != stream) return cudaErrorStreamCaptureWrongThread;
  captured = nullptr;
  const auto capture = std::move(stream->capture);
  if (stream->is_capture_broken) {
    stream->is_capture_broken = false;
    return cudaErrorStreamCaptureInvalidated;
  }
  graph = new CUgraph_st{std::move(*capture)};
  return cudaSuccess;
}

cudaError_t instantiate(cudaGraphExec_t& executable, cudaGraph_t graph) {
  executable = new CUgraphExec_st{current_gpu(), std::make_shared<const CUgraph_st>(*graph)};
  return cudaSuccess;
}

cudaError_t launch(cudaGraphExec_t executable, cudaStream_t stream) {
  if (executable->gpu != current_gpu()) return cudaErrorInvalidResourceHandle;
  for (const Work& work : executable->graph->works)
    if (!enqueue(stream, work)) return cudaErrorInvalidResourceHandle;
  enqueue(stream, {[held = executable->graph] {}});  // also where the graph is destroyed first
  return cudaSuccess;
}

cudaError_t capture_info(cudaStream_t stream, cudaStreamCaptureStatus& status, cudaGraph_t& graph) {
  Gpus& gpus = Gpus::get();
  std::lock_guard lock(gpus.mutex);
  if (!gpus.find(stream)) return cudaErrorInvalidResourceHandle;
  graph = stream->capture.get();
  status = !graph                      ? cudaStreamCaptureStatusNone
           : stream->is_capture_broken ? cudaStreamCaptureStatusInvalidated
                                       : cudaStreamCaptureStatusActive;
  return cudaSuccess;
}

cudaError_t create_user_object(cudaUserObject_t& object, void* held, cudaHostFn_t destroy, unsigned references) {
  object = new CUuserObject_st{held, destroy, references};
  return cudaSuccess;
}

cudaError_t release(cudaUserObject_t object, unsigned references) {
  static std::mutex mutex;
  {
    std::lock_guard lock(mutex);
    if (object->references < references) return cudaErrorInvalidValue;
    object->references -= references;
    if (object->references > 0) return cudaSuccess;
  }
  object->destroy(object->object);
  delete object;
  return cudaSuccess;
}

cudaError_t keep(cudaGraph_t graph, cudaUserObject_t object, unsigned references, bool moves) {
  if (!moves) object->references += references;
  for (unsigned i = 0; i < references; ++i)
    graph->kept.push_back(std::shared_ptr<void>(object, [](void* o) { release(static_cast<cudaUserObject_t>(o), 1); }));
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
