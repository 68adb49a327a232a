// Checks, choice and computation of products.
#include "cublaslt_product.h"

#include "matrix_product.h"

namespace emulated_gpu::cublaslt {
namespace {

constexpr int64_t kMostAlignment = 16;
constexpr int64_t kWorkspaceAlignment = 256;
constexpr int64_t kSplit = 128;  // a sum of at least so many products is split

// Returns the largest power of two, up to 16, that divides `bytes`.
uint32_t alignment_of(int64_t bytes) {
  int64_t alignment = kMostAlignment;
  while (bytes % alignment) alignment /= 2;
  return static_cast<uint32_t>(alignment);
}

// Returns the elements column after column, without gaps.
std::vector<float> read(const Layout& layout, const void* matrix, bool tf32) {
  std::vector<float> values(static_cast<size_t>(layout.rows * layout.columns));
  const int64_t step = layout.leading * static_cast<int64_t>(size_of(layout.dtype));
  for (int64_t j = 0; j < layout.columns; ++j)
    load(layout.dtype, static_cast<const std::byte*>(matrix) + j * step, layout.rows,
         &values[static_cast<size_t>(j * layout.rows)]);
  if (tf32) round_to_tf32(values.data(), static_cast<int64_t>(values.size()));
  return values;
}

}  // namespace

DType dtype_of(cudaDataType_t type) {
  switch (type) {
    case CUDA_R_32F: return DType::f32;
    case CUDA_R_16BF: return DType::bf16;
    case CUDA_R_16F: return DType::f16;
    default: throw Refusal{CUBLAS_STATUS_NOT_SUPPORTED};
  }
}

Product product_of(const Operation& op, const Layout& a, const Layout& b, const Layout& c, const Layout& d) {
  Product p{.m = d.rows,
            .n = d.columns,
            .k = 0,
            .a = a,
            .b = b,
            .c = c,
            .d = d,
            .transpose_a = false,
            .transpose_b = false,
            .tf32 = op.compute == CUBLAS_COMPUTE_32F_FAST_TF32,
            .epilogue = op.epilogue()};
  p.transpose_a = op.is_transposed(CUBLASLT_MATMUL_DESC_TRANSA);
  p.transpose_b = op.is_transposed(CUBLASLT_MATMUL_DESC_TRANSB);
  p.k = p.transpose_a ? a.rows : a.columns;
  require((p.transpose_a ? a.columns : a.rows) == p.m, CUBLAS_STATUS_INVALID_VALUE);
  require((p.transpose_b ? b.columns : b.rows) == p.k, CUBLAS_STATUS_INVALID_VALUE);
  require((p.transpose_b ? b.rows : b.columns) == p.n, CUBLAS_STATUS_INVALID_VALUE);
  require(c.rows == d.rows && c.columns == d.columns && c.dtype == d.dtype, CUBLAS_STATUS_INVALID_VALUE);

  // The documented table of types, restricted to f32 sums.
  require(a.dtype == b.dtype, CUBLAS_STATUS_NOT_SUPPORTED);
  require(d.dtype == a.dtype || d.dtype == DType::f32, CUBLAS_STATUS_NOT_SUPPORTED);
  require(!p.tf32 || a.dtype == DType::f32, CUBLAS_STATUS_NOT_SUPPORTED);
  switch (p.epilogue) {
    case CUBLASLT_EPILOGUE_DEFAULT:
    case CUBLASLT_EPILOGUE_RELU: return p;
    case CUBLASLT_EPILOGUE_BIAS:
    case CUBLASLT_EPILOGUE_RELU_BIAS: break;
    // The sums of an operand need a kernel that reads whole vectors. For f32 only tensor cores have
    // such a kernel.
    case CUBLASLT_EPILOGUE_BGRADA:
    case CUBLASLT_EPILOGUE_BGRADB:
      require(p.m % 8 == 0 && p.n % 8 == 0 && (a.dtype != DType::f32 || p.tf32), CUBLAS_STATUS_NOT_SUPPORTED);
      break;
    default: throw Refusal{CUBLAS_STATUS_NOT_SUPPORTED};
  }
  // If the attribute is not set, the vector's type is D's type: the only type that is allowed with
  // these types of matrices.
  const auto type = op.attributes.get<int32_t>(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, -1);
  require(type == -1 || dtype_of(static_cast<cudaDataType_t>(type)) == d.dtype, CUBLAS_STATUS_NOT_SUPPORTED);
  return p;
}

uint32_t alignment_of(const void* p) {
  return alignment_of(static_cast<int64_t>(reinterpret_cast<uintptr_t>(p) % kMostAlignment));
}

std::vector<Algorithm> choose(const Product& p, const Operation& op, uint64_t most_workspace, uint32_t schemes,
                              const uint32_t (&aligned)[4]) {
  Algorithm chosen{.fingerprint = p.fingerprint(),
                   .workspace_bytes = 0,
                   .id = 0,
                   .splits = 1,
                   .scheme = CUBLASLT_REDUCTION_SCHEME_NONE,
                   .alignment_a = 0,
                   .alignment_b = 0,
                   .alignment_c = 0,
                   .alignment_d = 0,
                   .alignment_vector = 0};
  // The least alignment of a matrix, including the columns after the first.
  uint32_t least = static_cast<uint32_t>(kMostAlignment);
  const auto align = [&](const Layout& layout, uint32_t given) {
    const auto element = static_cast<uint32_t>(size_of(layout.dtype));
    require(given >= element, CUBLAS_STATUS_NOT_SUPPORTED);
    least = std::min({least, given, alignment_of(layout.leading * element)});
    return std::min(given, static_cast<uint32_t>(kMostAlignment));
  };
  chosen.alignment_a = align(p.a, aligned[0]);
  chosen.alignment_b = align(p.b, aligned[1]);
  chosen.alignment_c = align(p.c, aligned[2]);
  chosen.alignment_d = align(p.d, aligned[3]);
  if (p.has_vector()) {
    // A null pointer counts as fully aligned.
    chosen.alignment_vector = alignment_of(op.vector());
    require(chosen.alignment_vector >= size_of(p.d.dtype), CUBLAS_STATUS_NOT_SUPPORTED);
  }
  // The parts of a sum are stored in the output's type if that is allowed, which rounds them once
  // more.
  const uint32_t part = schemes & CUBLASLT_REDUCTION_SCHEME_OUTPUT_TYPE    ? CUBLASLT_REDUCTION_SCHEME_OUTPUT_TYPE
                        : schemes & CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE ? CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE
                                                                           : CUBLASLT_REDUCTION_SCHEME_NONE;
  constexpr int32_t kSplits = 3;
  const uint64_t workspace = static_cast<uint64_t>(kSplits * p.m * p.n) * sizeof(float);
  const bool may_split = part != CUBLASLT_REDUCTION_SCHEME_NONE && p.k >= kSplit && workspace <= most_workspace;
  std::vector<Algorithm> all;
  for (const auto& [id, alignment] : {std::pair{66, kMostAlignment}, {21, int64_t{4}}, {13, int64_t{1}}}) {
    if (least < alignment) continue;
    chosen.id = id;
    if (may_split) {
      all.push_back(chosen);
      all.back().splits = kSplits;
      all.back().scheme = static_cast<int32_t>(part);
      all.back().workspace_bytes = workspace;
    }
    all.push_back(chosen);
  }
  return all;
}

void check_memory(const Call& call, size_t workspace_bytes) {
  const Product& p = call.product;
  const Algorithm& algorithm = call.algorithm;
  const auto invalid = [](bool fact) { require(fact, CUBLAS_STATUS_INVALID_VALUE); };
  invalid(call.a && call.b && call.d && (call.c || call.beta == 0));
  invalid(is_aligned(call.a, algorithm.alignment_a) && is_aligned(call.b, algorithm.alignment_b) &&
          is_aligned(call.d, algorithm.alignment_d));
  invalid(call.beta == 0 || is_aligned(call.c, algorithm.alignment_c));
  invalid(algorithm.workspace_bytes <= workspace_bytes);
  invalid(algorithm.workspace_bytes == 0 || (call.workspace && is_aligned(call.workspace, kWorkspaceAlignment)));

  const Span a{call.a, p.a.bytes()}, b{call.b, p.b.bytes()}, c{call.c, call.beta == 0 ? 0 : p.c.bytes()},
      d{call.d, p.d.bytes()};
  const Span workspace{call.workspace, static_cast<int64_t>(algorithm.workspace_bytes)};
  for (const Span& read_or_written : {a, b, c, d}) invalid(!overlap(read_or_written, workspace));
  for (const Span& read : {a, b}) invalid(!overlap(read, d));
  invalid(!overlap(c, d) || (call.c == call.d && p.c.leading == p.d.leading));
  if (!p.has_vector()) return;
  invalid(call.vector && is_aligned(call.vector, algorithm.alignment_vector));
  const Span vector{call.vector, p.vector_length() * static_cast<int64_t>(size_of(p.d.dtype))};
  invalid(!overlap(vector, d) && !overlap(vector, workspace));
  if (p.epilogue & kGradients) invalid(!overlap(vector, a) && !overlap(vector, b));
}

void compute(const Call& call) {
  const Product& p = call.product;
  fill_with_garbage(call.workspace, static_cast<int64_t>(call.algorithm.workspace_bytes));
  const std::vector<float> a = read(p.a, call.a, p.tf32), b = read(p.b, call.b, p.tf32);
  // op(A) and op(B), as views of the matrices that were read.
  const Matrix left = p.transpose_a ? Matrix{a.data(), p.a.rows, 1} : Matrix{a.data(), 1, p.a.rows};
  const Matrix right = p.transpose_b ? Matrix{b.data(), p.b.rows, 1} : Matrix{b.data(), 1, p.b.rows};

  // D is column-major, that is, a row-major D transposed = op(B) transposed * op(A) transposed.
  std::vector<float> d(static_cast<size_t>(p.m * p.n)), part;
  const int64_t split = (p.k + call.algorithm.splits - 1) / call.algorithm.splits;
  for (int64_t first = 0; first < p.k; first += split) {
    part.assign(d.size(), 0);
    multiply_add(p.n, p.m, std::min(split, p.k - first), {right.data + first * right.row, right.column, right.row},
                 {left.data + first * left.column, left.column, left.row}, part.data(), p.m, 256);
    for (size_t i = 0; i < d.size(); ++i)
      d[i] += call.algorithm.scheme == CUBLASLT_REDUCTION_SCHEME_OUTPUT_TYPE ? rounded(p.d.dtype, part[i]) : part[i];
  }

  const std::vector<float> c = call.beta != 0 ? read(p.c, call.c, false) : std::vector<float>();
  std::vector<float> bias(p.epilogue & kWithBias ? static_cast<size_t>(p.m) : 0);
  if (!bias.empty()) load(p.d.dtype, call.vector, p.m, bias.data());
  for (int64_t j = 0; j < p.n; ++j)
    for (int64_t i = 0; i < p.m; ++i) {
      float& v = d[static_cast<size_t>(j * p.m + i)];
      v = call.alpha * v + (c.empty() ? 0 : call.beta * c[static_cast<size_t>(j * p.m + i)]) +
          (bias.empty() ? 0 : bias[static_cast<size_t>(i)]);
      if (p.epilogue & kWithRelu && !(v > 0)) v = 0;  // also if v is NaN
    }
  if (p.epilogue & kGradients) {
    const bool of_a = p.epilogue & CUBLASLT_EPILOGUE_BGRADA;
    std::vector<float> sums(static_cast<size_t>(p.vector_length()));
    for (int64_t i = 0; i < p.vector_length(); ++i)
      for (int64_t k = 0; k < p.k; ++k)
        sums[static_cast<size_t>(i)] +=
            of_a ? left.data[i * left.row + k * left.column] : right.data[k * right.row + i * right.column];
    store(p.d.dtype, sums.data(), p.vector_length(), call.vector);
  }
  for (int64_t j = 0; j < p.n; ++j)
    store(p.d.dtype, &d[static_cast<size_t>(j * p.m)], p.m,
          static_cast<std::byte*>(call.d) + j * p.d.leading * static_cast<int64_t>(size_of(p.d.dtype)));
}

}  // namespace emulated_gpu::cublaslt
