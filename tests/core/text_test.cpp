// Tests of text building, lists of names and wildcard patterns.
#include "core/text.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

namespace troika {
namespace {

TEST(Text, ConcatenatesWhatItsArgumentsPrint) { EXPECT_EQ(text("a", 1, 'b', 2.5), "a1b2.5"); }

TEST(Text, PrintsANumberThatIsNoneWithoutASign) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(text(nan, ' ', -nan, ' ', -std::numeric_limits<float>::infinity()), "nan nan -inf");
}

TEST(Text, JoinsItemsWithASeparator) {
  EXPECT_EQ(join(std::vector<int>{1, 2, 3}, ", "), "1, 2, 3");
  EXPECT_EQ(join(std::vector<int>{1}, ", "), "1");
  EXPECT_EQ(join(std::vector<int>{}, ", "), "");
}

TEST(Text, SplitsNamesWithoutSpacesAtTheirEnds) {
  using Names = std::vector<std::string>;
  EXPECT_EQ(split_names("fc.*, body.bias ,a b", ','), (Names{"fc.*", "body.bias", "a b"}));
  EXPECT_EQ(split_names(" , ,", ','), (Names{"", "", ""}));
  EXPECT_EQ(split_names("", ','), Names{""});
}

TEST(Pattern, WithoutWildcardsMatchesItselfAlone) {
  EXPECT_TRUE(matches_pattern("fc.weight", "fc.weight"));
  EXPECT_FALSE(matches_pattern("fc.weight", "fc.weights"));
  EXPECT_FALSE(matches_pattern("fc.weight", "fc.weigh"));
  EXPECT_FALSE(matches_pattern("", "a"));
  EXPECT_TRUE(matches_pattern("", ""));
}

TEST(Pattern, StarStandsForAnyRunOfCharacters) {
  EXPECT_TRUE(matches_pattern("*", ""));
  EXPECT_TRUE(matches_pattern("*.weight", "layer1.0.conv1.weight"));
  EXPECT_TRUE(matches_pattern("layer1.*", "layer1."));
  EXPECT_TRUE(matches_pattern("*conv*weight", "layer1.0.conv1.conv2.weight"));
  EXPECT_FALSE(matches_pattern("*.weight", "layer1.0.conv1.bias"));
  EXPECT_TRUE(matches_pattern("**", "anything"));
}

TEST(Pattern, QuestionMarkStandsForOneCharacter) {
  EXPECT_TRUE(matches_pattern("layer?.0", "layer3.0"));
  EXPECT_FALSE(matches_pattern("layer?.0", "layer.0"));
  EXPECT_FALSE(matches_pattern("layer?.0", "layer12.0"));
  EXPECT_TRUE(matches_pattern("*?", "a"));
  EXPECT_FALSE(matches_pattern("*?", ""));
}

TEST(Pattern, WithManyStarsIsDecidedQuickly) {
  std::string pattern;
  for (int i = 0; i < 50; ++i) pattern += "a*";
  EXPECT_FALSE(matches_pattern(pattern + "b", std::string(2000, 'a')));
}

}  // namespace
}  // namespace troika
