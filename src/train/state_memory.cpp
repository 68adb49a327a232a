// Allocating state, and copying it to and from the host.
#include "train/state_memory.h"

#include <algorithm>

#include "core/process_state.h"
#include "ops/op_def.h"

namespace troika {
namespace {

constexpr size_t kMostAdded = size_t{1} << 30;  // bytes per launch: kernels count elements in 32 bits

}  // namespace

void StateMemory::allocate(const StateTable& state, int share) {
  Buffer parameters = device_.allocate_shared(state.segment_bytes(Segment::parameters), "memory for parameters");
  Buffer gradients = device_.allocate_shared(state.segment_bytes(Segment::gradients), "memory for gradients");
  Buffer optimizer = device_.allocate(state.segment_bytes(Segment::optimizer, share), "memory for optimizer state");
  parameters_ = std::move(parameters);
  gradients_ = std::move(gradients);
  optimizer_ = std::move(optimizer);
  bases_.parameters = parameters_.get();
  bases_.gradients = gradients_.get();
  bases_.optimizer = optimizer_.get();
}

void StateMemory::release() {
  for (Buffer* buffer : {&parameters_, &gradients_, &optimizer_, &copies_}) *buffer = no_buffer();
  bases_.parameters = bases_.gradients = bases_.optimizer = bases_.copies = nullptr;
  copy_bytes_ = 0;
  has_copies_ = false;
}

void StateMemory::allocate_copies(const StateTable& state) {
  if (bases_.copies) return;
  const size_t bytes = state.segment_bytes(Segment::copies);
  copies_ = device_.allocate(bytes, "memory for copies of parameters");
  bases_.copies = copies_.get();
  copy_bytes_ = bytes;
}

void StateMemory::share(const StateMemory& owner) {
  bases_.parameters = owner.bases_.parameters;
  bases_.gradients = owner.bases_.gradients;
  bases_.optimizer = owner.bases_.optimizer;
}

// Comes after every launch of the device.
void StateMemory::wait_for_all(Device& device, const std::byte* memory) {
  device.finish();
  std::byte first;
  device.copy_to_host(&first, memory, sizeof first);
}

void StateMemory::finish() {
  const std::lock_guard lock(mutex_);
  if (!packed_.empty())
    worker_.run([&] {
      for (const Packed& packed : packed_) fill(device_, packed);
    });
  wait_for_all(device_, bases_.parameters);
}

Location StateMemory::pack(Device& device, const StateEntry& entry, const LayoutPtr& layout) {
  const std::lock_guard lock(mutex_);
  auto found = std::find_if(packed_.begin(), packed_.end(), [&](const Packed& packed) {
    return packed.entry.name == entry.name && same_layout(packed.layout, layout);
  });
  const size_t bytes = layout ? layout->bytes() : entry.type.bytes();
  if (found == packed_.end()) {
    Packed packed{entry, layout, device_.allocate(bytes, "a packed parameter")};
    fill(device, packed);
    wait_for_all(device, packed.memory.get());
    found = packed_.insert(packed_.end(), std::move(packed));
  }
  return {Segment::packed, reinterpret_cast<size_t>(found->memory.get()), bytes};
}

void StateMemory::fill(Device& device, const Packed& packed) {
  const StateEntry& entry = packed.entry;
  reorder(device, entry.type, entry.layout, packed.layout,
          bases_.address({Segment::parameters, entry.offset, entry.bytes}), packed.memory.get());
}

// Runs on the worker, as every kernel does.
void StateMemory::reorder(Device& device, const TensorType& type, const LayoutPtr& from, const LayoutPtr& to,
                          void* source, void* target) {
  require_no_exit();
  KernelChoice reorder = device.select_reorder(type, from, to);
  watch_libraries(LibraryPart::reorders);
  Buffer scratch = device.allocate(reorder.scratch_bytes, "scratch");
  void *in[] = {source}, *out[] = {target};
  reorder.kernel->bind(in, out, scratch.get());
  reorder.kernel->run();
}

void StateMemory::upload(const StateTable& state, Role role, const std::string& name, const void* data) {
  if (role == Role::parameter) has_copies_ = false;
  const StateEntry& entry = state.find(role, name);
  std::byte* const target = bases_.address(state.locate(role, name));
  if (!entry.layout) {
    device_.copy_from_host(target, data, entry.type.bytes());
    return;
  }
  worker_.run([&] {
    Buffer plain = device_.allocate(entry.type.bytes(), "a parameter");
    device_.copy_from_host(plain.get(), data, entry.type.bytes());
    reorder(device_, entry.type, nullptr, entry.layout, plain.get(), target);
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
    reorder(device_, entry.type, entry.layout, nullptr, source, plain.get());
    device_.copy_to_host(data, plain.get(), entry.type.bytes());
  });
}

void StateMemory::prepare_sums(const StateTable& state) {
  const size_t bytes = state.segment_bytes(Segment::gradients);
  if (!additions_.empty() || bytes == 0) return;
  worker_.run([&] {
    require_no_exit();
    Buffer set_aside = device_.allocate(bytes, "memory for sums of gradients");
    std::vector<Addition> additions;
    for (size_t begin = 0; begin < bytes; begin += kMostAdded) {
      const auto elements = static_cast<int64_t>(std::min(kMostAdded, bytes - begin) / sizeof(float));
      Graph graph("gradients");
      const ValueId earlier = graph.add_value("earlier", {DType::f32, {elements}}, Role::input);
      const ValueId later = graph.add_value("later", {DType::f32, {elements}}, Role::input);
      append_node(graph, add_op, "gradients", {earlier, later});
      KernelChoice choice = device_.select({graph, graph.nodes()[0], {nullptr, nullptr}});
      Addition addition{std::move(choice.kernel), device_.allocate(choice.scratch_bytes, "scratch")};
      void *in[] = {set_aside.get() + begin, gradients_.get() + begin}, *out[] = {gradients_.get() + begin};
      addition.kernel->bind(in, out, addition.scratch.get());
      additions.push_back(std::move(addition));
    }
    set_aside_ = std::move(set_aside);
    additions_ = std::move(additions);
    gradient_bytes_ = bytes;
  });
}

void StateMemory::set_gradients_aside() {
  if (gradient_bytes_ > 0) device_.copy(set_aside_.get(), gradients_.get(), gradient_bytes_);
}

void StateMemory::add_gradients_set_aside() {
  for (const Addition& addition : additions_) addition.kernel->run();
}

void StateMemory::read_segment(Segment segment, size_t offset, void* data, size_t bytes) {
  device_.copy_to_host(data, bases_.address({segment, offset, bytes}), bytes);
}

}  // namespace troika
