// conv2d and its gradients by Winograd's F(4x4, 3x3): tiles are transformed a chunk at a time, then multiplied group by group.
//
// No sum depends on the number of threads: those over channels go on from slab to slab, those over tiles from group to group.
#include "backends/cpu/winograd_conv2d.h"

#include <algorithm>

#include "backends/cpu/threads.h"
#include "backends/cpu/winograd.h"
#include "ops/window.h"

namespace troika::cpu {
namespace {

using namespace winograd;

constexpr int64_t kWeightBlock = kTaps * kSlice * kSlice;  // floats
constexpr int64_t kTilesFloats = kPoints * kTilesPoint;    // of a slice of a group
constexpr int64_t kSlabFloats = kPoints * kSlabPoint;
constexpr int64_t kBlockFloats = kPoints * kBlockPoint;

// An image cut into tiles for outputs of shape `out`, whose windows reach `top` and `left` over its edge.
TiledImage tiled(const Shape& image, const Shape& out, int64_t block, int64_t top = 0, int64_t left = 0) {
  return {image[1], image[2], image[3], block, (out[2] + 3) / 4, (out[3] + 3) / 4, top, left};
}

// Tiles in groups, and groups in chunks whose transformed tiles stay in the last cache until they are multiplied.
struct Cut {
  int64_t tiles, groups, chunk;  // groups in a chunk

  // `slices` are transformed of each tile.
  Cut(int64_t samples, const TiledImage& image, int64_t slices) {
    constexpr int64_t kChunkFloats = 1 << 19;  // a thread
    tiles = samples * image.tile_rows * image.tile_columns;
    groups = (tiles + kGroup - 1) / kGroup;
    chunk = std::clamp<int64_t>(team_size() * kChunkFloats / (slices * kTilesFloats), 1, groups);
  }
  Range group(int64_t i) const { return {i * kGroup, std::min((i + 1) * kGroup, tiles)}; }
};

// From images `input` to images `output`: forward, or, with weights rotated, the input gradient.
struct Convolution {
  TiledImage input, output;
  Cut cut;
  bool is_rotated, relu;
  int64_t pieces = team_size();

  int64_t scratch_floats() const {
    return cut.chunk * input.slices() * kTilesFloats + pieces * (kSlabFloats + kTilesFloats);
  }

  // Scratch: transformed tiles [groups of a chunk][input slices][36][67][16]; for each piece of the work, a slab of weights
  // [36][65][16] and the products of a group [36][67][16].
  void run(const float* x, const float* weight, const float* bias, float* y, float* scratch) const {
    float* const pieces_at = scratch + cut.chunk * input.slices() * kTilesFloats;
    for (int64_t first = 0; first < cut.groups; first += cut.chunk) {
      const int64_t groups = std::min(cut.chunk, cut.groups - first);
      parallel_for(groups * input.slices(), 1, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i)
          transform_input(input, x, i % input.slices(), cut.group(first + i / input.slices()),
                          scratch + i * kTilesFloats);
      });
      parallel_for(pieces, 1, [&](int64_t begin, int64_t end) {
        for (int64_t piece = begin; piece < end; ++piece) {
          const Range items = balanced_split(groups * output.slices(), pieces, piece);
          float* const u = pieces_at + piece * (kSlabFloats + kTilesFloats);
          for (int64_t i = items.begin; i < items.end; ++i) {
            const int64_t group = i / output.slices(), slice = i % output.slices();
            multiply_group(scratch + group * input.slices() * kTilesFloats, cut.group(first + group), weight, slice, u);
            transform_output(output, u + kSlabFloats, slice, cut.group(first + group), bias, relu, y);
          }
        }
      });
    }
  }

 private:
  // The products of a group for one slice of outputs, behind u, the slab of weights.
  void multiply_group(const float* v, Range tiles, const float* weight, int64_t slice, float* u) const {
    float* const m = u + kSlabFloats;
    for (int64_t first = 0; first < input.slices(); first += kSlab) {
      const int64_t slices = std::min(kSlab, input.slices() - first);
      for (int64_t i = 0; i < slices; ++i) transform_block(weight, first + i, slice, u + i * kSlice * kSlice);
      for (int64_t point = 0; point < kPoints; ++point)
        multiply(v + first * kTilesFloats + point * kTilesPoint, tiles.size(), slices, u + point * kSlabPoint,
                 m + point * kTilesPoint, first == 0);
    }
  }

  // Weights lie in blocks [k / 16][c / 16][9][16 c][16 k].
  void transform_block(const float* weight, int64_t in, int64_t out, float* u) const {
    if (!is_rotated) return transform_weights(weight + (out * input.slices() + in) * kWeightBlock, u);
    float rotated[kWeightBlock];
    rotate_weights(weight + (in * output.slices() + out) * kWeightBlock, rotated);
    transform_weights(rotated, u);
  }
};

