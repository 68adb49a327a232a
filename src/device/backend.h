// Backends and devices: all that the rest of the library knows of hardware.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "core/error.h"
#include "core/process_state.h"
#include "device/kernel.h"
#include "device/readback.h"

namespace troika {

enum class DeviceKind : int32_t { cpu = 1, cuda = 2 };

struct DeviceId {
  DeviceKind kind = DeviceKind::cpu;
  int32_t index = 0;
  bool operator==(const DeviceId&) const = default;
};

std::string to_string(DeviceId id);              // "cpu:1"
DeviceId parse_device(const std::string& text);  // INVALID_ARGUMENT if it is no device's name
std::ostream& operator<<(std::ostream& out, DeviceId id);

struct DeviceInfo {
  std::string name;
  int32_t cores = 0;
  int64_t memory_bytes = 0;
  int64_t free_bytes = 0;
};

// Memory of a device, zeroed, and aligned to 64 bytes, on a GPU to 256. Its deleter frees the
// memory after the launches that use it; null is ignored.
using Buffer = std::unique_ptr<std::byte, std::function<void(std::byte*)>>;

// Stands for a buffer that is allocated later, or never.
inline Buffer no_buffer() {
  return Buffer(nullptr, [](std::byte*) {});
}

// For each launch of a run, the earlier launches that it waits for.
using LaunchOrder = std::vector<std::vector<size_t>>;

// A run of launches that the device repeats with one call, on the same addresses: a CUDA graph.
class Recording {
 public:
  virtual ~Recording() = default;
  virtual void run() = 0;
  // Returns what the device did to be faster, and what that brought; empty: nothing.
  virtual std::string note() const { return ""; }
};

// When a step of a plan ran on its device: a launch, an exchange with other ranks, or a wait.
struct LaunchTime {
  size_t step;
  std::chrono::nanoseconds begin;  // since the begin of the first that was timed
  std::chrono::nanoseconds length;
};

// The clock of a device that runs launches after the calls that start them.
class LaunchClock {
 public:
  virtual ~LaunchClock() = default;
  // Keeps the device from going on for this time from now. Meanwhile the host starts launches, so
  // that the device never waits for the host between two of them.
  virtual void hold(std::chrono::nanoseconds time) = 0;
  // Around the calls that start a step. Each step is timed once at most after a hold().
  virtual void begin(size_t step) = 0;
  virtual void end(size_t step) = 0;
  // Waits for the steps that were timed since hold(), at the end of which it sets `end`. Returns
  // their times, in order.
  virtual std::vector<LaunchTime> read(std::chrono::steady_clock::time_point& end) = 0;
};

// One replica's device. Except for copies and allocation, only one thread uses it: its worker,
// which calls enter_thread first, or a BorrowedThread. Launches may end after the call that starts
// them, in order.
class Device {
 public:
  virtual ~Device() = default;
  virtual DeviceId id() const = 0;

  // OUT_OF_MEMORY naming device, bytes and `purpose`.
  virtual Buffer allocate(size_t bytes, const std::string& purpose) = 0;
  // The same for memory that other processes of the machine read and write, if the device's share
  // says so.
  virtual Buffer allocate_shared(size_t bytes, const std::string& purpose) { return allocate(bytes, purpose); }
  // Both come after the launches so far. After the first returns, the source may change; when the
  // second returns, the bytes are there.
  virtual void copy_from_host(void* destination, const void* source, size_t bytes) = 0;
  virtual void copy_to_host(void* destination, const void* source, size_t bytes) = 0;
  // Waits for the copies so far.
  virtual void finish() {}
  // Waits for the launches so far.
  virtual void synchronize() {}
  // Copies within this device's memory, after the launches so far and before those that follow.
  // Called by the worker.
  virtual void copy(void* destination, const void* source, size_t bytes) = 0;
  // Returns a readback for results of up to `capacity` bytes.
  virtual std::unique_ptr<Readback> create_readback(size_t capacity) {
    return std::make_unique<HostReadback>(capacity);
  }
  // Whether the host can launch a step while the step before still runs.
  virtual bool runs_ahead() const { return false; }
  // Bytes of this device's memory that a dataset may take, so that batches are gathered there. 0:
  // batches are better copied from the host.
  virtual size_t room_for_samples() const { return 0; }
  // Whether repeating a recording costs less than launching one by one.
  virtual bool can_record() const { return false; }
  // Records what `launch` launches when it is called with 0, 1 ... order.size() - 1, without
  // running it. Returns null on a device that cannot record.
  virtual std::unique_ptr<Recording> record([[maybe_unused]] const LaunchOrder& order,
                                            [[maybe_unused]] const std::function<void(size_t)>& launch) {
    return nullptr;
  }

