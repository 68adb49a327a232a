// conv2d and its gradients by Winograd's F(4x4, 3x3).
//
// Threads wait for each other as rarely as possible: if they share cores with others, each wait may
// cost milliseconds. Each thread takes groups of tiles of its own, transforms and multiplies them.
// There may be too few groups, or their sums may take too much memory. Then all threads transform
// a chunk of groups, which stays in the last cache, and multiply the chunk afterwards. No result
// depends on the number of threads.
#include "backends/cpu/winograd_conv2d.h"

#include <algorithm>

#include "backends/cpu/threads.h"
#include "backends/cpu/winograd.h"
#include "ops/window.h"

namespace troika::cpu {
namespace {

using namespace winograd;

constexpr int64_t kWeightFloats = kTaps * kSlice * kSlice;  // of a block of weights
constexpr int64_t kTilesFloats = kPoints * kTilesPoint;     // of a slice of a group
constexpr int64_t kSlabFloats = kPoints * kSlabPoint;
constexpr int64_t kBlockFloats = kPoints * kBlockPoint;

// An image cut into tiles for outputs of shape `out`, whose windows reach `top` and `left` over its
// edge.
TiledImage tiled(const Shape& image, const Shape& out, int64_t block, int64_t top = 0, int64_t left = 0) {
  return {image[1], image[2], image[3], block, (out[2] + 3) / 4, (out[3] + 3) / 4, top, left};
}

struct Groups {
  int64_t tiles, count;

  Groups(int64_t samples, const TiledImage& image)
      : tiles(samples * image.tile_rows * image.tile_columns), count((tiles + kGroup - 1) / kGroup) {}
  Range operator[](int64_t i) const { return {i * kGroup, std::min((i + 1) * kGroup, tiles)}; }
};

// Returns the number of groups in a chunk of 5 MiB per thread, if a group takes `floats`.
int64_t chunk_of(const Groups& groups, int64_t floats, int64_t pieces) {
  constexpr int64_t kChunkFloats = 5 << 18;
  return std::clamp<int64_t>(pieces * kChunkFloats / floats, 1, groups.count);
}

// Calls body(piece, range) for the pieces of [0, n), one per thread.
template <typename Body>
void for_pieces(int64_t pieces, int64_t n, Body&& body) {
  parallel_for(pieces, 1, [&](int64_t begin, int64_t end) {
    for (int64_t piece = begin; piece < end; ++piece) body(piece, balanced_split(n, pieces, piece));
  });
}

// From images `input` to images `output`: forward, or, with weights rotated, the input gradient.
struct Convolution {
  TiledImage input, output;
  Groups groups;
  bool is_rotated, relu;
  int64_t pieces = team_size();

  int64_t group_floats() const { return input.slices() * kTilesFloats; }
  // Own groups keep the threads busy for 4/5 of the time or more.
  bool has_own_groups() const { return 5 * groups.count >= 4 * ((groups.count + pieces - 1) / pieces * pieces); }
  int64_t chunk() const { return has_own_groups() ? pieces : chunk_of(groups, group_floats(), pieces); }
  int64_t scratch_floats() const { return chunk() * group_floats() + pieces * (kSlabFloats + kTilesFloats); }

  // Scratch: transformed tiles [groups of a chunk, or pieces][input slices][36][67][16]; for each
  // piece a slab of weights [36][65][16] and products [36][67][16].
  void run(const float* x, const float* weight, const float* bias, float* y, float* scratch) const {
    const int64_t in_slices = input.slices(), out_slices = output.slices();
    auto transform = [&](int64_t group, int64_t slice, float* v) {
      transform_input(input, x, slice, groups[group], v + slice * kTilesFloats);
    };
    auto convolve = [&](int64_t group, int64_t slice, const float* v, int64_t piece) {
      float* const u = scratch + chunk() * group_floats() + piece * (kSlabFloats + kTilesFloats);
      multiply_group(v, groups[group].size(), weight, slice, u);
      transform_output(output, u + kSlabFloats, slice, groups[group], bias, relu, y);
    };
    if (has_own_groups())
      return for_pieces(pieces, groups.count, [&](int64_t piece, Range own) {
        float* const v = scratch + piece * group_floats();
        for (int64_t group = own.begin; group < own.end; ++group) {
          for (int64_t slice = 0; slice < in_slices; ++slice) transform(group, slice, v);
          for (int64_t slice = 0; slice < out_slices; ++slice) convolve(group, slice, v, piece);
        }
      });
    for (int64_t first = 0; first < groups.count; first += chunk()) {
      const int64_t count = std::min(chunk(), groups.count - first);
      for_pieces(pieces, count * in_slices, [&](int64_t, Range own) {
        for (int64_t i = own.begin; i < own.end; ++i)
          transform(first + i / in_slices, i % in_slices, scratch + i / in_slices * group_floats());
      });
      for_pieces(pieces, count * out_slices, [&](int64_t piece, Range own) {
        for (int64_t i = own.begin; i < own.end; ++i)
          convolve(first + i / out_slices, i % out_slices, scratch + i / out_slices * group_floats(), piece);
      });
    }
  }

