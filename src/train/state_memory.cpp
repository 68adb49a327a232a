// Allocating state, and copying it to and from the host.
#include "train/state_memory.h"

namespace troika {

void StateMemory::allocate(const StateTable& state, int share) {
  Buffer parameters = device_.allocate(state.segment_bytes(Segment::parameters), "memory for parameters");
  Buffer gradients = device_.allocate(state.segment_bytes(Segment::gradients), "memory for gradients");
  Buffer optimizer = device_.allocate(state.segment_bytes(Segment::optimizer, share), "memory for optimizer state");
  parameters_ = std::move(parameters);
  gradients_ = std::move(gradients);
  optimizer_ = std::move(optimizer);
  bases_.parameters = parameters_.get();
  bases_.gradients = gradients_.get();
  bases_.optimizer = optimizer_.get();
}

// Runs on the worker, as every kernel does.
void StateMemory::reorder(const TensorType& type, const LayoutPtr& from, const LayoutPtr& to, void* source,
                          void* target) {
  KernelChoice reorder = device_.select_reorder(type, from, to);
  Buffer scratch = device_.allocate(reorder.scratch_bytes, "scratch");
  void *in[] = {source}, *out[] = {target};
  reorder.kernel->bind(in, out, scratch.get());
  reorder.kernel->run();
}

void StateMemory::upload(const StateTable& state, Role role, const std::string& name, const void* data) {
  const StateEntry& entry = state.find(role, name);
  std::byte* const target = bases_.address(state.locate(role, name));
  if (!entry.layout) {
    device_.copy_from_host(target, data, entry.type.bytes());
    return;
  }
  worker_.run([&] {
    Buffer plain = device_.allocate(entry.type.bytes(), "a parameter");
    device_.copy_from_host(plain.get(), data, entry.type.bytes());
    reorder(entry.type, nullptr, entry.layout, plain.get(), target);
  });
}

void StateMemory::download(const StateTable& state, Role role, const std::string& name, void* data) {
  const StateEntry& entry = state.find(role, name);
  std::byte* const source = bases_.address(state.locate(role, name));
  if (!entry.layout) {
    device_.copy_to_host(data, source, entry.type.bytes());
    return;
  }
  worker_.run([&] {
    Buffer plain = device_.allocate(entry.type.bytes(), "a parameter");
    reorder(entry.type, entry.layout, nullptr, source, plain.get());
    device_.copy_to_host(data, plain.get(), entry.type.bytes());
  });
}

void StateMemory::read_segment(Segment segment, size_t offset, void* data, size_t bytes) {
  device_.copy_to_host(data, bases_.address({segment, offset, bytes}), bytes);
}

}  // namespace troika