  // Returns a clock for steps 0 ... steps - 1 of a plan; null if a launch ends before the call that
  // starts it returns.
  virtual std::unique_ptr<LaunchClock> create_clock([[maybe_unused]] size_t steps) { return nullptr; }

  // Prepares the calling thread to be this device's worker: cores, number of threads.
  virtual void enter_thread() = 0;
  // Whether other threads may run launches too: one thread at a time, as a BorrowedThread.
  virtual bool runs_on_any_thread() const { return false; }
  // Prepares a thread that is not the worker, and undoes so, with what the first call returned.
  virtual int borrow_thread() { return 0; }
  virtual void return_thread([[maybe_unused]] int earlier) {}

  // Returns the number of rows of sums that the kernel of this conv2d or conv2d_input_gradient can
  // return (ops/conv2d.cpp); 0: a pass over its result is no slower.
  virtual int64_t rows_of_sums([[maybe_unused]] const Graph& graph, [[maybe_unused]] const Node& node) const {
    return 0;
  }
  // Whether a kernel computes this linear layer together with its cross_entropy and the gradients
  // of both (ops/linear_cross_entropy.cpp).
  virtual bool fuses_loss([[maybe_unused]] const Graph& graph, [[maybe_unused]] const Node& linear) const {
    return false;
  }
  // Whether this batch_norm2d's kernel can write the mask of its ReLU (ops/batch_norm2d.h). Then
  // the kernels of its gradient and of a conv2d_input_gradient with sums can read the mask.
  virtual bool has_relu_mask([[maybe_unused]] const Graph& graph, [[maybe_unused]] const Node& node) const {
    return false;
  }
  // Whether kernels of this conv2d and of its weight gradient can apply the batch_norm2d and the
  // ReLU before it (ops/products.h).
  virtual bool normalizes_input([[maybe_unused]] const Graph& graph, [[maybe_unused]] const Node& conv2d) const {
    return false;
  }
  // Whether the kernel of this batch_norm2d_gradient or conv2d_input_gradient can add an image that
  // has every `stride`-th row and column alone (ops/addend.h).
  virtual bool adds_without_gaps([[maybe_unused]] const Graph& graph, [[maybe_unused]] const Node& node,
                                 [[maybe_unused]] int64_t stride) const {
    return false;
  }
  // Whether kernels can apply this max_pool2d or avg_pool2d with windows of 2 x 2 to the result of
  // this conv2d, and its gradient to what the conv2d's gradients read (ops/fused_pool.h).
  virtual bool fuses_pool([[maybe_unused]] const Graph& graph, [[maybe_unused]] const Node& conv2d,
                          [[maybe_unused]] const Node& pool) const {
    return false;
  }
  // Whether the kernels of updates write copies of parameters (ops/update.h).
  virtual bool keeps_copies() const { return false; }
  // Whether the fastest kernel of this conv2d_weight_gradient returns 16 bits, so that its weights'
  // gradient needs a pass that widens it. May measure kernels; appends what the log is to have.
  virtual bool rounds_gradient([[maybe_unused]] const Graph& graph, [[maybe_unused]] const Node& node,
                               [[maybe_unused]] std::vector<LogLine>& notes) {
    return false;
  }
  // Returns the kernel for a node. UNSUPPORTED, naming op and device, if there is none.
  virtual KernelChoice select(const KernelRequest& request) = 0;
  // Returns a kernel with one input and one output that changes the layout.
  virtual KernelChoice select_reorder(const TensorType& type, const LayoutPtr& from, const LayoutPtr& to) = 0;
};

// Makes the calling thread run a device's launches for a while. The thread is left as it was.
class BorrowedThread {
 public:
  explicit BorrowedThread(Device& device) : device_(device), earlier_(device.borrow_thread()) {}
  ~BorrowedThread() { device_.return_thread(earlier_); }
  BorrowedThread(const BorrowedThread&) = delete;
  BorrowedThread& operator=(const BorrowedThread&) = delete;

