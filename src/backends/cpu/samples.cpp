// sample_order and gather_samples: rows copied, and bytes looked up.
#include <cstring>

#include "backends/cpu/kernels.h"
#include "backends/cpu/threads.h"
#include "core/sampler.h"

namespace troika::cpu {

KernelChoice select_sample_order(const CpuDevice&, const KernelRequest& request) {
  const int64_t samples = request.node.attributes.integer("samples");
  auto body = [samples](void* const* in, void* const* out, void*) {
    const Sampler sampler(samples, static_cast<uint64_t>(*static_cast<const int64_t*>(in[0])));
    auto* order = static_cast<int64_t*>(out[0]);
    parallel_for(samples, 1024, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) order[i] = sampler.index_of(i);
    });
  };
  return uniform_choice(request, nullptr, "cpu:sample_order", make_kernel(body));
}

KernelChoice select_gather_samples(const CpuDevice&, const KernelRequest& request) {
  const Node& node = request.node;
  const int64_t batch = node.attributes.integer("batch"), offset = node.attributes.integer("offset");
  const auto row_of = [&](size_t i) {  // elements, 0 if absent
    if (!has_input(request, i)) return int64_t{0};
    const Shape& shape = request.graph.type(node.inputs[i]).shape;
    return shape.elements() / shape[0];
  };
  const int64_t row = row_of(2), target_row = row_of(4);
  const bool is_bytes = row_of(3) > 0;
  auto body = [=](void* const* in, void* const* out, void*) {
    const int64_t first = *static_cast<const int64_t*>(in[0]) + offset;
    const auto* order = static_cast<const int64_t*>(in[1]);
    parallel_for(batch, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t sample = order ? order[first + i] : first + i;
        if (is_bytes) {
          const auto* from = static_cast<const uint8_t*>(in[2]) + sample * row;
          const auto* values = static_cast<const float*>(in[3]);
          float* to = static_cast<float*>(out[0]) + i * row;
          for (int64_t k = 0; k < row; ++k) to[k] = values[from[k]];
        } else if (row > 0) {
          std::copy_n(static_cast<const float*>(in[2]) + sample * row, row, static_cast<float*>(out[0]) + i * row);
        }
        if (target_row > 0)  // of either type 4 bytes
          std::memcpy(static_cast<std::byte*>(out[row > 0]) + i * target_row * 4,
                      static_cast<const std::byte*>(in[4]) + sample * target_row * 4,
                      static_cast<size_t>(target_row) * 4);
      }
    });
  };
  return uniform_choice(request, nullptr, is_bytes ? "cpu:gather_samples_u8" : "cpu:gather_samples", make_kernel(body));
}

}  // namespace troika::cpu
