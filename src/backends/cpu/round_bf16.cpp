// round_bf16: rounds gradients in place, in any layout.
#include <bit>

#include "backends/cpu/kernels.h"
#include "backends/cpu/threads.h"

namespace troika::cpu {
namespace {

// The upper half of a float's bits, rounded to the nearest, ties to even; a NaN stays one, quiet.
TROIKA_VECTORIZE void round_range(uint32_t* bits, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; ++i) {
    const uint32_t b = bits[i], rounded = (b + 0x7fffu + ((b >> 16) & 1u)) & 0xffff0000u;
    bits[i] = (b & 0x7fffffffu) > 0x7f800000u ? (b | 0x00400000u) & 0xffff0000u : rounded;
  }
}

}  // namespace

KernelChoice select_round_bf16(const CpuDevice&, const KernelRequest& request) {
  const std::vector<int64_t> floats = floats_of_inputs(request, request.node.inputs.size());
  auto body = [floats](void* const* in, void* const*, void*) {
    for (size_t i = 0; i < floats.size(); ++i)
      parallel_for(floats[i], 16384, [&, bits = static_cast<uint32_t*>(in[i])](int64_t begin, int64_t end) {
        round_range(bits, begin, end);
      });
  };
  KernelChoice choice;
  choice.kernel = make_kernel(body);
  choice.name = "cpu:round_bf16";
  choice.input_layouts = request.input_layouts;
  return choice;
}

}  // namespace troika::cpu
