// Reorders between plain images and those stored channels last: batched transposes.
#include "backends/cuda/cuda_device.h"
#include "backends/cuda/early_start.cuh"
#include "backends/cuda/grid.cuh"
#include "backends/cuda/kernels.h"
#include "core/text.h"

namespace troika::cuda {
namespace {

constexpr int kTile = 32, kTileRows = 8, kTileThreads = kTile * kTileRows;  // a block moves a square, 8 rows at a time

// [batch, rows, columns] -> [batch, columns, rows], reading and writing along lines of a tile.
template <typename T>
__global__ void __launch_bounds__(kTileThreads)
    transpose_kernel(const T* __restrict__ x, T* __restrict__ y, int64_t batch, int64_t rows, int64_t columns) {
  wait_for_kernels_before();
  __shared__ T tile[kTile][kTile + 1];  // one more, so that a column's numbers are in different banks
  const int64_t down = (rows + kTile - 1) / kTile, across = (columns + kTile - 1) / kTile;
  for (int64_t t = blockIdx.x; t < batch * down * across; t += gridDim.x) {
    const int64_t image = t / across / down * rows * columns, first_row = t / across % down * kTile,
                  first_column = t % across * kTile;
    for (int k = static_cast<int>(threadIdx.y); k < kTile; k += kTileRows) {
      const int64_t row = first_row + k, column = first_column + threadIdx.x;
      if (row < rows && column < columns) tile[k][threadIdx.x] = x[image + row * columns + column];
    }
    __syncthreads();
    for (int k = static_cast<int>(threadIdx.y); k < kTile; k += kTileRows) {
      const int64_t row = first_row + threadIdx.x, column = first_column + k;
      if (row < rows && column < columns) y[image + column * rows + row] = tile[threadIdx.x][k];
    }
    __syncthreads();  // the next tile overwrites this one
  }
}

// How to step through the source and the target of a transpose whose matrices are long one way and
// short the other.
struct Strides {
  int64_t along, across;  // to the next element the long way, and the short way
};

// The same if one side is too short for tiles. A thread takes a line of the short side:
// neighbouring threads access neighbouring addresses on one end, and share the cache's lines on the
// other.
template <typename T>
__global__ void __launch_bounds__(kThreads)
    transpose_short_kernel(const T* __restrict__ x, T* __restrict__ y, int64_t batch, int64_t length, int width,
                           Strides source, Strides target) {
  wait_for_kernels_before();
  for (int64_t i = first_index(); i < batch * length; i += index_step()) {
    const int64_t image = i / length * length * width, along = i % length;
    const T* from = x + image + along * source.along;
    T* to = y + image + along * target.along;
#pragma unroll 4
    for (int k = 0; k < width; ++k) to[k * target.across] = from[k * source.across];
  }
}

template <typename T>
std::unique_ptr<Kernel> make_transpose(const CudaDevice& device, int64_t batch, int64_t rows, int64_t columns) {
  return make_kernel(device, [=](const Arguments& a, cudaStream_t stream) {
    const int64_t tiles = batch * ((rows + kTile - 1) / kTile) * ((columns + kTile - 1) / kTile);
    transpose_kernel<<<blocks_for(tiles, 1), dim3(kTile, kTileRows), 0, stream>>>(a.in<T>(0), a.out<T>(0), batch, rows,
                                                                                  columns);
  });
}

template <typename T>
std::unique_ptr<Kernel> make_transpose_short(const CudaDevice& device, int64_t batch, int64_t rows, int64_t columns) {
  const bool is_wide = columns >= rows;
  const int64_t length = is_wide ? columns : rows;
  const auto width = static_cast<int>(is_wide ? rows : columns);
  const Strides source = is_wide ? Strides{1, columns} : Strides{columns, 1},
                target = is_wide ? Strides{rows, 1} : Strides{1, rows};
  return make_kernel(device, [=](const Arguments& a, cudaStream_t stream) {
    transpose_short_kernel<<<blocks_for(batch * length), kThreads, 0, stream>>>(a.in<T>(0), a.out<T>(0), batch, length,
                                                                                width, source, target);
  });
}

template <typename T>
std::unique_ptr<Kernel> make_reorder(const CudaDevice& device, int64_t batch, int64_t rows, int64_t columns) {
  constexpr int64_t kShort = 16;  // below, most of a tile would be empty
  return std::min(rows, columns) < kShort ? make_transpose_short<T>(device, batch, rows, columns)
                                          : make_transpose<T>(device, batch, rows, columns);
}

std::unique_ptr<Kernel> make_copy(const CudaDevice& device, size_t bytes) {
  return make_kernel(device, [bytes](const Arguments& a, cudaStream_t stream) {
    check_launch(cudaMemcpyAsync(a.outputs[0], a.inputs[0], bytes, cudaMemcpyDeviceToDevice, stream));
  });
}

}  // namespace

KernelChoice CudaDevice::select_reorder(const TensorType& type, const LayoutPtr& from, const LayoutPtr& to) {
  KernelChoice choice;
  choice.input_layouts = {from};
  choice.output_layouts = {to};
  if (same_layout(from, to)) {
    choice.name = "cuda:copy";
    choice.kernel = make_copy(*this, type.bytes());
    return choice;
  }
  for (const LayoutPtr& layout : {from, to})
    if (layout && !layout->equals(NhwcLayout(type)))
      throw Error(Status::internal, text("reorder of ", name_of(type.dtype), type.shape, " on ", id(), ": layout ",
                                         layout->name(), ", need plain or nhwc of that shape"));
  const Shape& shape = type.shape;
  const bool to_nhwc = to != nullptr;
  const int64_t batch = shape[0], channels = shape[1], pixels = shape[2] * shape[3];
  const int64_t rows = to_nhwc ? channels : pixels, columns = to_nhwc ? pixels : channels;
  choice.name = to_nhwc ? "cuda:own:nchw_to_nhwc" : "cuda:own:nhwc_to_nchw";
  switch (size_of(type.dtype)) {
    case 1: choice.kernel = make_reorder<uint8_t>(*this, batch, rows, columns); break;
    case 2: choice.kernel = make_reorder<uint16_t>(*this, batch, rows, columns); break;
    case 4: choice.kernel = make_reorder<uint32_t>(*this, batch, rows, columns); break;
    default: choice.kernel = make_reorder<uint64_t>(*this, batch, rows, columns); break;
  }
  return choice;
}

}  // namespace troika::cuda
