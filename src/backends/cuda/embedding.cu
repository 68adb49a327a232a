// embedding and its gradient: rows of a plain table, copied; and for each word the sum over its
// tokens, in their order.
#include "backends/cuda/early_start.cuh"
#include "backends/cuda/elements.cuh"
#include "backends/cuda/grid.cuh"
#include "backends/cuda/kernels.h"
#include "core/text.h"
#include "ops/embedding.h"

namespace troika::cuda {
namespace {

// Returns the row of a token in a table of so many words; -1 outside of the table, and for NaN.
__device__ inline int64_t row_of(int32_t token, int64_t words) { return token >= 0 && token < words ? token : -1; }
__device__ inline int64_t row_of(float token, int64_t words) {
  return token >= 0 && token < static_cast<float>(words) ? row_of(static_cast<int32_t>(token), words) : -1;
}

// y [rows, features] from the table [words, features].
template <typename Token, typename T>
__global__ void __launch_bounds__(kThreads)
    embedding_kernel(const Token* __restrict__ tokens, const T* __restrict__ table, T* __restrict__ y, int64_t rows,
                     int64_t words, int64_t features) {
  wait_for_kernels_before();
  for (int64_t i = first_index(); i < rows * features; i += index_step()) {
    const int64_t row = i / features, word = row_of(tokens[row], words);
    y[i] = word >= 0 ? table[word * features + i - row * features] : from_float<T>(0.0f);
  }
}

constexpr int kTile = 256;           // tokens that a block looks at together
constexpr int kFeatureThreads = 64;  // of a block: a feature each

// dweight [words, features] from dy [rows, features]. A block takes a word (x) and some features
// (y). It reads all tokens, which are few compared with dy, one tile at a time.
template <typename Token, typename T>
__global__ void __launch_bounds__(kFeatureThreads)
    embedding_gradient_kernel(const Token* __restrict__ tokens, const T* __restrict__ dy, float* __restrict__ dweight,
                              int64_t rows, int64_t words, int64_t features) {
  wait_for_kernels_before();
  __shared__ int64_t tile[kTile];
  const int64_t feature = int64_t{blockIdx.y} * kFeatureThreads + threadIdx.x;
  for (int64_t word = blockIdx.x; word < words; word += gridDim.x) {
    float sum = 0;
    for (int64_t first = 0; first < rows; first += kTile) {
      const int count = static_cast<int>(rows - first < kTile ? rows - first : kTile);
      __syncthreads();  // the tile before has been read
      for (int i = threadIdx.x; i < count; i += kFeatureThreads) tile[i] = row_of(tokens[first + i], words);
      __syncthreads();
      if (feature < features)
        for (int i = 0; i < count; ++i)
          if (tile[i] == word) sum += to_float(dy[(first + i) * features + feature]);
    }
    if (feature < features) dweight[word * features + feature] = sum;
  }
}

// Calls `make(zero)` with a zero of the tokens' type.
template <typename Make>
KernelChoice with_tokens(const TensorType& tokens, Make&& make) {
  return tokens.dtype == DType::f32 ? make(0.0f) : make(int32_t{0});
}

}  // namespace

KernelChoice select_embedding(CudaDevice& device, const KernelRequest& request) {
  const TensorType& weight = input_type(request, embedding::weight);
  const TensorType& tokens = input_type(request, embedding::tokens);
  const int64_t rows = tokens.shape.elements(), words = weight.shape[0], features = weight.shape[1];
  return with_tokens(tokens, [&](auto token) {
    return with_type(weight.dtype, [&](auto zero) {
      using Token = decltype(token);
      using T = decltype(zero);
      auto body = [=](const Arguments& a, cudaStream_t stream) {
        embedding_kernel<Token, T><<<blocks_for(rows * features), kThreads, 0, stream>>>(
            a.in<Token>(embedding::tokens), a.in<T>(embedding::weight), a.out<T>(0), rows, words, features);
      };
      return plain_choice(request, "cuda:own:embedding", make_kernel(device, body));
    });
  });
}

KernelChoice select_embedding_gradient(CudaDevice& device, const KernelRequest& request) {
  constexpr int64_t kMostColumns = 65535;  // of a grid
  const TensorType& tokens = input_type(request, embedding_gradient::tokens);
  const Shape& weight = output_type(request, 0).shape;
  const int64_t rows = tokens.shape.elements(), words = weight[0], features = weight[1];
  const int64_t columns = (features + kFeatureThreads - 1) / kFeatureThreads;
  if (columns > kMostColumns)
    throw Error(Status::unsupported, text(request.node.op, " '", request.node.name, "': has ", features,
                                          " features, GPUs take at most ", kMostColumns * kFeatureThreads));
  const dim3 grid(blocks_for(words, 1), static_cast<unsigned>(columns));
  return with_tokens(tokens, [&](auto token) {
    return with_type(input_type(request, embedding_gradient::dy).dtype, [&](auto zero) {
      using Token = decltype(token);
      using T = decltype(zero);
      auto body = [=](const Arguments& a, cudaStream_t stream) {
        embedding_gradient_kernel<Token, T><<<grid, kFeatureThreads, 0, stream>>>(
            a.in<Token>(embedding_gradient::tokens), a.in<T>(embedding_gradient::dy), a.out<float>(0), rows, words,
            features);
      };
      return plain_choice(request, "cuda:own:embedding_gradient", make_kernel(device, body));
    });
  });
}

}  // namespace troika::cuda
