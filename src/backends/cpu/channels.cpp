// slice_channels and join_channels: runs of plain values [n, c, ...], copied.
#include <algorithm>

#include "backends/cpu/kernels.h"
#include "backends/cpu/threads.h"

namespace troika::cpu {
namespace {

// Floats of one channel, and of all channels, of a sample.
struct Run {
  int64_t channel, sample;

  static Run of(const Shape& shape) {
    const int64_t sample = shape.elements() / shape[0];
    return {sample / shape[1], sample};
  }
};

}  // namespace

KernelChoice select_slice_channels(const CpuDevice&, const KernelRequest& request) {
  const Shape &x = request.graph.type(request.node.inputs[0]).shape,
              &y = request.graph.type(request.node.outputs[0]).shape;
  const Run from = Run::of(x), to = Run::of(y);
  const int64_t n = x[0], offset = request.node.attributes.integer("begin") * from.channel;
  auto body = [=](void* const* in, void* const* out, void*) {
    parallel_for(n, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        std::copy_n(static_cast<const float*>(in[0]) + i * from.sample + offset, to.sample,
                    static_cast<float*>(out[0]) + i * to.sample);
    });
  };
  return uniform_choice(request, nullptr, "cpu:slice_channels", make_kernel(body));
}

KernelChoice select_join_channels(const CpuDevice&, const KernelRequest& request) {
  const Shape& y = request.graph.type(request.node.outputs[0]).shape;
  const Run to = Run::of(y);
  const int64_t n = y[0];
  std::vector<int64_t> runs;  // floats of a sample, by rank
  for (int64_t width : request.node.attributes.list("widths")) runs.push_back(width * to.channel);
  auto body = [=](void* const* in, void* const* out, void*) {
    parallel_for(n, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const float* from = static_cast<const float*>(in[0]);
        float* sample = static_cast<float*>(out[0]) + i * to.sample;
        for (int64_t run : runs) {
          sample = std::copy_n(from + i * run, run, sample);
          from += n * run;
        }
      }
    });
  };
  return uniform_choice(request, nullptr, "cpu:join_channels", make_kernel(body));
}

}  // namespace troika::cpu
