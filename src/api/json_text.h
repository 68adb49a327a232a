// Building JSON as text, member by member. A tree of values would need memory to be destroyed.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace troika::api {

// A value that is JSON already; null at first.
struct JsonText {
  std::string text = "null";
};

// Returns the JSON of a number, a truth value, a text or a list of them.
template <typename T>
JsonText json_text(const T& value) {
  using Json = nlohmann::json;
  if constexpr (std::is_same_v<T, JsonText>) {
    return value;
  } else if constexpr (std::is_convertible_v<T, std::string_view>) {
    return {Json(std::string_view(value)).dump(-1, ' ', false, Json::error_handler_t::replace)};
  } else if constexpr (std::is_arithmetic_v<T>) {
    return {Json(value).dump()};
  } else {
    std::string list = "[";
    for (const auto& item : value) {
      if (list.size() > 1) list += ',';
      list += json_text(item).text;
    }
    list += ']';
    return {list};
  }
}

class JsonObject {
 public:
  template <typename T>
  JsonObject& add(std::string_view name, const T& value) {
    text_ += text_.empty() ? '{' : ',';
    text_ += json_text(name).text;
    text_ += ':';
    text_ += json_text(value).text;
    return *this;
  }
  JsonText text() const {
    JsonText result{text_.empty() ? "{" : text_};
    result.text += '}';
    return result;
  }

 private:
  std::string text_;  // without the brace at the end
};

}  // namespace troika::api