 private:
  const LibraryUse use_;
  Device& device_;
  const int earlier_;
};

// A replica's share of its device: its part of the CPU's cores.
struct DeviceShare {
  int threads = 1;
  std::vector<int> cores;      // to pin the worker to; empty: not pinned
  bool shares_memory = false;  // with other processes
};

struct TransportDef;  // comm/transport.h

class Backend {
 public:
  virtual ~Backend() = default;
  virtual DeviceKind kind() const = 0;
  virtual int device_count() const = 0;
  virtual DeviceInfo describe(int index) const = 0;
  virtual std::shared_ptr<Device> open(int index, const DeviceShare& share) const = 0;
  // The transports that connect devices of this kind.
  virtual std::vector<const TransportDef*> transports() const { return {}; }
};

// A backend, or the reason why there is none.
struct LoadedBackend {
  std::unique_ptr<Backend> backend;
  std::string versions = {};  // "1.0.0, commit 0123456789ab, cuDNN 9.19.0"; empty: not known
  std::string reason = {};
};

// The wishes of a host about backends.
struct BackendSettings {
  std::vector<std::string> names = {};  // that may be used, such as "cpu"; empty: all
  std::string plugin_folder = {};       // absolute; is searched for plug-ins first; empty: none
  std::string cache_folder = {};        // absolute; for measurements; empty: none are stored
  bool has_own_kernels = true;          // that prove themselves against a library's, and early starts
  bool compares_ways = false;           // how results of measured ways differ is logged
};

// The backends of this process. backends/backends.cpp is the only list that names them. Any thread
// may ask at any time.
class BackendRegistry {
 public:
  // Creates the backend of a kind.
  using Load = std::function<LoadedBackend()>;

  static std::unique_ptr<BackendRegistry> create(const BackendSettings& settings = {});

  void add(std::unique_ptr<Backend> backend);  // in the place of another backend of its kind
  // Adds a kind whose backend is created when a device of that kind is first asked for.
  void add_on_demand(DeviceKind kind, Load load);
  // Adds a kind that cannot be used here, and the reason.
  void add_unavailable(DeviceKind kind, std::string reason);

  int device_count(DeviceKind kind) const;  // 0 if the kind is not usable
  // Returns the device's backend, or throws DEVICE_UNAVAILABLE with the reason.
  const Backend& require(DeviceId id) const;
  std::shared_ptr<Device> open(DeviceId id, const DeviceShare& share) const {
    return require(id).open(id.index, share);
  }
  std::vector<const TransportDef*> transports() const;  // of all backends that have been created
  // Returns a line for each backend: its versions, or why it cannot be used. Loads all of them.
  std::vector<std::string> describe() const;

 private:
  struct Entry {
    DeviceKind kind;
    LoadedBackend loaded;
    Load load;  // empty after it was called
  };

  // Returns the entry of a kind, whose backend is created first; null: there is none.
  const Entry* find(DeviceKind kind) const;

  mutable std::mutex mutex_;
  const uint32_t generation_ = fork_generation();
  mutable std::deque<Entry> entries_;  // guarded by the mutex until its backend is created
};

}  // namespace troika
