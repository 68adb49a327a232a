// Checks, holds and converts the caller's arrays.
#include "data/array_dataset.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "core/error.h"
#include "core/float16.h"
#include "core/text.h"
#include "data/byte_values.h"

namespace troika {
namespace {

struct F16 {
  uint16_t bits;
};
struct Bf16 {
  uint16_t bits;
};

// Reads element `i` of an array at any address.
template <typename T>
T load(const void* array, int64_t i) {
  T element;
  std::memcpy(&element, static_cast<const std::byte*>(array) + i * static_cast<int64_t>(sizeof(T)), sizeof(T));
  return element;
}

float to_float(float x) { return x; }
float to_float(F16 x) { return float_of_f16(x.bits); }
float to_float(Bf16 x) { return float_of_bf16(x.bits); }
template <typename T>
float to_float(T x) {
  return static_cast<float>(x);  // rounds to nearest even
}

// Types that f32 holds exactly are scaled in f32, wider types in f64.
template <typename T>
constexpr bool kIsNarrow = std::is_same_v<T, float> || std::is_same_v<T, F16> || std::is_same_v<T, Bf16>;

template <typename T>
void convert(const void* from, int64_t first, int64_t n, double mean, double std, float* to) {
  if (mean == 0 && std == 1) {
    for (int64_t i = 0; i < n; ++i) to[i] = to_float(load<T>(from, first + i));
  } else if constexpr (kIsNarrow<T>) {
    const auto m = static_cast<float>(mean), s = static_cast<float>(std);
    for (int64_t i = 0; i < n; ++i) to[i] = (to_float(load<T>(from, first + i)) - m) / s;
  } else {
    for (int64_t i = 0; i < n; ++i)
      to[i] = static_cast<float>((static_cast<double>(load<T>(from, first + i)) - mean) / std);
  }
}

// Calls body(T{}) with the type of the elements.
template <typename Body>
auto with_integer(DType dtype, const Body& body) {
  switch (dtype) {
    case DType::u8: return body(uint8_t{});
    case DType::i32: return body(int32_t{});
    case DType::i64: return body(int64_t{});
    default: throw Error(Status::internal, text("dataset: ", name_of(dtype), " is no type of labels or tokens"));
  }
}

template <typename Body>
void with_number(DType dtype, const Body& body) {
  switch (dtype) {
    case DType::f32: return body(float{});
    case DType::f64: return body(double{});
    case DType::f16: return body(F16{});
    case DType::bf16: return body(Bf16{});
    default: return with_integer(dtype, body);
  }
}

void read_numbers(DType dtype, const void* from, int64_t first, int64_t n, double mean, double std, float* to) {
  with_number(dtype, [&](auto type) { convert<decltype(type)>(from, first, n, mean, std, to); });
}

void read_integers(DType dtype, const void* from, int64_t first, int64_t n, int32_t* to) {
  with_integer(dtype, [&](auto type) {
    for (int64_t i = 0; i < n; ++i) to[i] = static_cast<int32_t>(load<decltype(type)>(from, first + i));
  });
}

// Returns the largest element + 1, without ignored elements.
int64_t count_integers(const char* name, DType dtype, const void* elements, int64_t n, std::optional<int32_t> ignored) {
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
  return with_integer(dtype, [&](auto type) {
    int64_t most = -1;
    for (int64_t i = 0; i < n; ++i) {
      const int64_t element = load<decltype(type)>(elements, i);
      if (ignored && element == *ignored) continue;
      if (element < 0 || element > kMost)
        throw Error(Status::invalid_argument, text("dataset: ", name, " ", i, " is ", element, ", need 0 to ", kMost,
                                                   ignored ? text(", or ", *ignored, " to be ignored") : ""));
      most = std::max(most, element);
    }
    return most + 1;
  });
}

SampleForm form_of(const HostArrays& arrays) {
  SampleForm form{.shape = arrays.shape, .label_size = 0};
  const int64_t elements = checked_elements(arrays.shape.times(arrays.n), "dataset: samples");
  if (arrays.are_tokens) {
    form.dtype = DType::i32;
    form.words = count_integers("token", arrays.dtype, arrays.inputs, elements, std::nullopt);
  }
  const int64_t targets = checked_elements({arrays.n, arrays.target_size}, "dataset: targets");
  if (arrays.has_values()) {
    form.value_size = arrays.target_size;
  } else if (arrays.target_size > 0) {
    form.label_size = arrays.target_size;
    form.ignored = arrays.ignored;
    form.classes = count_integers("label", arrays.target_dtype, arrays.targets, targets, arrays.ignored);
  }
  return form;
}

// Takes over vectors as arrays.
template <typename T>
HostArrays own(Shape shape, std::vector<float> inputs, std::vector<T> targets, DType target_dtype,
               int64_t target_size) {
  if (target_size < 1)
    throw Error(Status::invalid_argument, text("dataset: value_size is ", target_size, ", need at least 1"));
  struct Vectors {
    std::vector<float> inputs;
    std::vector<T> targets;
  };
  const auto owner = std::make_shared<const Vectors>(Vectors{std::move(inputs), std::move(targets)});
  HostArrays arrays;
  arrays.n = static_cast<int64_t>(owner->targets.size()) / target_size;
  const int64_t need = checked_elements(shape.times(arrays.n), "dataset: samples");
  if (static_cast<int64_t>(owner->inputs.size()) != need)
    throw Error(Status::invalid_argument, text("dataset: inputs have ", owner->inputs.size(), " elements, ", arrays.n,
                                               " samples of ", shape, " need ", need));
  arrays.shape = std::move(shape);
  arrays.inputs = owner->inputs.data();
  arrays.target_dtype = target_dtype;
  arrays.targets = owner->targets.data();
  arrays.target_size = target_size;
  arrays.owner = owner;
  return arrays;
}

}  // namespace

HostArrays copy_of(const HostArrays& arrays) {
  struct Copies {
    std::vector<std::byte> inputs, targets;
  };
  const auto copied = [](const void* from, int64_t elements, DType dtype) {
    const auto* const first = static_cast<const std::byte*>(from);
    return std::vector<std::byte>(first, first + static_cast<size_t>(elements) * size_of(dtype));
  };
  const auto owner = std::make_shared<const Copies>(
      Copies{copied(arrays.inputs, arrays.n * arrays.shape.elements(), arrays.dtype),
             copied(arrays.targets, arrays.n * arrays.target_size, arrays.target_dtype)});
  HostArrays copy = arrays;
  copy.inputs = owner->inputs.data();
  copy.targets = owner->targets.data();
  copy.owner = owner;
  return copy;
}

ArrayDataset::ArrayDataset(HostArrays arrays) : Dataset(form_of(arrays), arrays.n), arrays_(std::move(arrays)) {
  if (arrays_.dtype == DType::u8 && !arrays_.are_tokens)
    value_of_byte_ = byte_values(arrays_.mean, arrays_.std, "dataset");
}

ArrayDataset::ArrayDataset(Shape sample_shape, std::vector<float> inputs, std::vector<int32_t> labels)
    : ArrayDataset(own(std::move(sample_shape), std::move(inputs), std::move(labels), DType::i32, 1)) {}

ArrayDataset::ArrayDataset(Shape sample_shape, std::vector<float> inputs, std::vector<float> values, int64_t value_size)
    : ArrayDataset(own(std::move(sample_shape), std::move(inputs), std::move(values), DType::f32, value_size)) {}

void ArrayDataset::read(const int64_t* indices, int64_t n, void* inputs, int32_t* labels, float* values) const {
  const HostArrays& a = arrays_;
  const int64_t elements = sample_elements();
  auto* const floats = static_cast<float*>(inputs);
  auto* const tokens = static_cast<int32_t*>(inputs);
  for (int64_t i = 0; i < n; ++i) {
    const int64_t first = indices[i] * elements, target = indices[i] * a.target_size;
    if (inputs && a.are_tokens) {
      read_integers(a.dtype, a.inputs, first, elements, tokens + i * elements);
    } else if (inputs && a.dtype == DType::u8) {
      const auto* const bytes = static_cast<const uint8_t*>(a.inputs) + first;
      for (int64_t k = 0; k < elements; ++k) floats[i * elements + k] = value_of_byte_[bytes[k]];
    } else if (inputs) {
      read_numbers(a.dtype, a.inputs, first, elements, a.mean, a.std, floats + i * elements);
    }
    if (labels && has_labels())
      read_integers(a.target_dtype, a.targets, target, a.target_size, labels + i * a.target_size);
    if (values && a.has_values())
      read_numbers(a.target_dtype, a.targets, target, a.target_size, 0, 1, values + i * a.target_size);
  }
}

std::optional<ByteSamples> ArrayDataset::byte_samples() const {
  if (arrays_.dtype != DType::u8) return std::nullopt;
  const void* const values =
      arrays_.are_tokens ? static_cast<const void*>(byte_tokens().data()) : value_of_byte_.data();
  return ByteSamples{static_cast<const uint8_t*>(arrays_.inputs), values};
}

}  // namespace troika
