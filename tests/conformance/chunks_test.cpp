// The CPU's loops of batch_norm2d on numbers that are no usual ones.
#include "backends/cpu/batch_norm2d_chunks.h"

#include <gtest/gtest.h>

#include "core/float16.h"
#include "support/test_device.h"

namespace troika::cpu {
namespace {

// NaN lets the gradient pass, 0 and -0 do not.
TEST(Chunks, CutTheGradientByEveryNumberOf16BitsAsByAFloat) {
  if (!is_on_cpu()) GTEST_SKIP() << "these are loops of the CPU, tested is " << test_device();
  constexpr int64_t kNumbers = 1 << 16;
  for (const DType dtype : {DType::bf16, DType::f16}) {
    const ChunkView view = chunk_view({dtype, {1, 1, 256, 256}}, nullptr);
    const uint16_t three = dtype == DType::bf16 ? bf16_of_float(3) : f16_of_float(3);
    std::vector<uint16_t> x(kNumbers), y(kNumbers), dy(kNumbers, three), dz(kNumbers, 1), dx(kNumbers, 1);
    for (int64_t i = 0; i < kNumbers; ++i) y[static_cast<size_t>(i)] = static_cast<uint16_t>(i);
    std::vector<double> partial(static_cast<size_t>(partial_doubles(view)));
    const float mean = 0;
    const double a = 1, b = 0, c = 0;
    find_chunk_gradient_sums(x.data(), y.data(), dy.data(), nullptr, dz.data(), view, &mean, partial.data());
    apply_chunk_gradients(x.data(), y.data(), dy.data(), dx.data(), view, &mean, &a, &b, &c);
    int64_t passed = 0;
    for (size_t i = 0; i < y.size(); ++i) {
      const float number = dtype == DType::bf16 ? float_of_bf16(y[i]) : float_of_f16(y[i]);
      const uint16_t expected = number <= 0 ? 0 : three;
      ASSERT_EQ(dz[i], expected) << name_of(dtype) << " bits " << i;
      ASSERT_EQ(dx[i], expected) << name_of(dtype) << " bits " << i;
      passed += expected != 0;
    }
    EXPECT_EQ(gradient_sums_of(partial.data(), view, 0).sum, 3.0 * static_cast<double>(passed));
  }
}

}  // namespace
}  // namespace troika::cpu
