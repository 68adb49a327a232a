// One device's memory for parameters, buffers, gradients, optimizer state and copies.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "plan/state_table.h"
#include "runtime/executor.h"
#include "runtime/worker.h"

namespace troika {

class StateMemory : public PackedState {
 public:
  // Writes the addresses of the memory that it allocates into `bases`. All arguments must outlive
  // it.
  StateMemory(Device& device, Worker& worker, Bases& bases) : device_(device), worker_(worker), bases_(bases) {}

  // The memory is zeroed. The table is placed; `share` is the rank's share of the samples.
  void allocate(const StateTable& state, int share);
  void release();
  // Allocates the 16-bit copies of parameters, unless they are allocated.
  void allocate_copies(const StateTable& state);
  // Returns whether the copies are those of the parameters. From then on they are not, until a run
  // has kept them, nor after an upload of parameters.
  bool take_copies() { return std::exchange(has_copies_, false); }
  void keep_copies() { has_copies_ = true; }
  size_t copy_bytes() const { return copy_bytes_; }
  // Uses the memory of another one on the same device, which must outlive this.
  void share(const StateMemory& owner);
  bool is_allocated() const { return bases_.parameters != nullptr; }

  // Copies between row-major host memory and this device's layouts.
  void upload(const StateTable& state, Role role, const std::string& name, const void* data);
  void download(const StateTable& state, Role role, const std::string& name, void* data);
  // Any thread that may use `device`, which may be another one with the same memory.
  Location pack(Device& device, const StateEntry& entry, const LayoutPtr& layout) override;
  // Copies uploaded values to further layouts, and returns when all have arrived, for any stream of
  // the device.
  void finish();
  // Sums of gradients of several passes. The gradients that are there are set aside before a pass
  // makes new ones, and added afterwards; both on the worker. The first call of `prepare_sums`
  // throws OUT_OF_MEMORY if there is no memory for a second set of gradients.
  void prepare_sums(const StateTable& state);
  void set_gradients_aside();
  void add_gradients_set_aside();
  size_t set_aside_bytes() const { return gradient_bytes_; }
  // Reads a segment's bytes as the device stores them.
  void read_segment(Segment segment, size_t offset, void* data, size_t bytes);

 private:
  // A parameter in a further layout.
  struct Packed {
    StateEntry entry;
    LayoutPtr layout;
    Buffer memory;
  };
  // Adds one run of both sets of gradients.
  struct Addition {
    std::unique_ptr<Kernel> kernel;
    Buffer scratch = no_buffer();
  };

  static void reorder(Device& device, const TensorType& type, const LayoutPtr& from, const LayoutPtr& to, void* source,
                      void* target);
  void fill(Device& device, const Packed& packed);
  static void wait_for_all(Device& device, const std::byte* memory);

  Device& device_;
  Worker& worker_;
  Bases& bases_;
  std::mutex mutex_;  // of `packed_`
  std::vector<Packed> packed_;
  Buffer parameters_ = no_buffer(), gradients_ = no_buffer(), optimizer_ = no_buffer();
  Buffer copies_ = no_buffer(), set_aside_ = no_buffer();
  size_t copy_bytes_ = 0;
  bool has_copies_ = false;
  size_t gradient_bytes_ = 0;  // of set_aside_
  std::vector<Addition> additions_;
};

}  // namespace troika
