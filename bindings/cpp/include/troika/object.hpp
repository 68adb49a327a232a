/** @file object.hpp What all objects of the library have in common. */
#ifndef TROIKA_OBJECT_HPP
#define TROIKA_OBJECT_HPP

#include <troika/interface.hpp>

namespace troika {
inline namespace v1 {
namespace detail {

constexpr const char* noun_of(troika_context) { return "Context"; }
constexpr const char* noun_of(troika_tensor) { return "Tensor"; }
constexpr const char* noun_of(troika_gradients) { return "Gradients"; }
constexpr const char* noun_of(troika_group) { return "Group"; }
constexpr const char* noun_of(troika_dataset) { return "Dataset"; }
constexpr const char* noun_of(troika_loader) { return "Loader"; }
constexpr const char* noun_of(troika_batch) { return "Batch"; }
constexpr const char* noun_of(troika_model) { return "Model"; }
constexpr const char* noun_of(troika_trainer) { return "Trainer"; }
constexpr const char* noun_of(troika_pending) { return "Pending"; }

struct Destroy {
  void operator()(troika_context handle) const noexcept { troika_context_destroy(handle); }
  void operator()(troika_tensor handle) const noexcept { troika_tensor_destroy(handle); }
  void operator()(troika_gradients handle) const noexcept { troika_gradients_destroy(handle); }
  void operator()(troika_group handle) const noexcept { troika_group_destroy(handle); }
  void operator()(troika_dataset handle) const noexcept { troika_dataset_destroy(handle); }
  void operator()(troika_loader handle) const noexcept { troika_loader_destroy(handle); }
  void operator()(troika_batch handle) const noexcept { troika_batch_destroy(handle); }
  void operator()(troika_model handle) const noexcept { troika_model_destroy(handle); }
  void operator()(troika_trainer handle) const noexcept { troika_trainer_destroy(handle); }
  void operator()(troika_pending handle) const noexcept { troika_pending_destroy(handle); }
};

}  // namespace detail

/**
 * A handle of C that its object owns. It moves and is not copied, as std::unique_ptr.
 *
 * A call on a closed object throws std::logic_error: one that was moved from, closed or released.
 * Objects may be closed in any order, but not while another thread is in a call with the same one.
 */
template <typename Handle>
class Object {
 public:
  /** Returns the handle, for functions of C; NULL if the object is closed. */
  Handle get() const noexcept { return handle_.get(); }

  /** Returns the handle, which the caller now destroys. The object is closed. */
  [[nodiscard]] Handle release() noexcept { return handle_.release(); }

  /** Ends the object at once. Closing again does nothing. */
  void close() noexcept { handle_.reset(); }

  explicit operator bool() const noexcept { return handle_ != nullptr; }

 protected:
  Object() noexcept = default;
  explicit Object(Handle owned) noexcept : handle_(owned) {}
  Object(Object&&) noexcept = default;
  Object& operator=(Object&&) noexcept = default;
  ~Object() = default;

 private:
  std::unique_ptr<std::remove_pointer_t<Handle>, detail::Destroy> handle_;
};

namespace detail {

/** Returns the handle of an open object. */
template <typename Noun>
auto handle_of(const Noun& object) {
  const auto handle = object.get();
  if (!handle) throw std::logic_error(std::string(noun_of(handle)) + ": it is closed, need an open one");
  return handle;
}

/** Returns the handle that a function makes: its last parameters are the handle and the error. */
template <typename Handle, typename Function, typename... Arguments>
Handle make(Function function, Arguments... arguments) {
  Handle handle = nullptr;
  call(function, arguments..., &handle);
  return handle;
}

template <typename Rich, typename = void>
struct HasStatus : std::false_type {};
template <typename Rich>
struct HasStatus<Rich, std::void_t<decltype(Rich::status)>> : std::true_type {};

/** Returns the struct that a function fills: its last parameters are the struct and the error. */
template <typename Rich, typename Function, typename... Arguments>
Rich fill(Function function, Arguments... arguments) {
  auto filled = defaults<typename Converter<Rich>::Struct>();
  [[maybe_unused]] const Status status = call(function, arguments..., &filled);
  auto result = convert<Rich>(filled);
  if constexpr (HasStatus<Rich>::value) result.status = status;
  return result;
}

template <typename T>
std::int64_t size_bytes(Span<T> elements) noexcept {
  return static_cast<std::int64_t>(elements.size() * sizeof(T));
}

/** Returns the number of elements of a shape; 0 if a size is below 0, which the library refuses. */
inline std::int64_t elements_of(Span<const std::int64_t> dims) {
  std::int64_t elements = 1;
  for (const std::int64_t size : dims) {
    if (size < 0) return 0;
    if (size > 0 && elements > INT64_MAX / size) return INT64_MAX;
    elements *= size;
  }
  return elements;
}

/** Refuses another number of elements than `n` samples have. The library refuses bad sizes. */
inline void check_elements(const char* object, std::size_t found, std::int64_t n, Span<const std::int64_t> dims) {
  if (n < 0 || std::any_of(dims.begin(), dims.end(), [](std::int64_t size) { return size < 0; })) return;
  const std::int64_t each = elements_of(dims);
  const std::int64_t needed = each > 0 && n > INT64_MAX / each ? INT64_MAX : n * each;
  if (static_cast<std::int64_t>(found) != needed)
    refuse(std::string(object) + ": there are " + std::to_string(found) + " elements, the shape needs " +
           std::to_string(needed));
}

/** Returns how many rows of `size` elements there are. The library refuses sizes below 1. */
inline std::int64_t rows(const char* object, std::size_t found, std::int64_t size) {
  if (size < 1) return 0;
  const auto elements = static_cast<std::int64_t>(found);
  if (elements % size != 0)
    refuse(std::string(object) + ": there are " + std::to_string(elements) + " elements, need a multiple of " +
           std::to_string(size));
  return elements / size;
}

/** Refuses elements of another type than an object has. */
inline void check_dtype(const std::string& object, Dtype found, Dtype needed) {
  if (found != needed) refuse(object + ": the elements are " + to_string(found) + ", need " + to_string(needed));
}

/** Calls a function for the last time. No call could report its exception. */
inline void TROIKA_CALL call_destroy(void* user) {
  const std::unique_ptr<DestroyFunction> function(static_cast<DestroyFunction*>(user));
  try {
    (*function)();
  } catch (...) {}
}

template <typename User>
void TROIKA_CALL delete_user(void* user) {
  delete static_cast<User*>(user);
}

}  // namespace detail
}  // namespace v1
}  // namespace troika

#endif
