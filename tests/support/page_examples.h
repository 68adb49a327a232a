// The examples of a page of the documentation, which a test has word for word.
#pragma once

#include <gtest/gtest.h>

#include <cctype>
#include <fstream>
#include <sstream>
#include <string>

namespace troika::test {

// Runs of space become one: an example is indented otherwise in a function.
inline std::string file_with_single_spaces(const std::string& path) {
  std::ifstream file(TROIKA_SOURCE_DIR + path);
  std::string all;
  for (std::string word; file >> word;) all += word + ' ';
  return all;
}

// Expects that `code` has all examples in C of `page`. Returns their number.
inline int expect_examples(const std::string& page, const std::string& code) {
  const std::string text = file_with_single_spaces(page), source = file_with_single_spaces(code);
  const std::string begin = "```c ", end = "```";
  int examples = 0;
  for (size_t at = text.find(begin); at != std::string::npos; at = text.find(begin, at)) {
    at += begin.size();
    const std::string example = text.substr(at, text.find(end, at) - at);
    EXPECT_NE(source.find(example), std::string::npos) << code << " lacks this example of " << page << ": " << example;
    at += example.size() + end.size();
    ++examples;
  }
  return examples;
}

}  // namespace troika::test