 private:
  // Computes the products of a group for one slice of outputs, after u, the slab of weights.
  void multiply_group(const float* v, int64_t tiles, const float* weight, int64_t slice, float* u) const {
    float* const m = u + kSlabFloats;
    for (int64_t first = 0; first < input.slices(); first += kSlab) {
      const int64_t slices = std::min(kSlab, input.slices() - first);
      for (int64_t i = 0; i < slices; ++i) transform_block(weight, first + i, slice, u + i * kSlice * kSlice);
      for (int64_t point = 0; point < kPoints; ++point)
        multiply(v + first * kTilesFloats + point * kTilesPoint, tiles, slices, u + point * kSlabPoint,
                 m + point * kTilesPoint, first == 0);
    }
  }

  // Weights are stored in blocks [k / 16][c / 16][9][16 c][16 k].
  void transform_block(const float* weight, int64_t in, int64_t out, float* u) const {
    if (!is_rotated) return transform_weights(weight + (out * input.slices() + in) * kWeightFloats, u);
    float rotated[kWeightFloats];
    rotate_weights(weight + (in * output.slices() + out) * kWeightFloats, rotated);
    transform_weights(rotated, u);
  }
};

// From the images that forward reads and the gradients of those that it writes.
struct WeightGradient {
  TiledImage input, output;
  Groups groups;
  int64_t pieces = team_size();

  int64_t slices() const { return input.slices() + output.slices(); }
  int64_t group_floats() const { return slices() * kTilesFloats; }
  int64_t blocks() const { return input.slices() * output.slices(); }
  // If there are many groups and the sums are small enough, the groups are cut into parts, whose
  // sums are added at the end.
  int64_t parts() const {
    constexpr int64_t kMostFloats = 4 << 20;
    return std::max<int64_t>(std::min(groups.count / 4, kMostFloats / block_floats()), 1);
  }
  int64_t block_floats() const { return blocks() * kBlockFloats; }
  bool has_own_parts() const { return parts() > 1 && parts() >= pieces; }
  int64_t chunk() const { return has_own_parts() ? pieces : chunk_of(groups, group_floats(), pieces); }
  bool is_at_once() const { return parts() == 1 && chunk() == groups.count; }  // no sums need be kept
  int64_t scratch_floats() const {
    return chunk() * group_floats() + groups.count * output.channels + (is_at_once() ? 0 : parts() * block_floats());
  }

  // Scratch: transformed tiles [groups of a chunk, or pieces][slices of input and
  // output][36][67][16]; sums of dy [groups][k]; sums of products [parts][blocks][36][17][16].
  void run(const float* x, const float* dy, float* dweight, float* dbias, float* scratch) const {
    float* const dy_sums = scratch + chunk() * group_floats();
    float* const sums = dy_sums + groups.count * output.channels;
    auto transform = [&](int64_t group, int64_t slice, float* tiles) {
      const int64_t out = slice - input.slices();
      if (out < 0) return transform_input(input, x, slice, groups[group], tiles + slice * kTilesFloats);
      transform_output_gradient(output, dy, out, groups[group], tiles + slice * kTilesFloats,
                                dy_sums + group * output.channels + out * kSlice);
    };
    if (has_own_parts())
      for_pieces(pieces, parts(), [&](int64_t piece, Range own) {
        float* const tiles = scratch + piece * group_floats();
        for (int64_t part = own.begin; part < own.end; ++part) {
          float* const s = sums + part * block_floats();
          std::fill_n(s, block_floats(), 0.0f);
          const Range range = balanced_split(groups.count, parts(), part);
          for (int64_t group = range.begin; group < range.end; ++group) {
            for (int64_t slice = 0; slice < slices(); ++slice) transform(group, slice, tiles);
            accumulate_blocks(tiles, {group, group + 1}, {0, blocks()}, s);
          }
        }
      });
    else
      for (int64_t part = 0; part < parts(); ++part)
        run_chunks(transform, balanced_split(groups.count, parts(), part), scratch, sums + part * block_floats(),
                   dweight);
    if (parts() > 1)
      for_pieces(pieces, blocks(), [&](int64_t, Range own) {
        for (int64_t block = own.begin; block < own.end; ++block) {
          float* const s = sums + block * kBlockFloats;
          for (int64_t part = 1; part < parts(); ++part)
            for (int64_t i = 0; i < kBlockFloats; ++i) s[i] += s[part * block_floats() + i];
          transform_weight_gradient(s, dweight + block * kWeightFloats);
        }
      });
    for (int64_t k = 0; dbias && k < output.channels; ++k) {
      double sum = 0;
      for (int64_t group = 0; group < groups.count; ++group) sum += dy_sums[group * output.channels + k];
      dbias[k] = static_cast<float>(sum);
    }
  }

