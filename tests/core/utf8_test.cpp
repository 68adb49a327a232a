// UTF-8 checks and one-line output.
#include "core/utf8.h"

#include <gtest/gtest.h>

namespace troika {
namespace {

TEST(Utf8, AcceptsTheFirstAndLastCharacterOfEachLength) {
  for (const char* text :
       {"", "a", "\x7f", "\u0080", "\u07ff", "\u0800", "\ud7ff", "\ue000", "\uffff", "\U00010000", "\U0010ffff"})
    EXPECT_EQ(find_invalid_utf8(text), std::string_view::npos) << text;
}

TEST(Utf8, FindsOverlongFormsSurrogatesAndCutCharacters) {
  for (const char* text :
       {"a\x80", "a\xc0\x80", "a\xc1\xbf", "a\xe0\x9f\xbf", "a\xed\xa0\x80", "a\xf0\x8f\xbf\xbf", "a\xf4\x90\x80\x80",
        "a\xf8\x88\x80\x80\x80", "a\xff", "a\xc3", "a\xe2\x82", "a\xf0\x9f\x92"})
    EXPECT_EQ(find_invalid_utf8(text), 1u) << text;
}

TEST(Utf8, PrintsControlCharactersAndStrayBytesAsHex) {
  EXPECT_EQ(printable(std::string_view("a\0b\n\x1b[31m\x7f", 10)), "a\\x00b\\x0a\\x1b[31m\\x7f");
  EXPECT_EQ(printable("\u0085\u2028\u2029"), "\\xc2\\x85\\xe2\\x80\\xa8\\xe2\\x80\\xa9");
  EXPECT_EQ(printable("\xff"
                      "caf\u00e9 \U0001F40E"),
            "\\xffcaf\u00e9 \U0001F40E");
}

TEST(Utf8, CutsLongNamesBetweenCharacters) {
  EXPECT_EQ(printable_name(std::string(100, 'x')), std::string(100, 'x'));
  EXPECT_EQ(printable_name(std::string(101, 'x')), std::string(100, 'x') + "...");
  EXPECT_EQ(printable_name(std::string(99, 'x') + "\u00e9y"), std::string(99, 'x') + "...");
}

std::string written(const std::string& text, size_t capacity) {
  std::string buffer(capacity + 1, '#');
  write_printable(text, buffer.data(), capacity);
  EXPECT_EQ(buffer[capacity], '#') << "a byte too many";
  return buffer.c_str();
}

TEST(Utf8, WritesWithoutTheMiddleOfATextThatIsTooLong) {
  EXPECT_EQ(written("", 8), "");
  EXPECT_EQ(written("a\nb", 16), "a\\x0ab");
  EXPECT_EQ(written("0123456789abcde", 16), "0123456789abcde");
  EXPECT_EQ(written("0123456789abcdef", 16), "01234 ... bcdef");
  EXPECT_EQ(written("\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9", 16), "\u00e9\u00e9 ... \u00e9\u00e9");
  EXPECT_EQ(written("\xff\xff\xff\xff\xff", 16), "\\xff ... \\xff");
  for (size_t capacity = 12; capacity < 60; ++capacity)
    for (const char* piece : {"x", "\u00e9", "\xff", "\U0001F40E", "a\xc3\x28"}) {
      std::string text;
      for (int i = 0; i < 40; ++i) text += piece;
      const std::string found = written(text, capacity);
      EXPECT_LT(found.size(), capacity);
      EXPECT_GT(found.size() + 2 * 16 + 2, capacity);
      EXPECT_EQ(find_invalid_utf8(found), std::string_view::npos) << found;
    }
}

}  // namespace
}  // namespace troika
