// The CPU's loops of batch_norm2d: every number of 16 bits, and layouts.
#include "backends/cpu/batch_norm2d_chunks.h"

#include <gtest/gtest.h>

#include <array>

#include "backends/cpu/onednn_layout.h"
#include "conformance/random.h"
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

// An image as the loops read and write it.
template <typename T>
class Image {
 public:
  static constexpr int64_t kSamples = 64, kChannels = 80, kPixels = 9 * 15;

  explicit Image(bool channels_last) : channels_last_(channels_last), numbers_(kSamples * kChannels * kPixels) {}
  static ChunkView view(DType dtype, bool channels_last) {
    using Tag = dnnl::memory::format_tag;
    const Shape shape{kSamples, kChannels, 9, 15};
    const Desc desc(shape.dims(), dnnl::memory::data_type::f32, channels_last ? Tag::nhwc : Tag::nChw16c);
    return chunk_view({dtype, shape}, layout_of(desc, shape));
  }

  T& at(int64_t n, int64_t channel, int64_t pixel) {
    const int64_t i = channels_last_ ? (n * kPixels + pixel) * kChannels + channel
                                     : ((n * kChannels + channel / 16 * 16) * kPixels) + pixel * 16 + channel % 16;
    return numbers_[static_cast<size_t>(i)];
  }
  template <typename Draw>
  void fill(Draw draw) {
    for (int64_t n = 0; n < kSamples; ++n)
      for (int64_t channel = 0; channel < kChannels; ++channel)
        for (int64_t pixel = 0; pixel < kPixels; ++pixel) at(n, channel, pixel) = draw();
  }
  bool operator==(Image& other) {
    bool is_equal = true;
    for (int64_t n = 0; n < kSamples; ++n)
      for (int64_t channel = 0; channel < kChannels; ++channel)
        for (int64_t pixel = 0; pixel < kPixels; ++pixel)
          is_equal = is_equal && at(n, channel, pixel) == other.at(n, channel, pixel);
    return is_equal;
  }
  T* data() { return numbers_.data(); }

 private:
  const bool channels_last_;
  std::vector<T> numbers_;
};

// All results of the loops for one layout.
template <typename T>
struct Results {
  Image<T> y, dz, dx, cut_dx;
  std::vector<double> moments, sums;

  Results(DType dtype, bool channels_last, T (*rounded)(float))
      : y(channels_last), dz(channels_last), dx(channels_last), cut_dx(channels_last) {
    const ChunkView view = Image<T>::view(dtype, channels_last);
    Random random(3);
    Image<T> x(channels_last), residual(channels_last), dy(channels_last), more(channels_last);
    for (Image<T>* image : {&x, &residual, &dy, &more})
      image->fill([&] { return rounded(static_cast<float>(random.normal())); });
    std::array<std::vector<float>, 2> floats;
    std::array<std::vector<double>, 3> doubles;
    for (auto& values : floats)
      for (int64_t c = 0; c < Image<T>::kChannels; ++c) values.push_back(static_cast<float>(random.normal()));
    for (auto& values : doubles)
      for (int64_t c = 0; c < Image<T>::kChannels; ++c) values.push_back(random.normal());
    const float *mean = floats[0].data(), *bias = floats[1].data();
    moments.resize(static_cast<size_t>(partial_doubles(view)));
    sums = moments;
    find_chunk_moments(x.data(), view, moments.data());
    apply_chunks(x.data(), residual.data(), y.data(), view, mean, doubles[0].data(), bias, true);
    find_chunk_gradient_sums(x.data(), y.data(), dy.data(), more.data(), dz.data(), view, mean, sums.data());
    apply_chunk_gradients(x.data(), nullptr, dz.data(), dx.data(), view, mean, doubles[0].data(), doubles[1].data(),
                          doubles[2].data());
    apply_chunk_gradients(x.data(), y.data(), dy.data(), cut_dx.data(), view, mean, doubles[0].data(),
                          doubles[1].data(), doubles[2].data());
  }
};

template <typename T>
void expect_equal_layouts(DType dtype, T (*rounded)(float)) {
  Results<T> blocked(dtype, false, rounded), last(dtype, true, rounded);
  EXPECT_EQ(last.moments, blocked.moments);
  EXPECT_EQ(last.sums, blocked.sums);
  EXPECT_TRUE(last.y == blocked.y);
  EXPECT_TRUE(last.dz == blocked.dz);
  EXPECT_TRUE(last.dx == blocked.dx);
  EXPECT_TRUE(last.cut_dx == blocked.cut_dx);
  EXPECT_NE(last.moments[0], 0);
  EXPECT_NE(last.sums[0], 0);
}

// Sums add up in the same order, although chunks with channels last are walked piece by piece.
TEST(Chunks, HaveTheSameBitsWithChannelsLast) {
  if (!is_on_cpu()) GTEST_SKIP() << "these are loops of the CPU, tested is " << test_device();
  expect_equal_layouts<float>(DType::f32, [](float v) { return v; });
  expect_equal_layouts<uint16_t>(DType::bf16, [](float v) { return bf16_of_float(v); });
  expect_equal_layouts<uint16_t>(DType::f16, [](float v) { return f16_of_float(v); });
}

// Numbers far from 0: sums of a chunk in single precision would shift the mean by some units of its
// last place, and with the mean every result.
TEST(Chunks, FindTheMomentsOfNumbersFarFromZero) {
  if (!is_on_cpu()) GTEST_SKIP() << "these are loops of the CPU, tested is " << test_device();
  using TestedImage = Image<float>;
  constexpr double kOffset = 1000, kCount = TestedImage::kSamples * TestedImage::kPixels;
  for (const bool channels_last : {false, true}) {
    const ChunkView view = TestedImage::view(DType::f32, channels_last);
    Random random(5);
    TestedImage x(channels_last);
    x.fill([&] { return static_cast<float>(kOffset + random.normal()); });
    std::vector<double> partial(static_cast<size_t>(partial_doubles(view)));
    find_chunk_moments(x.data(), view, partial.data());
    for (int64_t channel = 0; channel < TestedImage::kChannels; ++channel) {
      double sum = 0, squares = 0;
      for (int64_t n = 0; n < TestedImage::kSamples; ++n)
        for (int64_t pixel = 0; pixel < TestedImage::kPixels; ++pixel) {
          const double difference = x.at(n, channel, pixel) - kOffset;
          sum += difference;
          squares += difference * difference;
        }
      const double mean = kOffset + sum / kCount;
      squares -= sum * sum / kCount;
      const Moments found = moments_of(partial.data(), view, channel);
      EXPECT_NEAR(found.mean, mean, kOffset * 0x1p-26) << "channel " << channel << ", last " << channels_last;
      EXPECT_NEAR(found.squares, squares, 1e-5 * squares) << "channel " << channel << ", last " << channels_last;
    }
  }
}

}  // namespace
}  // namespace troika::cpu
