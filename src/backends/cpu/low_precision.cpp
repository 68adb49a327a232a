// Casts, and f32 kernels between casts.
#include "backends/cpu/low_precision.h"

#include <algorithm>
#include <cstring>

#include "backends/cpu/kernels.h"
#include "backends/cpu/onednn_layout.h"
#include "backends/cpu/reorder.h"
#include "backends/cpu/threads.h"
#include "core/float16.h"
#include "core/numbers.h"
#include "core/text.h"
#include "device/scratch.h"

namespace troika::cpu {
namespace {

constexpr int64_t kLowPrecisionGrain = 16384;

TROIKA_VECTORIZE void widen_bf16(const uint16_t* in, float* out, int64_t n) {
  for (int64_t i = 0; i < n; ++i) out[i] = float_of_bf16(in[i]);
}

TROIKA_VECTORIZE void round_to_bf16(const float* in, uint16_t* out, int64_t n) {
  for (int64_t i = 0; i < n; ++i) out[i] = bf16_of_float(in[i]);
}

TROIKA_VECTORIZE void widen_f16(const uint16_t* in, float* out, int64_t n) {
  for (int64_t i = 0; i < n; ++i) out[i] = float_of_f16(in[i]);
}

TROIKA_VECTORIZE void round_to_f16(const float* in, uint16_t* out, int64_t n) {
  for (int64_t i = 0; i < n; ++i) out[i] = f16_of_float(in[i]);
}

}  // namespace

void widen(DType from, const void* source, float* target, int64_t n) {
  const auto* in = static_cast<const uint16_t*>(source);
  from == DType::bf16 ? widen_bf16(in, target, n) : widen_f16(in, target, n);
}

namespace {

template <typename From, typename To>
void convert_range(const void* source, void* target, int64_t n, void (*convert_run)(const From*, To*, int64_t)) {
  const auto* in = static_cast<const From*>(source);
  auto* out = static_cast<To*>(target);
  parallel_for(n, kLowPrecisionGrain,
               [&](int64_t begin, int64_t end) { convert_run(in + begin, out + begin, end - begin); });
}

bool is_low_layout(const LayoutPtr& layout) { return dynamic_cast<const LowLayout*>(layout.get()) != nullptr; }

// Returns the type in f32, with the same layout.
TensorType widened(TensorType type) {
  if (is_low(type.dtype)) type.dtype = DType::f32;
  return type;
}

// Whether an f32 layout orders and pads numbers that each stand alone, so that it does for 16 bits,
// too.
bool orders_image(const TensorType& type, const LayoutPtr& wide) { return wide && image_view(widened(type), wide); }

// A 16-bit argument: in f32 in its own layout, and, if the inner kernel needs another layout, also
// in that one. Offsets are into the scratch.
struct Bridge {
  size_t index;
  DType dtype;
  int64_t elements;  // with padding
  size_t plain_offset, laid_offset;
  std::unique_ptr<Kernel> reorder;  // null: the inner kernel reads it as it is stored
  size_t reorder_scratch_offset;
};

class WidenedKernel : public Kernel {
 public:
  WidenedKernel(std::unique_ptr<Kernel> inner, size_t inner_scratch_offset, std::vector<Bridge> inputs,
                std::vector<Bridge> outputs)
      : inner_(std::move(inner)),
        inner_scratch_offset_(inner_scratch_offset),
        in_bridges_(std::move(inputs)),
        out_bridges_(std::move(outputs)) {}

  void bind(std::span<void* const> inputs, std::span<void* const> outputs, void* scratch) override {
    scratch_ = static_cast<std::byte*>(scratch);
    inputs_.assign(inputs.begin(), inputs.end());
    outputs_.assign(outputs.begin(), outputs.end());
    std::vector<void*> inner_inputs = inputs_, inner_outputs = outputs_;
    for (Bridge& b : in_bridges_) {
      inner_inputs[b.index] = at(b.reorder ? b.laid_offset : b.plain_offset);
      bind_reorder(b, b.plain_offset, b.laid_offset);
    }
    for (Bridge& b : out_bridges_) {
      inner_outputs[b.index] = at(b.reorder ? b.laid_offset : b.plain_offset);
      bind_reorder(b, b.laid_offset, b.plain_offset);
    }
    inner_->bind(inner_inputs, inner_outputs, at(inner_scratch_offset_));
  }

  void run() override {
    for (const Bridge& b : in_bridges_) {
      convert(b.dtype, inputs_[b.index], DType::f32, at(b.plain_offset), b.elements);
      if (b.reorder) b.reorder->run();
    }
    inner_->run();
    for (const Bridge& b : out_bridges_) {
      if (b.reorder) b.reorder->run();
      convert(DType::f32, at(b.plain_offset), b.dtype, outputs_[b.index], b.elements);
    }
  }

