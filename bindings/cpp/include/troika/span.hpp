/** @file span.hpp Views of elements in memory, and short lists without an allocation. */
#ifndef TROIKA_SPAN_HPP
#define TROIKA_SPAN_HPP

#include <troika/tensor.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <type_traits>

namespace troika {
inline namespace v1 {

namespace detail {

template <typename Container>
using Pointed = std::remove_pointer_t<decltype(std::data(std::declval<Container&>()))>;

/** Whether a container has elements in one piece of memory that may be seen as elements of T. */
template <typename Container, typename T, typename = void>
struct IsSeenAs : std::false_type {};
template <typename Container, typename T>
struct IsSeenAs<Container, T, std::void_t<Pointed<Container>, decltype(std::size(std::declval<Container&>()))>>
    : std::is_convertible<Pointed<Container> (*)[], T (*)[]> {};

}  // namespace detail

/**
 * A view of elements that somebody else owns: std::span for C++17, with which it converts both
 * ways.
 *
 * Every contiguous container converts to it. A view of constants also begins with a list in braces,
 * which ends with the statement.
 */
template <typename T>
class Span {
 public:
  using element_type = T;
  using value_type = std::remove_cv_t<T>;
  using iterator = T*;

  constexpr Span() noexcept = default;
  constexpr Span(T* data, std::size_t size) noexcept : data_(data), size_(size) {}

  template <typename Container,
            typename = std::enable_if_t<!std::is_same_v<std::decay_t<Container>, Span> &&
                                        detail::IsSeenAs<std::remove_reference_t<Container>, T>::value>>
  constexpr Span(Container&& container) noexcept : Span(std::data(container), std::size(container)) {}

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Winit-list-lifetime"  // views in arguments end before the list does
#endif
  template <typename U = T, typename = std::enable_if_t<std::is_const_v<U>>>
  constexpr Span(std::initializer_list<value_type> list) noexcept : Span(list.begin(), list.size()) {}
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif

  constexpr T* data() const noexcept { return data_; }
  constexpr std::size_t size() const noexcept { return size_; }
  constexpr bool empty() const noexcept { return size_ == 0; }
  constexpr T& operator[](std::size_t index) const noexcept { return data_[index]; }
  constexpr T* begin() const noexcept { return data_; }
  constexpr T* end() const noexcept { return data_ + size_; }

  /** Returns `count` elements from `first` on. Nothing is checked, as with std::span. */
  constexpr Span subspan(std::size_t first, std::size_t count) const noexcept { return {data_ + first, count}; }

 private:
  T* data_ = nullptr;
  std::size_t size_ = 0;
};

/** At most `Capacity` elements, stored in the object itself: shapes, and inputs of layers. */
template <typename T, std::size_t Capacity>
class ShortList {
 public:
  using value_type = T;

  constexpr ShortList() noexcept = default;
  constexpr ShortList(std::initializer_list<T> list) noexcept : ShortList(list.begin(), list.size()) {}
  /** Copies the first elements of an array, at most `Capacity`. */
  constexpr ShortList(const T* first, std::size_t size) noexcept : size_(std::min(size, Capacity)) {
    for (std::size_t i = 0; i < size_; ++i) elements_[i] = first[i];
  }

  constexpr const T* data() const noexcept { return elements_; }
  constexpr std::size_t size() const noexcept { return size_; }
  constexpr bool empty() const noexcept { return size_ == 0; }
  constexpr const T& operator[](std::size_t index) const noexcept { return elements_[index]; }
  constexpr const T* begin() const noexcept { return elements_; }
  constexpr const T* end() const noexcept { return elements_ + size_; }

  friend bool operator==(const ShortList& a, const ShortList& b) noexcept {
    return std::equal(a.begin(), a.end(), b.begin(), b.end());
  }
  friend bool operator!=(const ShortList& a, const ShortList& b) noexcept { return !(a == b); }

 private:
  T elements_[Capacity] = {};
  std::size_t size_ = 0;
};

/** A shape: at most TROIKA_MAX_RANK sizes. */
using Dims = ShortList<std::int64_t, TROIKA_MAX_RANK>;

}  // namespace v1
}  // namespace troika

#endif
