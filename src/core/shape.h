// The sizes of a tensor's dimensions, row-major.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <ostream>
#include <string>
#include <vector>

namespace troika {

constexpr int kMaxRank = 8;

class Shape {
 public:
  Shape() = default;
  Shape(std::initializer_list<int64_t> dims) : dims_(dims) {}
  explicit Shape(std::vector<int64_t> dims) : dims_(std::move(dims)) {}

  int rank() const { return static_cast<int>(dims_.size()); }
  int64_t operator[](int axis) const { return dims_[static_cast<size_t>(axis)]; }
  int64_t& operator[](int axis) { return dims_[static_cast<size_t>(axis)]; }
  const std::vector<int64_t>& dims() const { return dims_; }
  bool operator==(const Shape&) const = default;

  // Number of elements; 1 for a scalar.
  int64_t elements() const {
    int64_t n = 1;
    for (int64_t d : dims_) n *= d;
    return n;
  }

  // Whether there are more elements than `most`, also if their number overflows.
  bool has_more_than(int64_t most) const {
    int64_t n = 1;
    for (int64_t d : dims_)
      if (d == 0) return false;
    for (int64_t d : dims_) {
      if (n > most / d) return true;
      n *= d;
    }
    return n > most;
  }

  // [n, dims...]: n tensors of this shape, one after another.
  Shape times(int64_t n) const {
    Shape shape = *this;
    shape.dims_.insert(shape.dims_.begin(), n);
    return shape;
  }

  // Number of elements of the axes [first, last).
  int64_t elements(int first, int last) const {
    int64_t n = 1;
    for (int axis = first; axis < last; ++axis) n *= dims_[static_cast<size_t>(axis)];
    return n;
  }

  // The same shape with dimension 0 replaced.
  Shape with_batch(int64_t batch) const {
    Shape shape = *this;
    shape[0] = batch;
    return shape;
  }

 private:
  std::vector<int64_t> dims_;
};

// Returns the number of elements, with every product checked. Throws INVALID_ARGUMENT naming `what`
// if the product overflows or a dimension is below 0.
int64_t checked_elements(const Shape& shape, const std::string& what);

std::ostream& operator<<(std::ostream& out, const Shape& shape);  // [2, 3, 4]
std::string to_string(const Shape& shape);

}  // namespace troika
