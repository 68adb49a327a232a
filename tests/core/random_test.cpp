// Tests of the counter-based random numbers.
#include "core/random.h"

#include <gtest/gtest.h>

#include <set>

namespace troika {
namespace {

using Block = std::array<uint32_t, 4>;

// The vectors of Random123's kat_vectors for philox4x32 with 10 rounds.
TEST(Philox, GivesTheKnownAnswerForZeros) {
  EXPECT_EQ(philox(0, 0, 0), (Block{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
}

TEST(Philox, GivesTheKnownAnswerForOnes) {
  EXPECT_EQ(philox(~uint64_t{0}, ~uint64_t{0}, ~uint64_t{0}), (Block{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
}

TEST(Philox, GivesTheKnownAnswerForDigitsOfPi) {
  EXPECT_EQ(philox(0x299f31d0a4093822, 0x85a308d3243f6a88, 0x0370734413198a2e),
            (Block{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Philox, DependsOnEveryPartOfKeyAndCounter) {
  std::set<Block> blocks;
  for (int bit = 0; bit < 64; ++bit) {
    blocks.insert(philox(uint64_t{1} << bit, 0, 0));
    blocks.insert(philox(0, uint64_t{1} << bit, 0));
    blocks.insert(philox(0, 0, uint64_t{1} << bit));
  }
  EXPECT_EQ(blocks.size(), 192u);
}

TEST(Unit, FloatLiesFromZeroToBelowOne) {
  EXPECT_EQ(to_unit_float(0), 0.0f);
  EXPECT_LT(to_unit_float(UINT32_MAX), 1.0f);
  EXPECT_EQ(to_unit_float(0x80000000u), 0.5f);
}

TEST(Unit, DoubleLiesStrictlyBetweenZeroAndOne) {
  EXPECT_GT(to_unit_double(0, 0), 0.0);
  EXPECT_LT(to_unit_double(UINT32_MAX, UINT32_MAX), 1.0);
}

// From the FNV authors' test vectors.
TEST(HashName, IsFnv1a) {
  EXPECT_EQ(hash_name(""), 0xcbf29ce484222325u);
  EXPECT_EQ(hash_name("a"), 0xaf63dc4c8601ec8cu);
  EXPECT_EQ(hash_name("foobar"), 0x85944171f73967e8u);
}

}  // namespace
}  // namespace troika
