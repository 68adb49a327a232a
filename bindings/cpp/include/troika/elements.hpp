/** @file elements.hpp Views of elements that know their type. */
#ifndef TROIKA_ELEMENTS_HPP
#define TROIKA_ELEMENTS_HPP

#include <troika/enums.hpp>
#include <troika/span.hpp>

#include <stdexcept>
#include <string>

namespace troika {
inline namespace v1 {

/** Returns the bytes of an element; 0 for a type that these headers do not know. */
constexpr std::int64_t size_of(Dtype dtype) noexcept {
  switch (dtype) {
    case Dtype::u8:
    case Dtype::i8:
    case Dtype::bool_:
    case Dtype::f8_e4m3:
    case Dtype::f8_e5m2: return 1;
    case Dtype::bf16:
    case Dtype::f16:
    case Dtype::i16: return 2;
    case Dtype::f32:
    case Dtype::i32: return 4;
    case Dtype::f64:
    case Dtype::i64: return 8;
  }
  return 0;
}

namespace detail {

template <typename T>
constexpr bool is_byte = std::is_same_v<T, char> || std::is_same_v<T, unsigned char> || std::is_same_v<T, std::byte>;
template <typename T>
constexpr bool is_signed_integer = !std::is_same_v<T, char> && std::is_integral_v<T> && std::is_signed_v<T>;

/** Whether elements of T have a dtype. Half floats have none here: their dtype is passed. */
template <typename T>
constexpr bool has_dtype = std::is_same_v<T, float> || std::is_same_v<T, double> || std::is_same_v<T, bool> ||
                           is_byte<T> || is_signed_integer<T>;

template <typename Container, typename = void>
struct HasTypedElements : std::false_type {};
template <typename Container>
struct HasTypedElements<Container, std::void_t<Pointed<Container>>>
    : std::bool_constant<has_dtype<std::remove_cv_t<Pointed<Container>>>> {};

/** A literal is an array too, but its last character is no token. */
template <typename Container>
constexpr bool is_literal = std::is_same_v<std::remove_extent_t<Container>, const char>;

}  // namespace detail

/** Returns the dtype of float, double, bool, bytes and signed integers. */
template <typename T>
constexpr Dtype dtype_of() noexcept {
  static_assert(detail::has_dtype<T>, "elements of this type have no dtype");
  if constexpr (std::is_same_v<T, float>) return Dtype::f32;
  if constexpr (std::is_same_v<T, double>) return Dtype::f64;
  if constexpr (std::is_same_v<T, bool>) return Dtype::bool_;
  if constexpr (detail::is_byte<T>) return Dtype::u8;
  if constexpr (sizeof(T) == 1) return Dtype::i8;
  if constexpr (sizeof(T) == 2) return Dtype::i16;
  if constexpr (sizeof(T) == 4) return Dtype::i32;
  return Dtype::i64;
}

/**
 * A view of elements in host memory, with their dtype. `Pointer` is `const void*` or `void*`.
 *
 * Every contiguous container of numbers converts to it: vectors, arrays, spans and strings, and for
 * elements that are only read a list in braces. The view must not outlive them.
 */
template <typename Pointer>
class BasicElements {
  static constexpr bool kIsConst = std::is_same_v<Pointer, const void*>;

 public:
  constexpr BasicElements() noexcept = default;
  /** Views `size` elements of any dtype, such as half floats. */
  constexpr BasicElements(Dtype dtype, Pointer data, std::size_t size) noexcept
      : data_(data), size_(size), dtype_(dtype) {}

  template <
      typename Container,
      typename = std::enable_if_t<detail::HasTypedElements<std::remove_reference_t<Container>>::value &&
                                  !detail::is_literal<std::remove_reference_t<Container>> &&
                                  (kIsConst || !std::is_const_v<detail::Pointed<std::remove_reference_t<Container>>>)>>
  constexpr BasicElements(Container&& container) noexcept
      : BasicElements(dtype_of<std::remove_cv_t<detail::Pointed<std::remove_reference_t<Container>>>>(),
                      std::data(container), std::size(container)) {}

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Winit-list-lifetime"  // views in arguments end before the list does
#endif
  template <typename T, typename = std::enable_if_t<kIsConst && detail::has_dtype<T>>>
  constexpr BasicElements(std::initializer_list<T> list) noexcept
      : BasicElements(dtype_of<T>(), list.begin(), list.size()) {}
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif

  constexpr Pointer data() const noexcept { return data_; }
  constexpr std::size_t size() const noexcept { return size_; }
  constexpr Dtype dtype() const noexcept { return dtype_; }
  constexpr std::int64_t size_bytes() const noexcept { return static_cast<std::int64_t>(size_) * size_of(dtype_); }

  /** Returns the elements as elements of T. Throws std::invalid_argument if their dtype differs. */
  template <typename T>
  auto as() const {
    if (dtype_ != dtype_of<T>())
      throw std::invalid_argument(std::string("Elements: they are ") + to_string(dtype_) + ", wanted " +
                                  to_string(dtype_of<T>()));
    using Element = std::conditional_t<kIsConst, const T, T>;
    return Span<Element>(static_cast<Element*>(data_), size_);
  }

 private:
  Pointer data_ = nullptr;
  std::size_t size_ = 0;
  Dtype dtype_ = Dtype::f32;
};

/** Elements that are read. */
using Elements = BasicElements<const void*>;
/** Elements that are written. */
using MutableElements = BasicElements<void*>;

}  // namespace v1
}  // namespace troika

#endif
