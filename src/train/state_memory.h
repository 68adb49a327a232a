// One device's memory for parameters, buffers, gradients and optimizer state.
#pragma once

#include "plan/state_table.h"
#include "runtime/executor.h"
#include "runtime/worker.h"

namespace troika {

class StateMemory {
 public:
  // Writes the addresses of the memory that it allocates into `bases`. All arguments must outlive
  // it.
  StateMemory(Device& device, Worker& worker, Bases& bases) : device_(device), worker_(worker), bases_(bases) {}

  // The memory is zeroed. The table is placed; `share` is the rank's share of the samples.
  void allocate(const StateTable& state, int share);
  bool is_allocated() const { return bases_.parameters != nullptr; }

  // Copies between row-major host memory and this device's layouts.
  void upload(const StateTable& state, Role role, const std::string& name, const void* data);
  void download(const StateTable& state, Role role, const std::string& name, void* data);
  // Reads a segment's bytes as the device stores them.
  void read_segment(Segment segment, size_t offset, void* data, size_t bytes);

 private:
  void reorder(const TensorType& type, const LayoutPtr& from, const LayoutPtr& to, void* source, void* target);

  Device& device_;
  Worker& worker_;
  Bases& bases_;
  Buffer parameters_ = no_buffer(), gradients_ = no_buffer(), optimizer_ = no_buffer();
};

}  // namespace troika
