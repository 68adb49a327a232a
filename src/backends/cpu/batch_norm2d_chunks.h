// The passes of batch normalisation over an image, chunk by chunk.
//
// An image is cut into chunks, one for each (sample, channel block): [spatial][block] numbers, which lie together, or, where channels
// come last, `stride` apart. Loops run over 16 lanes, lane l standing for channel l % block, whatever the block (1, 4, 8 or 16). Sums of
// a chunk are single precision, those over chunks double, in a fixed order: the result does not depend on the number of threads.
#pragma once

#include "backends/cpu/kernels.h"

namespace troika::cpu {

struct ChunkView : ImageView {
  DType dtype = DType::f32;  // of the images' numbers, in bf16 and f16 computed with in f32
  int64_t stride = 0;        // from one place of a chunk to the next; above `block` where channels come last, in blocks of 16
};
ChunkView chunk_view(const TensorType& type, const LayoutPtr& layout);

// The layout that all images of the node take: the first input's where the loops can walk it, else plain.
LayoutPtr image_layout(const KernelRequest& request);

// Doubles that the sums of chunks take, two for each chunk's channels.
inline int64_t partial_doubles(const ChunkView& v) { return v.n * v.c_blocks * 2 * v.block; }

// Mean and sum of squared differences from it, of each chunk's channels; and of a channel over all chunks. Chan, Golub and
// LeVeque (1979): means and squared differences of parts combine exactly.
struct Moments {
  double count, mean, squares;
};
void find_chunk_moments(const void* x, const ChunkView& v, double* partial);
Moments moments_of(const double* partial, const ChunkView& v, int64_t channel);

// y = (x - mean) * scale + bias of every chunk, plus the residual where there is one, cut at 0 where `relu`. mean, scale,
// bias [c].
void apply_chunks(const void* x, const void* residual, void* y, const ChunkView& v, const float* mean,
                  const double* scale, const float* bias, bool relu);

// Sums of dz and of dz (x - mean), with dz = dy where y > 0 (y null: everywhere), written where `dz` is given. Where
// `more` is, it is added to dy, rounded as an `add` of them does; dz may be either.
struct GradientSums {
  double sum = 0, product = 0;
};
void find_chunk_gradient_sums(const void* x, const void* y, const void* dy, const void* more, void* dz,
                              const ChunkView& v, const float* mean, double* partial);
GradientSums gradient_sums_of(const double* partial, const ChunkView& v, int64_t channel);

// dx = a * dz + b * (x - mean) + c, with dz = dy where y > 0 (y null: everywhere). mean, a, b, c [c].
void apply_chunk_gradients(const void* x, const void* y, const void* dy, void* dx, const ChunkView& v,
                           const float* mean, const double* a, const double* b, const double* c);

}  // namespace troika::cpu
