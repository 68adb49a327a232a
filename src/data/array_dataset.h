// A dataset of the caller's arrays in host memory, which it holds or borrows. Numbers are converted
// when they are read.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "data/dataset.h"

namespace troika {

// Arrays of `n` samples, row-major, at any address.
struct HostArrays {
  Shape shape;  // of a sample
  int64_t n = 0;
  DType dtype = DType::f32;
  const void* inputs = nullptr;  // [n, shape...]
  bool are_tokens = false;       // u8, i32 or i64, which become i32; else numbers, which become f32
  DType target_dtype = DType::i32;
  const void* targets = nullptr;  // [n, target_size], labels of u8, i32 or i64, or values of f32 or f64; or null
  int64_t target_size = 0;        // 0 without targets
  double mean = 0.0;              // a number x becomes (x - mean) / std; a u8 number p is x = p / 255
  double std = 1.0;
  std::optional<int32_t> ignored = {};
  std::shared_ptr<const void> owner = {};  // of the arrays, which never change while it lives

  bool has_values() const { return target_size > 0 && (target_dtype == DType::f32 || target_dtype == DType::f64); }
};

class ArrayDataset final : public Dataset {
 public:
  // INVALID_ARGUMENT unless every label and token is in [0, 2^31 - 1], or is the ignored label.
  explicit ArrayDataset(HostArrays arrays);
  // `inputs` [n, sample_shape...] with a class for each sample; no label below 0.
  ArrayDataset(Shape sample_shape, std::vector<float> inputs, std::vector<int32_t> labels);
  // `inputs` [n, sample_shape...] with `values` [n, value_size].
  ArrayDataset(Shape sample_shape, std::vector<float> inputs, std::vector<float> values, int64_t value_size);

  void read(const int64_t* indices, int64_t n, void* inputs, int32_t* labels, float* values) const override;
  std::optional<ByteSamples> byte_samples() const override;

 private:
  HostArrays arrays_;
  std::array<float, 256> value_of_byte_{};  // if samples are numbers of u8
};

// Copies arrays. The copy owns its memory.
HostArrays copy_of(const HostArrays& arrays);

}  // namespace troika
