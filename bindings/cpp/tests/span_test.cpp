// Views and short lists.
#include "tests.h"

#include <array>
#include <list>
#include <numeric>
#include <span>

namespace {

static_assert(std::is_convertible_v<std::vector<float>&, Span<float>>);
static_assert(std::is_convertible_v<const std::vector<float>&, Span<const float>>);
static_assert(!std::is_convertible_v<const std::vector<float>&, Span<float>>);
static_assert(std::is_convertible_v<std::array<int, 3>&, Span<const int>>);
static_assert(std::is_convertible_v<int (&)[3], Span<int>>);
static_assert(std::is_convertible_v<std::span<float>, Span<float>>);
static_assert(std::is_convertible_v<Span<float>, Span<const float>>);
static_assert(std::is_convertible_v<Span<const float>, std::span<const float>>);
static_assert(!std::is_convertible_v<std::vector<double>&, Span<const float>>);
static_assert(!std::is_convertible_v<std::list<float>&, Span<const float>>);

static_assert(std::is_convertible_v<const std::vector<double>&, Elements>);
static_assert(std::is_convertible_v<std::string_view, Elements>);
static_assert(!std::is_convertible_v<const char (&)[4], Elements>, "a literal ends with a NUL");
static_assert(!std::is_convertible_v<const std::vector<float>&, MutableElements>);
static_assert(!std::is_convertible_v<std::vector<unsigned>&, Elements>);
static_assert(!std::is_convertible_v<std::vector<std::string>&, Elements>);

static_assert(dtype_of<float>() == Dtype::f32 && dtype_of<double>() == Dtype::f64 && dtype_of<bool>() == Dtype::bool_);
static_assert(dtype_of<long long>() == Dtype::i64 && dtype_of<std::int32_t>() == Dtype::i32);
static_assert(dtype_of<std::int16_t>() == Dtype::i16 && dtype_of<signed char>() == Dtype::i8);
static_assert(dtype_of<char>() == Dtype::u8 && dtype_of<std::byte>() == Dtype::u8);

TEST(Span, ViewsContainersAndLists) {
  const std::vector<int> values = {1, 2, 3, 4};
  const Span<const int> all = values, middle = all.subspan(1, 2);
  EXPECT_EQ(all.data(), values.data());
  EXPECT_EQ(std::vector<int>(middle.begin(), middle.end()), (std::vector<int>{2, 3}));
  EXPECT_EQ(middle[1], 3);
  EXPECT_FALSE(middle.empty());
  EXPECT_TRUE(Span<int>().empty());
  const auto sum = [](Span<const std::int64_t> list) {
    return std::accumulate(list.begin(), list.end(), std::int64_t{0});
  };
  EXPECT_EQ(sum({1, 28, 28}), 57);
  EXPECT_EQ(sum({}), 0);
}

TEST(Elements, KnowTheirType) {
  const std::vector<std::int64_t> labels = {7, 8};
  const Elements elements = labels;
  EXPECT_EQ(elements.dtype(), Dtype::i64);
  EXPECT_EQ(elements.size(), 2u);
  EXPECT_EQ(elements.size_bytes(), 16);
  EXPECT_EQ(elements.as<std::int64_t>()[1], 8);
  expect_misuse<std::invalid_argument>("Elements: they are i64, wanted f32", [&] { elements.as<float>(); });
  const std::uint16_t halves[] = {0x3f80, 0x4000};
  const Elements bf16(Dtype::bf16, halves, 2);
  EXPECT_EQ(bf16.size_bytes(), 4);
  Floats written(2);
  MutableElements(written).as<float>()[1] = 5.0f;
  EXPECT_EQ(written, (Floats{0.0f, 5.0f}));
}

TEST(Elements, SizesAreThoseOfTheTypes) {
  const Dtype one[] = {Dtype::u8, Dtype::i8, Dtype::bool_, Dtype::f8_e4m3, Dtype::f8_e5m2};
  const Dtype two[] = {Dtype::bf16, Dtype::f16, Dtype::i16}, four[] = {Dtype::f32, Dtype::i32};
  for (const Dtype dtype : one) EXPECT_EQ(size_of(dtype), 1);
  for (const Dtype dtype : two) EXPECT_EQ(size_of(dtype), 2);
  for (const Dtype dtype : four) EXPECT_EQ(size_of(dtype), 4);
  for (const Dtype dtype : {Dtype::f64, Dtype::i64}) EXPECT_EQ(size_of(dtype), 8);
  EXPECT_EQ(size_of(Dtype{}), 0);
}

TEST(ShortList, KeepsAtMostItsCapacity) {
  const Dims image = {1, 28, 28};
  EXPECT_EQ(image.size(), 3u);
  EXPECT_EQ(image[2], 28);
  EXPECT_EQ(image, (Dims{1, 28, 28}));
  EXPECT_NE(image, (Dims{1, 28}));
  EXPECT_TRUE(Dims().empty());
  EXPECT_EQ(Dims({1, 2, 3, 4, 5, 6, 7, 8, 9}).size(), 8u);
  EXPECT_EQ(Span<const std::int64_t>(image).data(), image.data());
}

TEST(Enums, HaveNames) {
  EXPECT_STREQ(to_string(Loss::cross_entropy), "cross_entropy");
  EXPECT_STREQ(to_string(Dtype::bool_), "bool");
  EXPECT_STREQ(to_string(LayerSchedule::one_f_one_b), "one_f_one_b");
  EXPECT_STREQ(to_string(Loss{}), "?");
  EXPECT_STREQ(status_name(Status::busy), "TROIKA_ERROR_BUSY");
  EXPECT_EQ(static_cast<int>(Status::callback), TROIKA_ERROR_CALLBACK);
}

}  // namespace
