// slice_channels, join_channels and part_channels: runs of plain values [samples, c, ...], copied.
// If channels are on a later axis, the axes before it count as samples.
#include <algorithm>

#include "backends/cpu/kernels.h"
#include "backends/cpu/threads.h"
#include "ops/channels.h"

namespace troika::cpu {
namespace {

// Floats of one channel, and of all channels, of a sample.
struct Run {
  int64_t samples, channel, sample;

  static Run of(const Node& node, const Shape& shape) {
    const int axis = axis_of(node);
    return {shape.elements(0, axis), shape.elements(axis + 1, shape.rank()), shape.elements(axis, shape.rank())};
  }
};

// The channels of each rank in each sample of a whole value. They are packed rank by rank.
class Runs {
 public:
  Runs(const KernelRequest& request, const Shape& whole) : of_(Run::of(request.node, whole)), samples_(of_.samples) {
    for (int64_t width : request.node.attributes.list("widths")) lengths_.push_back(width * of_.channel);
  }

  // Calls copy(offset in the packed value, offset in [n, c, ...], floats) for each run.
  template <typename Copy>
  void each(Copy copy) const {
    parallel_for(samples_, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        int64_t first = 0, place = i * of_.sample;
        for (int64_t length : lengths_) {
          copy(first + i * length, place, length);
          place += length;
          first += samples_ * length;
        }
      }
    });
  }

 private:
  Run of_;
  int64_t samples_;
  std::vector<int64_t> lengths_;  // floats of a sample, by rank
};

// Between values `whole` [n, c, ...] and the same packed.
KernelChoice repacking(const KernelRequest& request, const Shape& whole, bool joins, const char* name) {
  const Runs runs(request, whole);
  auto body = [=](void* const* in, void* const* out, void*) {
    const auto* const x = static_cast<const float*>(in[0]);
    auto* const y = static_cast<float*>(out[0]);
    runs.each([=](int64_t packed, int64_t place, int64_t length) {
      joins ? std::copy_n(x + packed, length, y + place) : std::copy_n(x + place, length, y + packed);
    });
  };
  return uniform_choice(request, nullptr, name, make_kernel(body));
}

}  // namespace

KernelChoice select_slice_channels(const CpuDevice&, const KernelRequest& request) {
  const Shape &x = request.graph.type(request.node.inputs[0]).shape,
              &y = request.graph.type(request.node.outputs[0]).shape;
  const Run from = Run::of(request.node, x), to = Run::of(request.node, y);
  const int64_t n = from.samples, offset = request.node.attributes.integer("begin") * from.channel;
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
  return repacking(request, request.graph.type(request.node.outputs[0]).shape, true, "cpu:join_channels");
}

KernelChoice select_part_channels(const CpuDevice&, const KernelRequest& request) {
  return repacking(request, request.graph.type(request.node.inputs[0]).shape, false, "cpu:part_channels");
}

}  // namespace troika::cpu