// From the images that forward reads and the gradients of those that it writes.
struct WeightGradient {
  TiledImage input, output;
  Cut cut;

  int64_t slices() const { return input.slices() + output.slices(); }
  int64_t blocks() const { return input.slices() * output.slices(); }
  bool is_one_chunk() const { return cut.chunk == cut.groups; }
  int64_t scratch_floats() const {
    return cut.chunk * slices() * kTilesFloats + cut.groups * output.channels +
           (is_one_chunk() ? 0 : blocks() * kBlockFloats);
  }

  // Scratch: transformed tiles [groups of a chunk][slices of input and output][36][67][16]; sums of dy [groups][k]; where
  // there are several chunks, what the blocks of weights have come to [blocks][36][17][16].
  void run(const float* x, const float* dy, float* dweight, float* dbias, float* scratch) const {
    float* const sums = scratch + cut.chunk * slices() * kTilesFloats;
    float* const blocks_at = sums + cut.groups * output.channels;
    for (int64_t first = 0; first < cut.groups; first += cut.chunk) {
      const int64_t groups = std::min(cut.chunk, cut.groups - first);
      parallel_for(groups * slices(), 1, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          const int64_t group = first + i / slices(), slice = i % slices(), out = slice - input.slices();
          if (out < 0)
            transform_input(input, x, slice, cut.group(group), scratch + i * kTilesFloats);
          else
            transform_output_gradient(output, dy, out, cut.group(group), scratch + i * kTilesFloats,
                                      sums + group * output.channels + out * kSlice);
        }
      });
      parallel_for(blocks(), 1, [&](int64_t begin, int64_t end) {
        for (int64_t block = begin; block < end; ++block) {
          alignas(64) float local[kBlockFloats];
          float* const s = is_one_chunk() ? local : blocks_at + block * kBlockFloats;
          if (first == 0) std::fill_n(s, kBlockFloats, 0.0f);
          accumulate_block(scratch, block, {first, first + groups}, s);
          if (first + groups == cut.groups) transform_weight_gradient(s, dweight + block * kWeightBlock);
        }
      });
    }
    for (int64_t k = 0; dbias && k < output.channels; ++k) {
      double sum = 0;
      for (int64_t group = 0; group < cut.groups; ++group) sum += sums[group * output.channels + k];
      dbias[k] = static_cast<float>(sum);
    }
  }

 private:
  void accumulate_block(const float* tiles, int64_t block, Range groups, float* s) const {
    const int64_t in = block % input.slices(), out = input.slices() + block / input.slices();
    for (int64_t point = 0; point < kPoints; ++point)
      for (int64_t group = groups.begin; group < groups.end; ++group) {
        const float* const slice = tiles + (group - groups.begin) * slices() * kTilesFloats + point * kTilesPoint;
        accumulate(slice + in * kTilesFloats, slice + out * kTilesFloats, cut.group(group).size(),
                   s + point * kBlockPoint);
      }
  }
};

// Can Winograd's take it.
bool is_winograd(const Node& node, const Shape& x, const Shape& y) {
  const Window w = Window::of(node);
  for (int i = 0; i < 2; ++i)
    if (w.kernel[i] != 3 || w.stride[i] != 1 || w.dilation[i] != 1 || w.padding[i] > 2) return false;
  return node.attributes.integer("groups") == 1 && x[1] % kSlice == 0 && y[1] % kSlice == 0;
}

// What it takes, in products of the direct sum: 36 for a tile and a pair of channels, with tiles in rows of 6; transforming a
// group's weights, as much as 8 tiles; and 700 for transforming a tile of a channel. On a core of a Zen 3, direct against this
// (and products in millions): 512 channels, 4x4, batch 4: 4.2 and 3.7 ms (151, 135); 16 channels, 28x28, batch 64: 3.2 and
// 2.4 ms (116, 103); 64 channels of these 39.8 and 17.1 ms (1850, 800).
int64_t work_of(const Cut& cut, int64_t in, int64_t out) {
  constexpr int64_t kTransforms = 700;  // of a tile and channel
  const int64_t rows = (cut.tiles + 5) / 6 * 6 + 8 * cut.groups;
  return kPoints * rows * in * out + kTransforms * cut.tiles * (in + out);
}

LayoutPtr image_layout(const Shape& shape, int64_t block) {
  using Tag = dnnl::memory::format_tag;
  return layout_of(Desc(shape.dims(), dnnl::memory::data_type::f32, block == 8 ? Tag::nChw8c : Tag::nChw16c), shape);
}

LayoutPtr weight_layout(const Shape& shape) {
  return layout_of(Desc(shape.dims(), dnnl::memory::data_type::f32, dnnl::memory::format_tag::OIhw16i16o), shape);
}

