// Printing: numbers as columns of equal width, axes as brackets.
#include "device/tensor_text.h"

#include <algorithm>
#include <cinttypes>
#include <cmath>
#include <cstdio>

#include "core/numbers.h"
#include "core/text.h"

namespace troika {
namespace {

constexpr int64_t kWholeTensor = 1000;  // elements up to which all are shown
constexpr int64_t kEdge = 3;            // numbers at each end of an axis that is not shown whole

// Four significant digits, as PyTorch shows them; "inf" and "nan" as C prints them.
std::string number_text(double value) {
  char digits[32];
  if (std::isfinite(value) && value == std::trunc(value) && std::abs(value) < 1e6)
    std::snprintf(digits, sizeof digits, "%.0f.", value);
  else
    std::snprintf(digits, sizeof digits, "%.5g", value);
  return digits;
}

class Printing {
 public:
  explicit Printing(const Tensor& tensor) : shape_(tensor.type().shape), is_whole_(shape_.elements() <= kWholeTensor) {
    const DType dtype = tensor.type().dtype;
    const auto n = static_cast<size_t>(shape_.elements());
    is_integer_ = dtype == DType::i32 || dtype == DType::i64 || dtype == DType::u8 || dtype == DType::i8 ||
                  dtype == DType::i16 || dtype == DType::boolean;
    const std::vector<std::byte> host = tensor.to_host();
    integers_.resize(is_integer_ ? n : 0);
    reals_.resize(is_integer_ ? 0 : n);
    if (is_integer_)
      convert_numbers(dtype, host.data(), DType::i64, integers_.data(), static_cast<int64_t>(n));
    else
      convert_numbers(dtype, host.data(), DType::f64, reals_.data(), static_cast<int64_t>(n));
  }

  std::string run() {
    each_shown(0, 0, [&](int64_t at) { width_ = std::max(width_, text_of(at).size()); });
    print(0, 0);
    return std::move(out_);
  }

 private:
  std::string text_of(int64_t at) const {
    const auto i = static_cast<size_t>(at);
    return is_integer_ ? std::to_string(integers_[i]) : number_text(reals_[i]);
  }

  bool is_cut(int axis) const { return !is_whole_ && shape_[axis] > 2 * kEdge; }

  template <typename Visit>
  void each_shown(int axis, int64_t at, const Visit& visit) const {
    if (axis == shape_.rank()) return visit(at);
    for (int64_t i = 0; i < shape_[axis]; ++i) {
      if (is_cut(axis) && i == kEdge) i = shape_[axis] - kEdge;
      each_shown(axis + 1, at * shape_[axis] + i, visit);
    }
  }

  void print(int axis, int64_t at) {
    if (axis == shape_.rank()) {
      const std::string number = text_of(at);
      out_ += std::string(width_ - number.size(), ' ') + number;
      return;
    }
    // Rows of numbers are separated by spaces, rows of rows by lines.
    const bool is_row = axis + 1 == shape_.rank();
    const std::string between = is_row ? ", " : ",\n" + std::string(static_cast<size_t>(axis) + 1, ' ');
    out_ += '[';
    for (int64_t i = 0; i < shape_[axis]; ++i) {
      if (i > 0) out_ += between;
      if (is_cut(axis) && i == kEdge) {
        out_ += "..." + between;
        i = shape_[axis] - kEdge;
      }
      print(axis + 1, at * shape_[axis] + i);
    }
    out_ += ']';
  }

  const Shape shape_;
  const bool is_whole_;
  bool is_integer_ = false;
  std::vector<int64_t> integers_;
  std::vector<double> reals_;
  size_t width_ = 0;
  std::string out_;
};

}  // namespace

std::string to_text(const Tensor& tensor) {
  const TensorType& type = tensor.type();
  std::string head = text(name_of(type.dtype), type.shape, " on ", tensor.device()->id());
  if (!is_number_dtype(type.dtype)) return head;
  return head + '\n' + Printing(tensor).run();
}

}  // namespace troika