 private:
  // All threads together compute one part of the groups; also the gradient if there is no other
  // part.
  template <typename Transform>
  void run_chunks(const Transform& transform, Range part, float* tiles, float* sums, float* dweight) const {
    for (int64_t first = part.begin; first < part.end; first += chunk()) {
      const int64_t count = std::min(chunk(), part.end - first);
      for_pieces(pieces, count * slices(), [&](int64_t, Range own) {
        for (int64_t i = own.begin; i < own.end; ++i)
          transform(first + i / slices(), i % slices(), tiles + i / slices() * group_floats());
      });
      for_pieces(pieces, blocks(), [&](int64_t, Range own) {
        for (int64_t block = own.begin; block < own.end; ++block) {
          alignas(64) float local[kBlockFloats];
          float* const s = is_at_once() ? local : sums + block * kBlockFloats;
          if (first == part.begin) std::fill_n(s, kBlockFloats, 0.0f);
          accumulate_blocks(tiles, {first, first + count}, {block, block + 1}, s);
          if (first + count == groups.count && parts() == 1)
            transform_weight_gradient(s, dweight + block * kWeightFloats);
        }
      });
    }
  }

  // `tiles` begin with those of the first of `range`, s with the sums of the first block.
  void accumulate_blocks(const float* tiles, Range range, Range own, float* s) const {
    for (int64_t point = 0; point < kPoints; ++point)
      for (int64_t group = range.begin; group < range.end; ++group) {
        const float* const v = tiles + (group - range.begin) * group_floats() + point * kTilesPoint;
        const float* const z = v + input.slices() * kTilesFloats;
        for (int64_t block = own.begin; block < own.end; ++block)
          accumulate(v + block % input.slices() * kTilesFloats, z + block / input.slices() * kTilesFloats,
                     groups[group].size(), s + (block - own.begin) * kBlockFloats + point * kBlockPoint);
      }
  }
};

// Whether Winograd's algorithm can take the convolution.
bool is_winograd(const Node& node, const Shape& x, const Shape& y) {
  const Window w = Window::of(node);
  for (int i = 0; i < 2; ++i)
    if (w.kernel[i] != 3 || w.stride[i] != 1 || w.dilation[i] != 1 || w.padding[i] > 2) return false;
  return node.attributes.integer("groups") == 1 && x[1] % kSlice == 0 && y[1] % kSlice == 0;
}

// Returns the cost in products of the direct sum: 36 for a tile and a pair of channels, with tiles
// in rows of 6; as much as 8 more tiles for transforming a group's weights; and 700 for
// transforming a tile of a channel. Times of the forward pass on a core of a Zen 3, direct and by
// Winograd, with millions of products: 512 channels, 4x4, batch 4: 4.2 and 3.7 ms (151, 135); 16
// channels, 28x28, batch 64: 3.2 and 2.4 ms (116, 103); 64 of these channels: 39.8 and 17.1 ms
// (1850, 800).
int64_t work_of(const Groups& groups, int64_t in, int64_t out) {
  constexpr int64_t kTransforms = 700;  // of a tile and channel
  const int64_t rows = (groups.tiles + 5) / 6 * 6 + 8 * groups.count;
  return kPoints * rows * in * out + kTransforms * groups.tiles * (in + out);
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
  // If oneDNN has its own Winograd, it is tuned for the machine. Without AVX, this one is not worth
  // it.
  const std::string_view offered = primitive.impl_info_str();
  if (offered.find("wino") != std::string_view::npos || offered.find("avx") == std::string_view::npos) return 0;
  const bool has_avx512 = offered.find("avx512") != std::string_view::npos;

  const TiledImage image = tiled(x, y, has_avx512 ? 16 : 8);
  return work_of(Groups(x[0], image), x[1], y[1]) < kTaps * y.elements() * x[1] ? image.block : 0;
}

KernelChoice winograd_conv2d(const KernelRequest& request, int64_t block) {
  const Node& node = request.node;
  const Shape &x = request.graph.type(node.inputs[0]).shape, &weight = request.graph.type(node.inputs[1]).shape;
  const Shape& y = request.graph.type(node.outputs[0]).shape;
  const Window w = Window::of(node);
  const TiledImage input = tiled(x, y, block, w.padding[0], w.padding[1]), output = tiled(y, y, block);
  const Convolution c{input, output, Groups(x[0], input), false, node.attributes.flag("relu")};
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
  const Convolution c{input, output, Groups(dx[0], input), true, false};
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
  const WeightGradient g{input, output, Groups(x[0], input)};
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
