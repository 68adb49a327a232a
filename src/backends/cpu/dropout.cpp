// dropout: a coin for each element from its place alone.
#include "backends/cpu/kernels.h"
#include "backends/cpu/threads.h"
#include "core/random.h"

namespace troika::cpu {

KernelChoice select_dropout(const CpuDevice&, const KernelRequest& request) {
  const Node& node = request.node;
  const Shape& x = request.graph.type(node.inputs[0]).shape;
  const double p = node.attributes.real("probability");
  const uint64_t layer = static_cast<uint64_t>(node.attributes.integer("layer"));
  const int64_t sample_offset = node.attributes.integer("sample_offset");
  const int64_t samples = x[0], features = samples ? x.elements() / samples : 0;
  const float scale = static_cast<float>(1.0 / (1.0 - p));
  // The coin of 32 bits falls on "drop" below p 2^32.
  const uint64_t threshold = static_cast<uint64_t>(p * 4294967296.0);
  auto body = [=](void* const* in, void* const* out, void*) {
    const auto* source = static_cast<const float*>(in[0]);
    const auto* counter = static_cast<const int64_t*>(in[1]);
    auto* target = static_cast<float*>(out[0]);
    const uint64_t key = static_cast<uint64_t>(counter[0]) ^ layer, step = static_cast<uint64_t>(counter[1]);
    parallel_for(samples, 1, [&](int64_t begin, int64_t end) {
      for (int64_t n = begin; n < end; ++n)
        for (int64_t i = 0; i < features; i += 4) {
          // Counter: step and sample above, four elements of it below. 2^32 samples and 2^32
          // quadruples are enough.
          const uint64_t place = static_cast<uint64_t>(sample_offset + n) << 32 | static_cast<uint64_t>(i / 4);
          const auto bits = philox(key, place, step);
          for (int64_t k = 0; k < 4 && i + k < features; ++k) {
            const int64_t at = n * features + i + k;
            target[at] = bits[static_cast<size_t>(k)] < threshold ? 0.0f : source[at] * scale;
          }
        }
    });
  };
  KernelChoice choice = uniform_choice(request, nullptr, "cpu:dropout", make_kernel(body));
  choice.may_share = {{0, 0}};
  return choice;
}

}  // namespace troika::cpu
