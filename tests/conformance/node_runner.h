// Runs one node of a graph on the test device as a plan would: kernel choice, reorders, bound memory; with every trap set
// that memory allows (poisoned outputs and scratch, guarded ends, aliased outputs).
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
  std::shared_ptr<std::byte> memory;  // the device's, which the host may not touch; null: absent
  size_t bytes = 0;
};

class NodeRunner {
 public:
  explicit NodeRunner(int threads);  // of a CPU

  // Runs `body` on the device's worker thread, where everything else here must be called.
  void run(const std::function<void()>& body) { worker_.run(body); }

  Held hold(const TensorType& type, const Array& array, const LayoutPtr& layout);
  Held reorder(const Held& from, const LayoutPtr& to);
  Array read(const Held& held);

  // The layouts beside the plain one in which the device's kernels see images of a type: as many for each type that has any.
  std::vector<LayoutPtr> image_layouts(const TensorType& type) const;

  // The kernel that the device chooses for inputs that lie so.
  KernelChoice select(const Graph& graph, const Node& node, const std::vector<Held>& inputs);

  struct Result {
    std::string kernel;
    std::vector<Held> inputs, outputs;  // afterwards, in the kernel's layouts
  };
  // Inputs are copied, so that they do not change. `shares`: the output may_share[share] lies on its input; -1: none.
  Result run_node(const Graph& graph, const Node& node, const std::vector<Held>& inputs, int share = -1);
  // ... by that kernel, whatever the device would choose.
  Result run_node(const Graph& graph, const Node& node, const std::vector<Held>& inputs, KernelChoice choice,
                  int share = -1);
  size_t shares(const Graph& graph, const Node& node, const std::vector<Held>& inputs);

  // Empty, or what is wrong: padding of a blocked layout that is not 0.
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
