// Reading and printing the parts of text forms.
#include "graph/text_reader.h"

#include <cctype>
#include <charconv>

#include "core/error.h"
#include "core/text.h"
#include "core/utf8.h"

namespace troika {
namespace {

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

std::string print_attribute(const Attribute& attribute) {
  if (auto* i = std::get_if<int64_t>(&attribute)) return std::to_string(*i);
  if (auto* list = std::get_if<std::vector<int64_t>>(&attribute)) return text('[', join(*list, ", "), ']');
  if (auto* word = std::get_if<std::string>(&attribute)) return quoted_text(*word);
  // The shortest decimal that reads back as the same number, with a point so that it stays a real.
  char buffer[40];
  auto end = std::to_chars(buffer, buffer + sizeof buffer, std::get<double>(attribute)).ptr;
  std::string number(buffer, end);
  return number.find_first_of(".einf") == std::string::npos ? number + ".0" : number;
}

}  // namespace

std::string quoted_text(std::string_view value) {
  std::string out = "\"";
  for (char c : value) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + '"';
}

std::string print_attributes(const Attributes& attributes) {
  std::string out;
  for (const auto& [name, attribute] : attributes.items())
    out += text(out.empty() ? " {" : ", ", name, '=', print_attribute(attribute));
  return out.empty() ? out : out + '}';
}

bool TextReader::peek(char c) {
  const size_t at = next();
  return at < source_.size() && source_[at] == c;
}

bool TextReader::peek_word(std::string_view expected) { return word_at(next()) == expected; }

void TextReader::expect(char c) {
  if (!peek(c)) fail(text("'", c, "'"));
  ++at_;
}

void TextReader::expect_word(std::string_view expected) {
  if (!peek_word(expected)) fail(text("'", expected, "'"));
  at_ += expected.size();
}

void TextReader::expect_end() {
  if (next() < source_.size()) fail("the end");
}

std::string TextReader::word() {
  const std::string_view found = word_at(next());
  if (found.empty()) fail("a word");
  at_ += found.size();
  return std::string(found);
}

std::string TextReader::quoted() {
  expect('"');
  std::string result;
  for (; at_ < source_.size() && source_[at_] != '"'; ++at_) {
    if (source_[at_] == '\\') {
      ++at_;
      if (at_ == source_.size() || (source_[at_] != '"' && source_[at_] != '\\')) fail("'\"' or '\\' after a backslash");
    }
    result += source_[at_];
  }
  if (at_ == source_.size()) fail("a closing quote");
  ++at_;
  return result;
}

DType TextReader::dtype() {
  const size_t begin = next();
  const std::string name = word();
  try {
    return parse_dtype(name);
  } catch (const Error&) {
    fail_at(begin, "a dtype such as f32");
  }
}

int64_t TextReader::integer() {
  next();
  int64_t value = 0;
  const char* end = source_.data() + source_.size();
  const auto [stop, error] = std::from_chars(source_.data() + at_, end, value);
  if (error != std::errc()) fail("an integer");
  at_ = static_cast<size_t>(stop - source_.data());
  return value;
}

std::vector<int64_t> TextReader::int_list() {
  std::vector<int64_t> list;
  expect('[');
  while (!peek(']')) {
    list.push_back(integer());
    if (peek(',')) expect(',');
  }
  expect(']');
  return list;
}

Attributes TextReader::attributes() {
  Attributes attributes;
  if (!peek('{')) return attributes;
  expect('{');
  while (!peek('}')) {
    const size_t begin = next();
    const std::string name = word();
    if (attributes.has(name)) fail_at(begin, "an attribute that the braces do not have yet");
    expect('=');
    attributes.set(name, attribute());
    if (peek(',')) expect(',');
  }
  expect('}');
  return attributes;
}

size_t TextReader::next() {
  while (at_ < source_.size() && std::isspace(static_cast<unsigned char>(source_[at_]))) ++at_;
  return at_;
}

void TextReader::fail_at(size_t place, const std::string& needed) const {
  throw Error(Status::invalid_argument, text(what_, ": found '", printable(source_.substr(place, 20)),
                                             "' at character ", place, ", need ", needed));
}

Attribute TextReader::attribute() {
  if (peek('"')) return quoted();
  if (peek('[')) return int_list();
  size_t end = next();
  while (end < source_.size() && (std::isalnum(static_cast<unsigned char>(source_[end])) ||
                                  std::string_view("+-.").find(source_[end]) != std::string_view::npos))
    ++end;
  const std::string_view number = source_.substr(at_, end - at_);
  if (number.find_first_of(".einf") == std::string_view::npos) return integer();
  double value = 0;
  const auto [stop, error] = std::from_chars(number.data(), number.data() + number.size(), value);
  if (error != std::errc() || stop != number.data() + number.size()) fail("a number");
  at_ = end;
  return value;
}

std::string_view TextReader::word_at(size_t place) const {
  size_t end = place;
  while (end < source_.size() && is_word(source_[end])) ++end;
  return source_.substr(place, end - place);
}

}  // namespace troika
