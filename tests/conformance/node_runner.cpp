// Allocates memory with guards and runs kernels on it.
#include "conformance/node_runner.h"

#include <cstring>

#include "backends/cpu/low_precision.h"
#include "backends/cpu/onednn_layout.h"
#include "backends/cuda/nhwc_layout.h"
#include "core/float16.h"
#include "support/test_context.h"
#include "support/test_device.h"

namespace troika {
namespace {

constexpr size_t kGuardBytes = 64;
constexpr std::byte kGuard{0xA5}, kPoison{0xFF};  // every float of 0xFF bytes is NaN

template <typename Number>
void store(const Array& array, std::byte* memory) {
  for (size_t i = 0; i < array.data.size(); ++i) {
    const auto value = static_cast<Number>(array.data[i]);
    std::memcpy(memory + i * sizeof value, &value, sizeof value);
  }
}

// Stores 16-bit numbers, which `of_float` makes from floats. The next function loads them.
void store_16(const Array& array, std::byte* memory, uint16_t (*of_float)(float)) {
  for (size_t i = 0; i < array.data.size(); ++i) {
    const uint16_t value = of_float(static_cast<float>(array.data[i]));
    std::memcpy(memory + i * sizeof value, &value, sizeof value);
  }
}

void load_16(const std::byte* memory, Array& array, float (*to_float)(uint16_t)) {
  for (size_t i = 0; i < array.data.size(); ++i) {
    uint16_t value;
    std::memcpy(&value, memory + i * sizeof value, sizeof value);
    array.data[i] = static_cast<double>(to_float(value));
  }
}

template <typename Number>
void load(const std::byte* memory, Array& array) {
  for (size_t i = 0; i < array.data.size(); ++i) {
    Number value;
    std::memcpy(&value, memory + i * sizeof value, sizeof value);
    array.data[i] = static_cast<double>(value);
  }
}

}  // namespace

NodeRunner::NodeRunner(int threads)
    : registry_(BackendRegistry::create(test_backends())),
      device_(registry_->open(test_device(), {threads, {}})),
      worker_(device_) {}

Held NodeRunner::allocate(const TensorType& type, const LayoutPtr& layout, std::byte content) {
  Held held{type, layout, nullptr, layout ? layout->bytes() : type.bytes()};
  Buffer buffer = device_->allocate(held.bytes + kGuardBytes, "a test");
  std::vector<std::byte> host(held.bytes, content);
  host.resize(held.bytes + kGuardBytes, kGuard);
  device_->copy_from_host(buffer.get(), host.data(), host.size());
  const auto deleter = buffer.get_deleter();
  held.memory = std::shared_ptr<std::byte>(buffer.release(), deleter);
  return held;
}

std::vector<std::byte> NodeRunner::bytes_of(const Held& held) {
  std::vector<std::byte> host(held.bytes);
  if (held.bytes) device_->copy_to_host(host.data(), held.memory.get(), held.bytes);
  return host;
}

void NodeRunner::check_guard(const Held& held, const std::string& what) {
  if (!held.memory) return;
  std::byte guard[kGuardBytes];
  device_->copy_to_host(guard, held.memory.get() + held.bytes, kGuardBytes);
  for (std::byte b : guard)
    if (b != kGuard) throw Error(Status::internal, text(what, ": wrote after its end"));
}

Held NodeRunner::copy(const Held& held) {
  if (!held.memory) return held;
  Held result = allocate(held.type, held.layout, std::byte{0});
  if (held.bytes) device_->copy_from_host(result.memory.get(), bytes_of(held).data(), held.bytes);
  return result;
}

Held NodeRunner::hold(const TensorType& type, const Array& array, const LayoutPtr& layout) {
  std::vector<std::byte> host(type.bytes());
  switch (type.dtype) {
    case DType::f32: store<float>(array, host.data()); break;
    case DType::f64: store<double>(array, host.data()); break;
    case DType::i32: store<int32_t>(array, host.data()); break;
    case DType::i64: store<int64_t>(array, host.data()); break;
    case DType::u8: store<uint8_t>(array, host.data()); break;
    case DType::bf16: store_16(array, host.data(), bf16_of_float); break;
    case DType::f16: store_16(array, host.data(), f16_of_float); break;
    default: throw Error(Status::internal, text("no kernel has values of ", name_of(type.dtype)));
  }
  const Held plain = allocate(type, nullptr, std::byte{0});
  if (!host.empty()) device_->copy_from_host(plain.memory.get(), host.data(), host.size());
  return reorder(plain, layout);
}

Held NodeRunner::reorder(const Held& from, const LayoutPtr& to) {
  if (same_layout(from.layout, to)) return from;
  KernelChoice choice = device_->select_reorder(from.type, from.layout, to);
  Held result = allocate(from.type, to, kPoison),
       scratch = allocate({DType::u8, {static_cast<int64_t>(choice.scratch_bytes)}}, nullptr, kPoison);
  void* in = from.memory.get();
  void* out = result.memory.get();
  choice.kernel->bind({&in, 1}, {&out, 1}, scratch.memory.get());
  choice.kernel->run();
  check_guard(result, choice.name);
  check_guard(scratch, choice.name + "'s scratch");
  return result;
}

Array NodeRunner::read(const Held& held) {
  const std::vector<std::byte> host = bytes_of(reorder(held, nullptr));
  Array array(held.type.shape);
  switch (held.type.dtype) {
    case DType::f32: load<float>(host.data(), array); break;
    case DType::f64: load<double>(host.data(), array); break;
    case DType::i32: load<int32_t>(host.data(), array); break;
    case DType::i64: load<int64_t>(host.data(), array); break;
    case DType::u8: load<uint8_t>(host.data(), array); break;
    case DType::bf16: load_16(host.data(), array, float_of_bf16); break;
    case DType::f16: load_16(host.data(), array, float_of_f16); break;
    default: throw Error(Status::internal, text("no kernel has values of ", name_of(held.type.dtype)));
  }
  return array;
}

std::vector<LayoutPtr> NodeRunner::image_layouts(const TensorType& type) const {
  if (type.shape.rank() != 4) return {};
  if (!is_on_cpu()) return is_compute_dtype(type.dtype) ? std::vector{cuda::nhwc(type)} : std::vector<LayoutPtr>();
  if (!is_compute_dtype(type.dtype)) return {};
  using Tag = dnnl::memory::format_tag;
  std::vector<LayoutPtr> layouts;
  for (Tag tag : {Tag::nChw16c, Tag::nChw8c, Tag::nhwc}) {
    LayoutPtr layout = cpu::layout_of(cpu::Desc(type.shape.dims(), dnnl::memory::data_type::f32, tag), type.shape);
    if (type.dtype != DType::f32 && layout) layout = std::make_shared<cpu::LowLayout>(layout);
    layouts.push_back(std::move(layout));
  }
  return layouts;
}

KernelChoice NodeRunner::select(const Graph& graph, const Node& node, const std::vector<Held>& inputs) {
  KernelRequest request{graph, node, {}};
  for (const Held& input : inputs) request.input_layouts.push_back(input.layout);
  return device_->select(request);
}

size_t NodeRunner::shares(const Graph& graph, const Node& node, const std::vector<Held>& inputs) {
  return select(graph, node, inputs).may_share.size();
}

NodeRunner::Result NodeRunner::run_node(const Graph& graph, const Node& node, const std::vector<Held>& inputs,
                                        int share) {
  return run_node(graph, node, inputs, select(graph, node, inputs), share);
}

NodeRunner::Result NodeRunner::run_node(const Graph& graph, const Node& node, const std::vector<Held>& inputs,
                                        KernelChoice choice, int share) {
  Result result;
  result.kernel = choice.name;
  if (choice.input_layouts.size() != node.inputs.size() || choice.output_layouts.size() != node.outputs.size())
    throw Error(Status::internal, text(choice.name, ": returns ", choice.input_layouts.size(), " and ",
                                       choice.output_layouts.size(), " layouts"));
  for (size_t i = 0; i < inputs.size(); ++i) {
    // An input is copied even if it needs no reorder: a kernel may change it, or an output may
    // share its memory.
    if (!inputs[i].memory)
      result.inputs.push_back(inputs[i]);
    else
      result.inputs.push_back(same_layout(inputs[i].layout, choice.input_layouts[i])
                                  ? copy(inputs[i])
                                  : reorder(inputs[i], choice.input_layouts[i]));
  }
  for (size_t i = 0; i < node.outputs.size(); ++i)
    result.outputs.push_back(allocate(graph.type(node.outputs[i]), choice.output_layouts[i], kPoison));
  if (share >= 0) {
    const auto [out, in] = choice.may_share.at(static_cast<size_t>(share));
    Held &output = result.outputs[static_cast<size_t>(out)], &input = result.inputs[static_cast<size_t>(in)];
    if (output.bytes == input.bytes) output.memory = input.memory;
  }
  const Held scratch = allocate({DType::u8, {static_cast<int64_t>(choice.scratch_bytes)}}, nullptr, kPoison);
  std::vector<void*> in, out;
  for (const Held& h : result.inputs) in.push_back(h.memory.get());
  for (const Held& h : result.outputs) out.push_back(h.memory.get());
  choice.kernel->bind(in, out, scratch.memory.get());
  choice.kernel->run();
  for (const Held& h : result.inputs) check_guard(h, choice.name + "'s input");
  for (const Held& h : result.outputs) check_guard(h, choice.name + "'s output");
  check_guard(scratch, choice.name + "'s scratch");
  return result;
}

std::string NodeRunner::find_dirty_padding(const Held& held) {
  if (!held.layout || !is_compute_dtype(held.type.dtype)) return "";
  const std::vector<std::byte> found = bytes_of(held), clean = bytes_of(reorder(reorder(held, nullptr), held.layout));
  const bool is_wide = held.type.dtype == DType::f32;
  const size_t size = size_of(held.type.dtype);
  for (size_t i = 0; i + size <= found.size(); i += size) {
    // Returns the number at `i`; for 16-bit types the bits as a number, without the sign of 0.
    auto number = [&](const std::vector<std::byte>& bytes) {
      float wide = 0;
      uint16_t low;
      std::memcpy(&wide, &bytes[i], is_wide ? sizeof wide : 0);
      std::memcpy(&low, &bytes[i], sizeof low);
      return is_wide ? wide : (low & 0x7fff) == 0 ? 0.0f : static_cast<float>(low);
    };
    if (number(found) != number(clean))
      return text("element ", i / size, " of layout ", held.layout->name(), " is ", number(found),
                  ", its padding should be ", number(clean));
  }
  return "";
}

}  // namespace troika
