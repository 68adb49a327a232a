// embedding and its gradient: rows of a plain table, copied or added up.
#include <algorithm>
#include <cstring>

#include "backends/cpu/kernels.h"
#include "backends/cpu/threads.h"
#include "ops/embedding.h"

namespace troika::cpu {
namespace {

// Returns the row of a token in a table of so many words; -1 outside of the table, and for NaN.
int64_t row_of(int32_t token, int64_t words) { return token >= 0 && token < words ? token : -1; }
int64_t row_of(float token, int64_t words) {
  return token >= 0 && token < static_cast<float>(words) ? row_of(static_cast<int32_t>(token), words) : -1;
}

// Calls `make(zero)` with a zero of the tokens' type.
template <typename Make>
KernelChoice with_tokens(const KernelRequest& request, Make&& make) {
  const bool is_float = request.graph.type(request.node.inputs[embedding::tokens]).dtype == DType::f32;
  return is_float ? make(0.0f) : make(int32_t{0});
}

}  // namespace

// tokens [rows], weight [words, features] -> y [rows, features], of any type.
KernelChoice select_embedding(const CpuDevice&, const KernelRequest& request) {
  const TensorType& weight = request.graph.type(request.node.inputs[embedding::weight]);
  const int64_t rows = request.graph.type(request.node.inputs[embedding::tokens]).shape.elements();
  const int64_t words = weight.shape[0];
  const size_t row_bytes = static_cast<size_t>(weight.shape[1]) * size_of(weight.dtype);
  return with_tokens(request, [&](auto zero) {
    using Token = decltype(zero);
    auto body = [=](void* const* in, void* const* out, void*) {
      const auto* tokens = static_cast<const Token*>(in[embedding::tokens]);
      const auto* table = static_cast<const std::byte*>(in[embedding::weight]);
      auto* y = static_cast<std::byte*>(out[0]);
      parallel_for(rows, 64, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          std::byte* const row = y + static_cast<size_t>(i) * row_bytes;
          const int64_t word = row_of(tokens[i], words);
          if (word >= 0)
            std::memcpy(row, table + static_cast<size_t>(word) * row_bytes, row_bytes);
          else
            std::memset(row, 0, row_bytes);
        }
      });
    };
    return uniform_choice(request, nullptr, "cpu:embedding", make_kernel(body));
  });
}

// tokens [rows], dy [rows, features] -> dweight [words, features]. A thread takes some features of
// all rows, so that each sum is made in the order of rows.
KernelChoice select_embedding_gradient(const CpuDevice&, const KernelRequest& request) {
  static_assert(int{embedding_gradient::tokens} == int{embedding::tokens});
  const int64_t rows = request.graph.type(request.node.inputs[embedding_gradient::tokens]).shape.elements();
  const Shape& weight = request.graph.type(request.node.outputs[0]).shape;
  const int64_t words = weight[0], features = weight[1];
  return with_tokens(request, [&](auto zero) {
    using Token = decltype(zero);
    auto body = [=](void* const* in, void* const* out, void*) {
      const auto* tokens = static_cast<const Token*>(in[embedding_gradient::tokens]);
      const auto* dy = static_cast<const float*>(in[embedding_gradient::dy]);
      auto* dweight = static_cast<float*>(out[0]);
      parallel_for(features, 16, [&](int64_t begin, int64_t end) {
        for (int64_t word = 0; word < words; ++word)
          std::fill(dweight + word * features + begin, dweight + word * features + end, 0.0f);
        for (int64_t i = 0; i < rows; ++i) {
          const int64_t word = row_of(tokens[i], words);
          if (word < 0) continue;
          float* const sum = dweight + word * features;
          const float* const addend = dy + i * features;
          for (int64_t k = begin; k < end; ++k) sum[k] += addend[k];
        }
      });
    };
    return uniform_choice(request, nullptr, "cpu:embedding_gradient", make_kernel(body));
  });
}

}  // namespace troika::cpu
