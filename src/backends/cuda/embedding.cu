// embedding and its gradient: rows of a plain table, copied; and for each word the sum over its
// tokens, in their order.
#include "backends/cuda/elements.cuh"
#include "backends/cuda/grid.cuh"
#include "backends/cuda/kernels.h"
#include "ops/embedding.h"

namespace troika::cuda {
namespace {

// y [rows, features] from the table [words, features].
template <typename T>
__global__ void __launch_bounds__(kThreads)
    embedding_kernel(const int32_t* __restrict__ tokens, const T* __restrict__ table, T* __restrict__ y, int64_t rows,
                     int64_t words, int64_t features) {
  for (int64_t i = first_index(); i < rows * features; i += index_step()) {
    const int64_t row = i / features, token = tokens[row];
    y[i] = token >= 0 && token < words ? table[token * features + i - row * features] : from_float<T>(0.0f);
  }
}

constexpr int kTile = 256;           // tokens that a block looks at together
constexpr int kFeatureThreads = 64;  // of a block: a feature each

// dweight [words, features] from dy [rows, features]. A block takes a word (x) and some features
// (y). It reads all tokens, which are few compared with dy, one tile at a time.
template <typename T>
__global__ void __launch_bounds__(kFeatureThreads)
    embedding_gradient_kernel(const int32_t* __restrict__ tokens, const T* __restrict__ dy, float* __restrict__ dweight,
                              int64_t rows, int64_t words, int64_t features) {
  __shared__ int32_t tile[kTile];
  const int64_t feature = int64_t{blockIdx.y} * kFeatureThreads + threadIdx.x;
  for (int64_t word = blockIdx.x; word < words; word += gridDim.x) {
    float sum = 0;
    for (int64_t first = 0; first < rows; first += kTile) {
      const int count = static_cast<int>(rows - first < kTile ? rows - first : kTile);
      __syncthreads();  // the tile before has been read
      for (int i = threadIdx.x; i < count; i += kFeatureThreads) tile[i] = tokens[first + i];
      __syncthreads();
      if (feature < features)
        for (int i = 0; i < count; ++i)
          if (tile[i] == word) sum += to_float(dy[(first + i) * features + feature]);
    }
    if (feature < features) dweight[word * features + feature] = sum;
  }
}

}  // namespace

KernelChoice select_embedding(CudaDevice& device, const KernelRequest& request) {
  const TensorType& weight = input_type(request, embedding::weight);
  const int64_t rows = input_type(request, embedding::tokens).shape.elements();
  const int64_t words = weight.shape[0], features = weight.shape[1];
  return with_type(weight.dtype, [&](auto zero) {
    using T = decltype(zero);
    auto body = [=](const Arguments& a, cudaStream_t stream) {
      embedding_kernel<T><<<blocks_for(rows * features), kThreads, 0, stream>>>(
          a.in<int32_t>(embedding::tokens), a.in<T>(embedding::weight), a.out<T>(0), rows, words, features);
    };
    return plain_choice(request, "cuda:own:embedding", make_kernel(device, body));
  });
}

KernelChoice select_embedding_gradient(CudaDevice& device, const KernelRequest& request) {
  constexpr int64_t kMostColumns = 65535;  // of a grid
  const int64_t rows = input_type(request, embedding_gradient::tokens).shape.elements();
  const Shape& weight = output_type(request, 0).shape;
  const int64_t words = weight[0], features = weight[1];
  const int64_t columns = (features + kFeatureThreads - 1) / kFeatureThreads;
  if (columns > kMostColumns)
    throw Error(Status::unsupported, text(request.node.op, " '", request.node.name, "': has ", features,
                                          " features, GPUs take at most ", kMostColumns * kFeatureThreads));
  const dim3 grid(blocks_for(words, 1), static_cast<unsigned>(columns));
  return with_type(input_type(request, embedding_gradient::dy).dtype, [&](auto zero) {
    using T = decltype(zero);
    auto body = [=](const Arguments& a, cudaStream_t stream) {
      embedding_gradient_kernel<T><<<grid, kFeatureThreads, 0, stream>>>(a.in<int32_t>(embedding_gradient::tokens),
                                                                         a.in<T>(embedding_gradient::dy),
                                                                         a.out<float>(0), rows, words, features);
    };
    return plain_choice(request, "cuda:own:embedding_gradient", make_kernel(device, body));
  });
}

}  // namespace troika::cuda