KernelChoice choice_of(std::unique_ptr<Kernel> kernel, std::vector<LayoutPtr> inputs, std::vector<LayoutPtr> outputs,
                       int64_t scratch_floats) {
  KernelChoice choice;
  choice.kernel = std::move(kernel);
  choice.name = "cpu:winograd:f4x4";
  choice.input_layouts = std::move(inputs);
  choice.output_layouts = std::move(outputs);
  choice.scratch_bytes = static_cast<size_t>(scratch_floats) * sizeof(float);
  return choice;
}

}  // namespace

int64_t winograd_block(const Node& node, const Shape& x, const Shape& weight, const Shape& y,
                       const dnnl::primitive_desc& primitive) {
  if (!is_winograd(node, x, y)) return 0;
  // oneDNN's own Winograd, where it has one, is tuned for the machine; without AVX ours is not worth it.
  const std::string_view offered = primitive.impl_info_str();
  if (offered.find("wino") != std::string_view::npos || offered.find("avx") == std::string_view::npos) return 0;
  const bool has_avx512 = offered.find("avx512") != std::string_view::npos;

  const TiledImage image = tiled(x, y, has_avx512 ? 16 : 8);
  return work_of(Cut(x[0], image, image.slices()), x[1], y[1]) < kTaps * y.elements() * x[1] ? image.block : 0;
}

KernelChoice winograd_conv2d(const KernelRequest& request, int64_t block) {
  const Node& node = request.node;
  const Shape &x = request.graph.type(node.inputs[0]).shape, &weight = request.graph.type(node.inputs[1]).shape;
  const Shape& y = request.graph.type(node.outputs[0]).shape;
  const Window w = Window::of(node);
  const TiledImage input = tiled(x, y, block, w.padding[0], w.padding[1]), output = tiled(y, y, block);
  const Convolution c{input, output, Cut(x[0], input, input.slices()), false, node.attributes.flag("relu")};
  auto body = [c](void* const* in, void* const* out, void* scratch) {
    c.run(static_cast<const float*>(in[0]), static_cast<const float*>(in[1]), static_cast<const float*>(in[2]),
          static_cast<float*>(out[0]), static_cast<float*>(scratch));
  };
  return choice_of(make_kernel(body), {image_layout(x, block), weight_layout(weight), nullptr},
                   {image_layout(y, block)}, c.scratch_floats());
}

KernelChoice winograd_conv2d_input_gradient(const KernelRequest& request, int64_t block) {
  const Node& node = request.node;
  const Shape &weight = request.graph.type(node.inputs[0]).shape, &dy = request.graph.type(node.inputs[1]).shape;
  const Shape& dx = request.graph.type(node.outputs[0]).shape;
  const Window w = Window::of(node);
  const TiledImage input = tiled(dy, dx, block, 2 - w.padding[0], 2 - w.padding[1]), output = tiled(dx, dx, block);
  const Convolution c{input, output, Cut(dx[0], input, input.slices()), true, false};
  auto body = [c](void* const* in, void* const* out, void* scratch) {
    c.run(static_cast<const float*>(in[1]), static_cast<const float*>(in[0]), nullptr, static_cast<float*>(out[0]),
          static_cast<float*>(scratch));
  };
  return choice_of(make_kernel(body), {weight_layout(weight), image_layout(dy, block)}, {image_layout(dx, block)},
                   c.scratch_floats());
}

KernelChoice winograd_conv2d_weight_gradient(const KernelRequest& request, int64_t block) {
  const Node& node = request.node;
  const Shape &x = request.graph.type(node.inputs[0]).shape, &dy = request.graph.type(node.inputs[1]).shape;
  const Shape& weight = request.graph.type(node.outputs[0]).shape;
  const Window w = Window::of(node);
  const bool has_bias = node.outputs.size() > 1;
  const TiledImage input = tiled(x, dy, block, w.padding[0], w.padding[1]), output = tiled(dy, dy, block);
  const WeightGradient g{input, output, Cut(x[0], input, input.slices() + output.slices())};
  auto body = [g, has_bias](void* const* in, void* const* out, void* scratch) {
    g.run(static_cast<const float*>(in[0]), static_cast<const float*>(in[1]), static_cast<float*>(out[0]),
          has_bias ? static_cast<float*>(out[1]) : nullptr, static_cast<float*>(scratch));
  };
  std::vector<LayoutPtr> outputs = {weight_layout(weight)};
  if (has_bias) outputs.push_back(nullptr);
  return choice_of(make_kernel(body), {image_layout(x, block), image_layout(dy, block)}, std::move(outputs),
                   g.scratch_floats());
}

}  // namespace troika::cpu
