// Runs one node of a graph on the test device as a plan would: kernel choice, reorders, bound
// memory. Memory has every possible trap: poisoned outputs and scratch, guarded ends, aliased
// outputs.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "conformance/reference/reference.h"
#include "device/backend.h"
#include "runtime/worker.h"

namespace troika {

// A value on the device.
struct Held {
  TensorType type;
  LayoutPtr layout;
  std::shared_ptr<std::byte> memory;  // on the device, so the host cannot access it; null: absent
  size_t bytes = 0;
};

class NodeRunner {
 public:
  explicit NodeRunner(int threads);  // threads of a CPU device
  Device& device() { return *device_; }

  // Runs `body` on the device's worker thread. All other functions must be called on that thread.
  void run(const std::function<void()>& body) { worker_.run(body); }

  Held hold(const TensorType& type, const Array& array, const LayoutPtr& layout);
  Held reorder(const Held& from, const LayoutPtr& to);
  Array read(const Held& held);

  // Returns the layouts, apart from the plain layout, that the device's kernels use for images of a
  // type. The count is the same for every type that has such layouts.
  std::vector<LayoutPtr> image_layouts(const TensorType& type) const;

  // Returns the kernel that the device chooses for inputs in these layouts.
  KernelChoice select(const Graph& graph, const Node& node, const std::vector<Held>& inputs);

  struct Result {
    std::string kernel;
    std::vector<Held> inputs, outputs;  // afterwards, in the kernel's layouts
  };
  // Inputs are copied, so that they do not change. `share`: the pair of `may_share` whose output
  // shares the memory of its input; -1: no pair.
  Result run_node(const Graph& graph, const Node& node, const std::vector<Held>& inputs, int share = -1);
  // Does the same with the kernel `choice`, even if the device would choose another kernel.
  Result run_node(const Graph& graph, const Node& node, const std::vector<Held>& inputs, KernelChoice choice,
                  int share = -1);
  size_t shares(const Graph& graph, const Node& node, const std::vector<Held>& inputs);

  // Returns a message about the first padding of a blocked layout that is not 0; empty if there is
  // none.
  std::string find_dirty_padding(const Held& held);

 private:
  Held allocate(const TensorType& type, const LayoutPtr& layout, std::byte content);
  Held copy(const Held& held);
  std::vector<std::byte> bytes_of(const Held& held);
  void check_guard(const Held& held, const std::string& what);

  std::unique_ptr<BackendRegistry> registry_;
  std::shared_ptr<Device> device_;
  Worker worker_;
};

}  // namespace troika
