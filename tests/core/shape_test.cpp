// Tests of shapes and element types.
#include "core/shape.h"

#include <gtest/gtest.h>

#include "core/dtype.h"
#include "core/text.h"
#include "support/throws.h"

namespace troika {
namespace {

TEST(Shape, CountsItsElements) {
  EXPECT_EQ((Shape{2, 3, 4}).elements(), 24);
  EXPECT_EQ(Shape{}.elements(), 1);
  EXPECT_EQ((Shape{5, 0, 7}).elements(), 0);
}

TEST(Shape, TellsWhetherItHasMoreElements) {
  EXPECT_FALSE(Shape({2, 3}).has_more_than(6));
  EXPECT_TRUE(Shape({2, 3}).has_more_than(5));
  EXPECT_TRUE(Shape({int64_t{1} << 62, 4}).has_more_than(int64_t{1} << 40));
  EXPECT_FALSE(Shape({int64_t{1} << 62, 4, 0}).has_more_than(0));
  EXPECT_TRUE(Shape().has_more_than(0));
}

TEST(Shape, PrintsItsSizesInBrackets) {
  EXPECT_EQ(to_string(Shape{2, 3, 4}), "[2, 3, 4]");
  EXPECT_EQ(to_string(Shape{7}), "[7]");
  EXPECT_EQ(to_string(Shape{}), "[]");
}

TEST(Shape, GivesTheSameShapeWithAnotherBatch) {
  const Shape shape{1, 3, 224};
  EXPECT_EQ(shape.with_batch(32), (Shape{32, 3, 224}));
  EXPECT_EQ(shape, (Shape{1, 3, 224}));
}

TEST(CheckedElements, CountsShapesThatFit) {
  EXPECT_EQ(checked_elements({2, 3}, "x"), 6);
  EXPECT_EQ(checked_elements({}, "x"), 1);
  EXPECT_EQ(checked_elements({0, 9}, "x"), 0);
  EXPECT_EQ(checked_elements({int64_t{1} << 60}, "x"), int64_t{1} << 60);
}

TEST(CheckedElements, RefusesAProductThatOverflows) {
  const int64_t large = int64_t{1} << 40;
  EXPECT_THROWS(Status::invalid_argument, "w: shape [0, 1099511627776, 1099511627776] has too many elements",
                checked_elements({0, large, large}, "w"));
  EXPECT_THROWS(Status::invalid_argument, "w: shape [1099511627776, 1099511627776] has too many elements",
                checked_elements({large, large}, "w"));
  EXPECT_THROWS(Status::invalid_argument, "has too many elements",
                checked_elements({INT64_MAX, INT64_MAX, INT64_MAX}, "w"));
}

TEST(CheckedElements, RefusesADimensionBelowZero) {
  EXPECT_THROWS(Status::invalid_argument, "w: shape [2, -1] has a dimension below 0", checked_elements({2, -1}, "w"));
  EXPECT_THROWS(Status::invalid_argument, "below 0", checked_elements({INT64_MIN}, "w"));
}

TEST(CheckedElements, RefusesARankAboveTheLargest) {
  EXPECT_EQ(checked_elements({1, 1, 1, 1, 1, 1, 1, 1}, "x"), 1);
  EXPECT_THROWS(Status::invalid_argument, "x: rank is 9, the largest is 8",
                checked_elements({1, 1, 1, 1, 1, 1, 1, 1, 1}, "x"));
}

TEST(DType, ReadsBackItsOwnName) {
  for (DType dtype : {DType::f32, DType::f64, DType::i32, DType::i64, DType::u8, DType::bf16, DType::f16})
    EXPECT_EQ(parse_dtype(name_of(dtype)), dtype);
}

TEST(DType, TellsWhichNamesThereAre) {
  EXPECT_THROWS(Status::invalid_argument, "dtype: found 'f8', need one of f32, f64, i32, i64, u8, bf16, f16",
                parse_dtype("f8"));
}

TEST(DType, KnowsItsSize) {
  EXPECT_EQ(size_of(DType::u8), 1u);
  EXPECT_EQ(size_of(DType::f32), 4u);
  EXPECT_EQ(size_of(DType::i64), 8u);
  EXPECT_EQ(size_of(DType::bf16), 2u);
  EXPECT_EQ(size_of(DType::f16), 2u);
}

}  // namespace
}  // namespace troika
