/** @file convert.hpp Conversions between fields of C and of C++, for interface.hpp. */
#ifndef TROIKA_CONVERT_HPP
#define TROIKA_CONVERT_HPP

#include <troika/callbacks.hpp>
#include <troika/device.hpp>
#include <troika/elements.hpp>

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace troika {
inline namespace v1 {
namespace detail {

/** Makes a field of C++ from one of C. Specialised for each struct that the library fills. */
template <typename To>
struct Converter {
  /** A number, a flag, an enumerator, or a text that a struct of C holds. */
  template <typename From>
  static To from(const From& from) {
    if constexpr (std::is_same_v<To, bool>)
      return from != 0;
    else
      return static_cast<To>(from);
  }
};

template <typename T, std::size_t Size>
struct Converter<std::array<T, Size>> {
  static std::array<T, Size> from(const T (&from)[Size]) {
    std::array<T, Size> to;
    std::copy(from, from + Size, to.begin());
    return to;
  }
};

template <>
struct Converter<std::optional<std::string>> {
  static std::optional<std::string> from(const char* from) {
    return from ? std::optional<std::string>(from) : std::nullopt;
  }
};

/** Returns a value of C as one of C++. */
template <typename To, typename From>
To convert(const From& from) {
  return Converter<To>::from(from);
}

/** Returns the elements of C that a pointer or an array and a length describe. */
template <typename List, typename From>
List convert_list(const From* from, std::int32_t length) {
  using Element = typename List::value_type;
  const auto size = static_cast<std::size_t>(length);
  if constexpr (std::is_same_v<Element, From>) {
    return from ? List(from, from + size) : List();
  } else {
    // A library of a later version may have longer structs than this header.
    List list;
    const auto* const bytes = reinterpret_cast<const char*>(from);
    for (std::size_t i = 0; i < size; ++i)
      list.push_back(convert<Element>(*reinterpret_cast<const From*>(bytes + i * from->struct_size)));
    return list;
  }
}

/** Returns the first elements of an array of C. */
template <typename List, typename From, std::size_t Size>
List convert_part(const From (&from)[Size], std::int32_t length) {
  using Element = typename List::value_type;
  Element elements[Size] = {};
  for (std::size_t i = 0; i < Size; ++i) elements[i] = static_cast<Element>(from[i]);
  return List(elements, static_cast<std::size_t>(length));
}

/** Returns an address of elements as C wants it: NULL if there are none. */
template <typename T>
const T* address(const std::vector<T>& list) noexcept {
  return list.empty() ? nullptr : list.data();
}

template <typename List>
std::int32_t length(const List& list) noexcept {
  return static_cast<std::int32_t>(list.size());
}

/**
 * A struct of C with the fields of a struct of C++, which it points into. Specialised for each
 * struct that the library reads.
 */
template <typename Rich>
struct Raw;

}  // namespace detail
}  // namespace v1
}  // namespace troika

#endif
