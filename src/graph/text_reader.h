// The words, numbers and attributes of text forms: of graphs, and of the layers in a model file.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/dtype.h"
#include "graph/attributes.h"

namespace troika {

std::string quoted_text(std::string_view value);  // with a backslash before quotes and backslashes
// Returns " {name=value, ...}", sorted by name; empty if there are none.
std::string print_attributes(const Attributes& attributes);

// Reads a text from its beginning to its end. Space between words does not count. Throws
// INVALID_ARGUMENT, which names `what` and the place, at the first thing that does not fit.
class TextReader {
 public:
  // The text is borrowed.
  TextReader(std::string_view source, const char* what) : source_(source), what_(what) {}

  bool peek(char c);
  bool peek_word(std::string_view expected);
  void expect(char c);
  void expect_word(std::string_view expected);
  void expect_end();
  std::string word();
  std::string quoted();  // with a backslash only before quotes and backslashes
  DType dtype();
  int64_t integer();
  std::vector<int64_t> int_list();
  Attributes attributes();  // in braces, or none; no name twice

  size_t next();  // the place of the next character that is no space
  [[noreturn]] void fail_at(size_t place, const std::string& needed) const;
  [[noreturn]] void fail(const std::string& needed) const { fail_at(at_, needed); }

 private:
  Attribute attribute();
  std::string_view word_at(size_t place) const;

  std::string_view source_;
  const char* what_;
  size_t at_ = 0;
};

}  // namespace troika