 private:
  std::byte* at(size_t offset) const { return scratch_ + offset; }

  void bind_reorder(Bridge& b, size_t from, size_t to) {
    if (!b.reorder) return;
    void *const in[] = {at(from)}, *const out[] = {at(to)};
    b.reorder->bind(in, out, at(b.reorder_scratch_offset));
  }

  const std::unique_ptr<Kernel> inner_;
  const size_t inner_scratch_offset_;
  std::vector<Bridge> in_bridges_, out_bridges_;
  std::vector<void*> inputs_, outputs_;
  std::byte* scratch_ = nullptr;
};

}  // namespace

void convert(DType from, const void* source, DType to, void* target, int64_t n) {
  if (from == to)
    std::memcpy(target, source, static_cast<size_t>(n) * size_of(to));
  else if (from == DType::bf16 && to == DType::f32)
    convert_range(source, target, n, widen_bf16);
  else if (from == DType::f16 && to == DType::f32)
    convert_range(source, target, n, widen_f16);
  else if (from == DType::f32 && to == DType::bf16)
    convert_range(source, target, n, round_to_bf16);
  else if (from == DType::f32 && to == DType::f16)
    convert_range(source, target, n, round_to_f16);
  else
    parallel_for(n, kLowPrecisionGrain, [&](int64_t begin, int64_t end) {
      convert_numbers(from, static_cast<const std::byte*>(source) + static_cast<size_t>(begin) * size_of(from), to,
                      static_cast<std::byte*>(target) + static_cast<size_t>(begin) * size_of(to), end - begin);
    });
}

bool has_low_operand(const KernelRequest& request) {
  auto any = [&](const std::vector<ValueId>& ids) {
    return std::any_of(ids.begin(), ids.end(),
                       [&](ValueId id) { return id != kNoValue && is_low(request.graph.type(id).dtype); });
  };
  return any(request.node.inputs) || any(request.node.outputs);
}

std::optional<KernelChoice> select_bf16(const CpuDevice& device, const KernelRequest& request, SelectKernel select) {
  const auto is_f16 = [&](ValueId id) { return id != kNoValue && request.graph.type(id).dtype == DType::f16; };
  if (std::any_of(request.node.inputs.begin(), request.node.inputs.end(), is_f16)) return std::nullopt;
  try {
    KernelChoice choice = select(device, request);
    if (choice.name.find(":ref") == std::string::npos) return choice;
  } catch (const dnnl::error& e) {
    if (e.status != dnnl_unimplemented) throw;
  }
  return std::nullopt;
}

KernelChoice select_widened(const CpuDevice& device, const KernelRequest& request, SelectKernel select) {
  // The node alone, with f32 for every 16-bit value.
  Graph graph(request.graph.name());
  Node node = request.node;
  auto widen = [&](ValueId& id) {
    if (id != kNoValue) id = graph.add_value("", widened(request.graph.type(id)));
  };
  for (ValueId& id : node.inputs) widen(id);
  for (ValueId& id : node.outputs) widen(id);
  std::vector<LayoutPtr> layouts;
  for (const LayoutPtr& layout : request.input_layouts) layouts.push_back(in_f32(layout));
  KernelChoice inner = select(device, {graph, node, layouts});

  ScratchLedger scratch{kScratchAlignment};
  KernelChoice choice;
  choice.name = text(inner.name, " (in f32)");
  choice.input_layouts = inner.input_layouts;
  choice.output_layouts = inner.output_layouts;
  auto bridge = [&](const std::vector<ValueId>& ids, std::vector<LayoutPtr>& wanted, bool is_input) {
    std::vector<Bridge> bridges;
    for (size_t i = 0; i < ids.size(); ++i) {
      if (ids[i] == kNoValue || !is_low(request.graph.type(ids[i]).dtype)) continue;
      const TensorType& type = request.graph.type(ids[i]);
      Bridge b{i, type.dtype, type.shape.elements(), 0, 0, nullptr, 0};
      if (orders_image(type, wanted[i])) {
        b.elements = static_cast<int64_t>(wanted[i]->bytes() / sizeof(float));
        wanted[i] = std::make_shared<LowLayout>(wanted[i]);
      }
      b.plain_offset = scratch.take(static_cast<size_t>(b.elements) * sizeof(float));
      if (wanted[i] && !is_low_layout(wanted[i])) {
        b.laid_offset = scratch.take(wanted[i]->bytes());
        KernelChoice reorder =
            onednn_reorder(device, widened(type), is_input ? nullptr : wanted[i], is_input ? wanted[i] : nullptr);
        b.reorder = std::move(reorder.kernel);
        b.reorder_scratch_offset = scratch.take(reorder.scratch_bytes);
        wanted[i] = nullptr;
      }
      bridges.push_back(std::move(b));
    }
    return bridges;
  };
  std::vector<Bridge> inputs = bridge(request.node.inputs, choice.input_layouts, true);
  std::vector<Bridge> outputs = bridge(request.node.outputs, choice.output_layouts, false);
  const size_t inner_scratch_offset = scratch.take(inner.scratch_bytes);
  choice.scratch_bytes = scratch.bytes();
  choice.kernel = std::make_unique<WidenedKernel>(std::move(inner.kernel), inner_scratch_offset, std::move(inputs),
                                                  std::move(outputs));
  return choice;
}

namespace {

// Returns oneDNN's fast reorder of bf16, if there is one: at most denormal numbers turn to 0. Its
// slow reorders are slower than a way by f32. In f16 the same bits are common numbers.
std::optional<KernelChoice> bf16_reorder(const CpuDevice& device, const TensorType& type, const LayoutPtr& from,
                                         const LayoutPtr& to) {
  if (type.dtype != DType::bf16) return {};
  try {
    KernelChoice choice = onednn_reorder(device, type, from, to);
    const auto has = [&](const char* part) { return choice.name.find(part) != std::string::npos; };
    if (has(":jit") && !has(":simple") && !has(":ref")) return choice;
  } catch (const Error& e) {
    if (e.status() != Status::unsupported) throw;
  }
  return {};
}

}  // namespace

KernelChoice select_low_reorder(const CpuDevice& device, const TensorType& type, const LayoutPtr& from,
                                const LayoutPtr& to) {
  if (std::optional<KernelChoice> fast = bf16_reorder(device, type, from, to)) return std::move(*fast);
  const TensorType wide = widened(type);
  KernelChoice inner = onednn_reorder(device, wide, in_f32(from), in_f32(to));
  auto elements = [&](const LayoutPtr& layout) {
    return layout ? static_cast<int64_t>(layout->bytes() / size_of(type.dtype)) : type.shape.elements();
  };
  ScratchLedger scratch{kScratchAlignment};
  auto bridge = [&](const LayoutPtr& layout) {
    Bridge b{0, type.dtype, elements(layout), 0, 0, nullptr, 0};
    b.plain_offset = scratch.take(static_cast<size_t>(b.elements) * sizeof(float));
    std::vector<Bridge> bridges;
    bridges.push_back(std::move(b));
    return bridges;
  };
  std::vector<Bridge> inputs = bridge(from), outputs = bridge(to);
  const size_t inner_scratch_offset = scratch.take(inner.scratch_bytes);
  KernelChoice choice;
  choice.name = text(inner.name, " (in f32)");
  choice.input_layouts = {from};
  choice.output_layouts = {to};
  choice.scratch_bytes = scratch.bytes();
  choice.kernel = std::make_unique<WidenedKernel>(std::move(inner.kernel), inner_scratch_offset, std::move(inputs),
                                                  std::move(outputs));
  return choice;
}

// An image is cast in its own layout.
KernelChoice select_cast(const CpuDevice& device, const KernelRequest& request) {
  const TensorType &from = request.graph.type(request.node.inputs[0]),
                   &to = request.graph.type(request.node.outputs[0]);
  const LayoutPtr wide = in_f32(request.input_layouts[0]);
  if (!is_compute_dtype(from.dtype) || !is_compute_dtype(to.dtype) || !orders_image(from, wide))
    return select_cast_all(device, request);
  const auto elements = static_cast<int64_t>(wide->bytes() / sizeof(float));
  auto body = [from = from.dtype, to = to.dtype, elements](void* const* in, void* const* out, void*) {
    convert(from, in[0], to, out[0], elements);
  };
  KernelChoice choice;
  choice.name = text("cpu:cast_", name_of(from.dtype), '_', name_of(to.dtype));
  choice.kernel = make_kernel(body);
  choice.input_layouts = request.input_layouts;
  choice.output_layouts = {is_low(to.dtype) ? std::make_shared<LowLayout>(wide) : wide};
  return choice;
}

KernelChoice select_cast_all(const CpuDevice&, const KernelRequest& request) {
  const DType from = request.graph.type(request.node.inputs[0]).dtype,
              to = request.graph.type(request.node.outputs[0]).dtype;
  std::vector<int64_t> counts;
  for (ValueId id : request.node.outputs) counts.push_back(request.graph.type(id).shape.elements());
  auto body = [from, to, counts](void* const* in, void* const* out, void*) {
    for (size_t i = 0; i < counts.size(); ++i) convert(from, in[i], to, out[i], counts[i]);
  };
  return uniform_choice(request, nullptr, text("cpu:cast_", name_of(from), '_', name_of(to)), make_kernel(body));
}

}  // namespace troika::cpu
