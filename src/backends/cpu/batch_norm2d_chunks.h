// The passes of batch normalisation over an image, chunk by chunk.
//
// An image is cut into chunks, one per (sample, channel block): [spatial][block] numbers. They are
// contiguous, or, if channels come last, `stride` apart. Loops run over 16 lanes. Lane l stands for
// channel l % block, for any block (1, 4, 8 or 16). Sums of a chunk are single precision, sums over
// chunks are double, in a fixed order: the result does not depend on the number of threads. A
// chunk's second pass corrects the mean, which numbers far from 0 need.
//
// If channels come last, a thread walks several chunks of a sample together, 64 places at a time:
// they share cache lines. Each lane's sums are added up in the same order as in contiguous chunks.
#pragma once

#include "backends/cpu/kernels.h"

namespace troika::cpu {

struct ChunkView : ImageView {
  DType dtype = DType::f32;  // of the images' numbers, in bf16 and f16 computed with in f32
  int64_t stride = 0;  // from one place of a chunk to the next; above `block` if channels come last, in blocks of 16
};
ChunkView chunk_view(const TensorType& type, const LayoutPtr& layout);

// Returns the layout for all images of the node: the first input's if the loops can walk it, else
// plain.
LayoutPtr image_layout(const KernelRequest& request);

// Doubles that the sums of chunks take, two for each chunk's channels.
inline int64_t partial_doubles(const ChunkView& v) { return v.n * v.c_blocks * 2 * v.block; }

// Mean and sum of squared differences from it, of each chunk's channels; and of a channel over all
// chunks. Chan, Golub and LeVeque (1979): means and squared differences of parts combine exactly.
struct Moments {
  double count, mean, squares;
};
void find_chunk_moments(const void* x, const ChunkView& v, double* partial);
Moments moments_of(const double* partial, const ChunkView& v, int64_t channel);

// Computes y = (x - mean) * scale + bias of every chunk, plus the residual if there is one, cut at
// 0 if `relu`. mean, scale and bias are [c].
void apply_chunks(const void* x, const void* residual, void* y, const ChunkView& v, const float* mean,
                  const double* scale, const float* bias, bool relu);

// Sums of dz and of dz (x - mean), with dz = dy if y > 0 (y null: always), written if `dz` is not
// null. If `more` is not null, it is added to dy and rounded as an `add` of both rounds. dz may be
// either of them.
struct GradientSums {
  double sum = 0, product = 0;
};
void find_chunk_gradient_sums(const void* x, const void* y, const void* dy, const void* more, void* dz,
                              const ChunkView& v, const float* mean, double* partial);
GradientSums gradient_sums_of(const double* partial, const ChunkView& v, int64_t channel);

// Computes dx = a * dz + b * (x - mean) + c, with dz = dy if y > 0 (y null: always), else 0. mean,
// a, b and c are [c].
void apply_chunk_gradients(const void* x, const void* y, const void* dy, void* dx, const ChunkView& v,
                           const float* mean, const double* a, const double* b, const double* c);

}  // namespace troika::cpu
