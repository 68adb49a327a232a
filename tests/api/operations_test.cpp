// The C functions of operations.h and gradients.h.
#include <cmath>
#include <functional>
#include <numeric>

#include "api/api_test.h"

namespace troika::test {
namespace {

constexpr troika_status kUnsupported = TROIKA_ERROR_UNSUPPORTED;

class OperationsApi : public ApiTest {
 protected:
  void TearDown() override {
    for (troika_tensor tensor : made_) troika_tensor_destroy(tensor);
    ApiTest::TearDown();
  }
  troika_tensor keep(troika_tensor tensor) {
    made_.push_back(tensor);
    return tensor;
  }
  troika_tensor make(const std::vector<int64_t>& dims, const std::vector<float>& numbers,
                     troika_device device = kCpu0) {
    troika_tensor tensor = nullptr;
    expect_ok(troika_tensor_create(context_, device, TROIKA_DTYPE_F32, dims.data(), static_cast<int32_t>(dims.size()),
                                   numbers.data(), &tensor, &error_));
    return keep(tensor);
  }
  // Calls `operation(out)`, which succeeds, and returns the result.
  troika_tensor result_of(const std::function<troika_status(troika_tensor*)>& operation) {
    troika_tensor out = garbage<troika_tensor>();
    expect_ok(operation(&out));
    return keep(out);
  }
  // Calls `operation(out)`, which is refused.
  void refuse(const std::function<troika_status(troika_tensor*)>& operation, troika_status status,
              const std::string& part) {
    troika_tensor out = garbage<troika_tensor>();
    expect_refused(operation(&out), status, part);
    EXPECT_EQ(out, nullptr);
  }
  template <typename Number = float>
  std::vector<Number> numbers_of(troika_tensor tensor) {
    troika_tensor_info info = TROIKA_TENSOR_INFO_INIT;
    expect_ok(troika_tensor_describe(tensor, &info, &error_));
    std::vector<Number> numbers(static_cast<size_t>(info.size_bytes) / sizeof(Number));
    expect_ok(troika_tensor_to_host(tensor, numbers.data(), info.size_bytes, &error_));
    return numbers;
  }
  std::vector<int64_t> dims_of(troika_tensor tensor) {
    troika_tensor_info info = TROIKA_TENSOR_INFO_INIT;
    expect_ok(troika_tensor_describe(tensor, &info, &error_));
    return {info.dims, info.dims + info.rank};
  }
  std::string text_of(troika_tensor tensor) {
    int64_t size = 0;
    expect_ok(troika_tensor_to_text(tensor, nullptr, 0, &size, &error_));
    std::string text(static_cast<size_t>(size), '\0');
    expect_ok(troika_tensor_to_text(tensor, text.data(), size, nullptr, &error_));
    text.pop_back();
    return text;
  }
  std::vector<troika_tensor> made_;
};

using Numbers = std::vector<float>;

TEST_F(OperationsApi, creates_tensors_of_constants_and_series) {
  const int64_t dims[] = {2, 3};
  const auto full = [&](int32_t dtype, double value) {
    return result_of(
        [&](troika_tensor* out) { return troika_tensor_full(context_, kCpu0, dtype, dims, 2, value, out, &error_); });
  };
  EXPECT_EQ(numbers_of(full(TROIKA_DTYPE_F32, 1.5)), Numbers(6, 1.5f));
  EXPECT_EQ(numbers_of<int64_t>(full(TROIKA_DTYPE_I64, -7)), std::vector<int64_t>(6, -7));
  EXPECT_EQ(numbers_of<uint16_t>(full(TROIKA_DTYPE_BF16, 1)), std::vector<uint16_t>(6, 0x3f80));
  const troika_tensor series = result_of([&](troika_tensor* out) {
    return troika_tensor_arange(context_, kCpu0, TROIKA_DTYPE_F32, 20, -0.5, 5, out, &error_);
  });
  EXPECT_EQ(numbers_of(series), (Numbers{20, 19.5, 19, 18.5, 18}));
  refuse([&](troika_tensor* out) { return troika_tensor_full(context_, kCpu0, 11, dims, 2, 0, out, &error_); },
         kUnsupported, "dtype is f8_e4m3");
  refuse(
      [&](troika_tensor* out) {
        return troika_tensor_arange(context_, kCpu0, TROIKA_DTYPE_F32, 0, 1, -1, out, &error_);
      },
      kInvalid, "-1");
}

TEST_F(OperationsApi, random_numbers_follow_the_seed_and_have_their_moments) {
  const int64_t dims[] = {101, 99}, n = 101 * 99;
  const auto draw = [&](bool is_normal, uint64_t seed, troika_device device) {
    return numbers_of(result_of([&](troika_tensor* out) {
      return is_normal ? troika_tensor_normal(context_, device, TROIKA_DTYPE_F32, dims, 2, 3, 0.5, seed, out, &error_)
                       : troika_tensor_uniform(context_, device, TROIKA_DTYPE_F32, dims, 2, -1, 2, seed, out, &error_);
    }));
  };
  for (const bool is_normal : {true, false}) {
    const Numbers numbers = draw(is_normal, 7, kCpu0);
    EXPECT_EQ(numbers, draw(is_normal, 7, kCpu1));
    EXPECT_NE(numbers, draw(is_normal, 8, kCpu0));
    const double mean = std::accumulate(numbers.begin(), numbers.end(), 0.0) / n;
    double variance = 0;
    for (const float v : numbers) variance += (v - mean) * (v - mean) / n;
    EXPECT_NEAR(mean, is_normal ? 3 : 0.5, 0.05);
    EXPECT_NEAR(variance, is_normal ? 0.25 : 0.75, 0.05);
    if (is_normal) continue;
    EXPECT_GE(*std::min_element(numbers.begin(), numbers.end()), -1);
    EXPECT_LT(*std::max_element(numbers.begin(), numbers.end()), 2);
  }
  refuse(
      [&](troika_tensor* out) {
        return troika_tensor_uniform(context_, kCpu0, TROIKA_DTYPE_F32, dims, 2, 2, 1, 0, out, &error_);
      },
      kInvalid, "low is 2, needs at most high, which is 1");
  refuse(
      [&](troika_tensor* out) {
        return troika_tensor_normal(context_, kCpu0, TROIKA_DTYPE_F32, dims, 2, 0, -1, 0, out, &error_);
      },
      kInvalid, "deviation is -1");
  refuse(
      [&](troika_tensor* out) {
        return troika_tensor_normal(context_, kCpu0, TROIKA_DTYPE_F32, dims, 2, NAN, 1, 0, out, &error_);
      },
      kInvalid, "mean is nan");
}

TEST_F(OperationsApi, arithmetic_repeats_axes) {
  const troika_tensor a = make({2, 3}, {1, 2, 3, 4, 5, 6}), row = make({3}, {10, 20, 30}),
                      column = make({2, 1}, {2, 4});
  using Pair = troika_status (*)(troika_tensor, troika_tensor, troika_tensor*, troika_error*);
  const auto apply = [&](Pair operation, troika_tensor x, troika_tensor y) {
    return numbers_of(result_of([&](troika_tensor* out) { return operation(x, y, out, &error_); }));
  };
  EXPECT_EQ(apply(troika_tensor_add, a, row), (Numbers{11, 22, 33, 14, 25, 36}));
  EXPECT_EQ(apply(troika_tensor_subtract, row, a), (Numbers{9, 18, 27, 6, 15, 24}));
  EXPECT_EQ(apply(troika_tensor_multiply, a, column), (Numbers{2, 4, 6, 16, 20, 24}));
  EXPECT_EQ(apply(troika_tensor_divide, a, column), (Numbers{0.5, 1, 1.5, 1, 1.25, 1.5}));
  EXPECT_EQ(apply(troika_tensor_add, column, row), (Numbers{12, 22, 32, 14, 24, 34}));
  const troika_tensor mask = result_of(
      [&](troika_tensor* out) { return troika_tensor_compare(a, column, TROIKA_RELATION_GREATER, out, &error_); });
  EXPECT_EQ(numbers_of<uint8_t>(mask), (std::vector<uint8_t>{0, 0, 1, 0, 1, 1}));
  refuse(
      [&](troika_tensor* out) {
        return troika_tensor_add(a, make({2}, {1, 2}), out, &error_);
      },
      kInvalid, "add: inputs have shapes [2, 3] and [2], need sizes that are equal or 1");
  refuse([&](troika_tensor* out) { return troika_tensor_compare(a, a, 9, out, &error_); }, kInvalid, "relation is 9");
}

TEST_F(OperationsApi, refuses_two_devices_and_types_without_arithmetic) {
  const troika_tensor a = make({2}, {1, 2}), far = make({2}, {1, 2}, kCpu1);
  refuse([&](troika_tensor* out) { return troika_tensor_add(a, far, out, &error_); }, kInvalid,
         "troika_tensor_add: tensors are on cpu:0 and cpu:1, need one device; troika_tensor_to makes a copy");
  const troika_tensor integers = keep(make_tensor(TROIKA_DTYPE_I64, {2}));
  refuse([&](troika_tensor* out) { return troika_tensor_add(a, integers, out, &error_); }, kUnsupported,
         "argument 'b' is i64, need f32, bf16 or f16; troika_tensor_cast converts");
  refuse([&](troika_tensor* out) { return troika_tensor_relu(nullptr, out, &error_); }, kInvalid, "'x' is NULL");
  expect_refused(troika_tensor_relu(a, nullptr, &error_), kInvalid, "argument 'out_tensor' is NULL");
}

TEST_F(OperationsApi, functions_of_one_number) {
  const troika_tensor x = make({4}, {-2, -0.5, 0, 3});
  using Map = troika_status (*)(troika_tensor, troika_tensor*, troika_error*);
  const std::pair<Map, double (*)(double)> maps[] = {
      {troika_tensor_relu, [](double v) { return std::max(v, 0.0); }},
      {troika_tensor_sigmoid, [](double v) { return 1 / (1 + std::exp(-v)); }},
      {troika_tensor_tanh, [](double v) { return std::tanh(v); }},
      {troika_tensor_gelu, [](double v) { return v * 0.5 * std::erfc(-v / std::sqrt(2.0)); }},
      {troika_tensor_silu, [](double v) { return v / (1 + std::exp(-v)); }},
      {troika_tensor_abs, [](double v) { return std::abs(v); }},
      {troika_tensor_exp, [](double v) { return std::exp(v); }}};
  const Numbers given = numbers_of(x);
  for (const auto& [map, expected] : maps) {
    const Numbers found = numbers_of(result_of([&](troika_tensor* out) { return map(x, out, &error_); }));
    for (size_t i = 0; i < given.size(); ++i) EXPECT_NEAR(found[i], expected(given[i]), 2e-6) << given[i];
  }
  const troika_tensor positive = make({3}, {0.25, 1, 9});
  EXPECT_EQ(numbers_of(result_of([&](troika_tensor* out) { return troika_tensor_sqrt(positive, out, &error_); })),
            (Numbers{0.5, 1, 3}));
  const Numbers logs =
      numbers_of(result_of([&](troika_tensor* out) { return troika_tensor_log(positive, out, &error_); }));
  for (size_t i = 0; i < 3; ++i) EXPECT_NEAR(logs[i], std::log(numbers_of(positive)[i]), 1e-6);
  EXPECT_EQ(numbers_of(result_of([&](troika_tensor* out) { return troika_tensor_leaky_relu(x, 0.5, out, &error_); })),
            (Numbers{-1, -0.25, 0, 3}));
  EXPECT_EQ(numbers_of(result_of([&](troika_tensor* out) { return troika_tensor_scale(x, 2, 1, out, &error_); })),
            (Numbers{-3, 0, 1, 7}));
}

TEST_F(OperationsApi, casts_saturate_and_round) {
  const troika_tensor x = make({6}, {-1.9f, 2.9f, 300, 3e9f, -3e9f, NAN});
  const auto cast_to = [&](int32_t dtype) {
    return result_of([&](troika_tensor* out) { return troika_tensor_cast(x, dtype, out, &error_); });
  };
  EXPECT_EQ(numbers_of<int32_t>(cast_to(TROIKA_DTYPE_I32)),
            (std::vector<int32_t>{-1, 2, 300, INT32_MAX, INT32_MIN, 0}));
  EXPECT_EQ(numbers_of<int64_t>(cast_to(TROIKA_DTYPE_I64)),
            (std::vector<int64_t>{-1, 2, 300, 3000000000, -3000000000, 0}));
  EXPECT_EQ(numbers_of<uint8_t>(cast_to(TROIKA_DTYPE_U8)), (std::vector<uint8_t>{0, 2, 255, 255, 0, 0}));
  const troika_tensor low = cast_to(TROIKA_DTYPE_BF16);
  const Numbers back = numbers_of(
      result_of([&](troika_tensor* out) { return troika_tensor_cast(low, TROIKA_DTYPE_F32, out, &error_); }));
  EXPECT_EQ(back[1], 2.90625f);
  refuse([&](troika_tensor* out) { return troika_tensor_cast(x, TROIKA_DTYPE_I8, out, &error_); }, kUnsupported,
         "troika_tensor_cast: cannot make i8 of f32, need f32, bf16, f16, i32, i64 or u8");
}

TEST_F(OperationsApi, sixteen_bits_compute_too) {
  const troika_tensor x = make({2, 2}, {1, 2, 3, 4});
  for (const int32_t dtype : {TROIKA_DTYPE_BF16, TROIKA_DTYPE_F16}) {
    const troika_tensor low = result_of([&](troika_tensor* out) { return troika_tensor_cast(x, dtype, out, &error_); });
    const troika_tensor product =
        result_of([&](troika_tensor* out) { return troika_tensor_matmul(low, low, 0, 1, out, &error_); });
    const troika_tensor wide =
        result_of([&](troika_tensor* out) { return troika_tensor_cast(product, TROIKA_DTYPE_F32, out, &error_); });
    EXPECT_EQ(numbers_of(wide), (Numbers{5, 11, 11, 25}));
  }
}

TEST_F(OperationsApi, matrices_and_images) {
  const troika_tensor a = make({2, 3}, {1, 2, 3, 4, 5, 6}), b = make({3, 2}, {1, 0, 0, 1, 1, 1});
  EXPECT_EQ(numbers_of(result_of([&](troika_tensor* out) { return troika_tensor_matmul(a, b, 0, 0, out, &error_); })),
            (Numbers{4, 5, 10, 11}));
  EXPECT_EQ(dims_of(result_of([&](troika_tensor* out) { return troika_tensor_matmul(a, a, 1, 0, out, &error_); })),
            (std::vector<int64_t>{3, 3}));
  refuse([&](troika_tensor* out) { return troika_tensor_matmul(a, a, 0, 0, out, &error_); }, kInvalid,
         "matmul: inputs have shapes [2, 3] and [2, 3]: 3 columns by 2 rows");
  refuse([&](troika_tensor* out) { return troika_tensor_matmul(a, b, 2, 0, out, &error_); }, kInvalid,
         "transpose_a is 2, needs 0 or 1");

  const troika_tensor image = make({1, 1, 3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9});
  const troika_tensor weight = make({1, 1, 2, 2}, {1, 0, 0, 1}), bias = make({1}, {100});
  EXPECT_EQ(numbers_of(result_of(
                [&](troika_tensor* out) { return troika_tensor_conv2d(image, weight, bias, nullptr, out, &error_); })),
            (Numbers{106, 108, 112, 114}));
  troika_conv2d_options conv = TROIKA_CONV2D_OPTIONS_INIT;
  conv.padding[0] = conv.padding[1] = 1;
  conv.stride[0] = conv.stride[1] = 2;
  EXPECT_EQ(numbers_of(result_of(
                [&](troika_tensor* out) { return troika_tensor_conv2d(image, weight, nullptr, &conv, out, &error_); })),
            (Numbers{1, 3, 7, 14}));
  troika_pool2d_options pool = TROIKA_POOL2D_OPTIONS_INIT;
  pool.kernel[0] = pool.kernel[1] = 2;
  pool.stride[0] = pool.stride[1] = 1;
  EXPECT_EQ(
      numbers_of(result_of([&](troika_tensor* out) { return troika_tensor_max_pool2d(image, &pool, out, &error_); })),
      (Numbers{5, 6, 8, 9}));
  EXPECT_EQ(
      numbers_of(result_of([&](troika_tensor* out) { return troika_tensor_avg_pool2d(image, &pool, out, &error_); })),
      (Numbers{3, 4, 6, 7}));
  refuse([&](troika_tensor* out) { return troika_tensor_max_pool2d(image, nullptr, out, &error_); }, kInvalid,
         "options.kernel[0] is not set");
  refuse([&](troika_tensor* out) { return troika_tensor_conv2d(image, a, nullptr, nullptr, out, &error_); }, kInvalid,
         "weight has shape [2, 3], needs [out, in / groups, height, width]");
}

TEST_F(OperationsApi, shapes) {
  const troika_tensor x = make({2, 3}, {1, 2, 3, 4, 5, 6});
  const int64_t free[] = {3, -1}, wrong[] = {4, 2}, large[] = {2, 2, 3};
  const troika_tensor seen =
      result_of([&](troika_tensor* out) { return troika_tensor_reshape(x, free, 2, out, &error_); });
  EXPECT_EQ(dims_of(seen), (std::vector<int64_t>{3, 2}));
  EXPECT_EQ(
      numbers_of(result_of([&](troika_tensor* out) { return troika_tensor_transpose(x, nullptr, out, &error_); })),
      (Numbers{1, 4, 2, 5, 3, 6}));
  EXPECT_EQ(numbers_of(result_of([&](troika_tensor* out) { return troika_tensor_slice(x, -1, 1, 3, out, &error_); })),
            (Numbers{2, 3, 5, 6}));
  EXPECT_EQ(numbers_of(result_of([&](troika_tensor* out) { return troika_tensor_slice(x, 0, 1, 2, out, &error_); })),
            (Numbers{4, 5, 6}));
  const troika_tensor parts[] = {x, make({2, 1}, {7, 8})};
  EXPECT_EQ(numbers_of(result_of([&](troika_tensor* out) { return troika_tensor_concat(parts, 2, 1, out, &error_); })),
            (Numbers{1, 2, 3, 7, 4, 5, 6, 8}));
  EXPECT_EQ(numbers_of(result_of([&](troika_tensor* out) { return troika_tensor_expand(x, large, 3, out, &error_); })),
            (Numbers{1, 2, 3, 4, 5, 6, 1, 2, 3, 4, 5, 6}));
  refuse([&](troika_tensor* out) { return troika_tensor_reshape(x, wrong, 2, out, &error_); }, kInvalid,
         "reshape: input has shape [2, 3], which cannot become [4, 2]");
  refuse([&](troika_tensor* out) { return troika_tensor_slice(x, 2, 0, 1, out, &error_); }, kInvalid,
         "axis is 2, the tensor has shape [2, 3]");
  refuse([&](troika_tensor* out) { return troika_tensor_slice(x, 1, 1, 5, out, &error_); }, kInvalid,
         "troika_tensor_slice: the part is 1 to 5, input has 3 on axis 1");
  const int32_t twice[] = {1, 1};
  refuse([&](troika_tensor* out) { return troika_tensor_transpose(x, twice, out, &error_); }, kInvalid,
         "needs each axis of [2, 3] once");
}

TEST_F(OperationsApi, sums_norms_and_places) {
  const troika_tensor x = make({2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8});
  const int32_t outer[] = {0, -1}, middle[] = {1}, twice[] = {1, -2};
  const auto sum = [&](const int32_t* axes, int32_t count, int32_t keep_axes) {
    return result_of([&](troika_tensor* out) { return troika_tensor_sum(x, axes, count, keep_axes, out, &error_); });
  };
  EXPECT_EQ(numbers_of(sum(nullptr, 0, 0)), (Numbers{36}));
  EXPECT_EQ(dims_of(sum(nullptr, 0, 0)), (std::vector<int64_t>{}));
  EXPECT_EQ(numbers_of(sum(outer, 2, 0)), (Numbers{14, 22}));
  EXPECT_EQ(dims_of(sum(outer, 2, 1)), (std::vector<int64_t>{1, 2, 1}));
  EXPECT_EQ(
      numbers_of(result_of([&](troika_tensor* out) { return troika_tensor_mean(x, middle, 1, 0, out, &error_); })),
      (Numbers{2, 3, 6, 7}));
  EXPECT_EQ(numbers_of(result_of([&](troika_tensor* out) {
              return troika_tensor_norm(make({2, 1}, {3, -4}), out, &error_);
            })),
            (Numbers{5}));
  EXPECT_EQ(
      numbers_of<int64_t>(result_of([&](troika_tensor* out) { return troika_tensor_argmax(x, 0, out, &error_); })),
      (std::vector<int64_t>{1, 1, 1, 1}));
  const Numbers shares = numbers_of(result_of([&](troika_tensor* out) {
    return troika_tensor_softmax(make({2}, {0, std::log(3.0f)}), 0, out, &error_);
  }));
  EXPECT_NEAR(shares[0], 0.25, 1e-6);
  refuse([&](troika_tensor* out) { return troika_tensor_sum(x, twice, 2, 0, out, &error_); }, kInvalid,
         "axes have 1 twice");
}

TEST_F(OperationsApi, the_cross_entropy_of_each_label) {
  const troika_tensor logits = make({2, 3}, {0, 0, 0, 1, 2, 3});
  const double sum = std::exp(1.0) + std::exp(2.0) + std::exp(3.0);
  const uint8_t bytes[] = {1, 2};
  const int64_t wide[] = {1, 2};
  for (const troika_tensor labels :
       {keep(make_tensor(TROIKA_DTYPE_U8, {2}, bytes)), keep(make_tensor(TROIKA_DTYPE_I64, {2}, wide))}) {
    const Numbers losses = numbers_of(
        result_of([&](troika_tensor* out) { return troika_tensor_cross_entropy(logits, labels, out, &error_); }));
    EXPECT_NEAR(losses[0], std::log(3.0), 1e-6);
    EXPECT_NEAR(losses[1], std::log(sum) - 3, 1e-6);
  }
  const int32_t wrong[] = {-1, 3};
  const troika_tensor no_classes = keep(make_tensor(TROIKA_DTYPE_I32, {2}, wrong));
  for (const float loss : numbers_of(result_of(
           [&](troika_tensor* out) { return troika_tensor_cross_entropy(logits, no_classes, out, &error_); })))
    EXPECT_TRUE(std::isnan(loss));
  refuse([&](troika_tensor* out) { return troika_tensor_cross_entropy(logits, logits, out, &error_); }, kUnsupported,
         "argument 'labels' is f32, need i32, i64 or u8");
}

TEST_F(OperationsApi, changes_in_place) {
  const troika_tensor w = make({2, 2}, {1, 2, 3, 4}), g = make({2, 2}, {1, 1, 2, 2}), row = make({2}, {10, 20});
  expect_ok(troika_tensor_add_in_place(w, g, -0.5, &error_));
  EXPECT_EQ(numbers_of(w), (Numbers{0.5, 1.5, 2, 3}));
  expect_ok(troika_tensor_add_in_place(w, row, 1, &error_));
  EXPECT_EQ(numbers_of(w), (Numbers{10.5, 21.5, 12, 23}));
  expect_ok(troika_tensor_scale_in_place(w, 2, -1, &error_));
  EXPECT_EQ(numbers_of(w), (Numbers{20, 42, 23, 45}));
  expect_refused(troika_tensor_add_in_place(row, w, 1, &error_), kInvalid, "the tensor to change is f32[2]");
  expect_ok(troika_device_synchronize(context_, kCpu0, &error_));
  expect_refused(troika_device_synchronize(context_, {9, 0}, &error_), kInvalid, "device.kind is 9");
}

TEST_F(OperationsApi, tensors_as_text) {
  EXPECT_EQ(text_of(make({2, 3}, {1, 2.5, -3, 0, 1e8f, 0.001f})),
            "f32[2, 3] on cpu:0\n[[   1.,   2.5,   -3.],\n [   0., 1e+08, 0.001]]");
  EXPECT_EQ(text_of(keep(make_tensor(TROIKA_DTYPE_I64, {3}))), "i64[3] on cpu:0\n[0, 0, 0]");
  EXPECT_EQ(text_of(make({}, {4})), "f32[] on cpu:0\n4.");
  const int64_t dims[] = {40, 50};
  const std::string large = text_of(result_of([&](troika_tensor* out) {
    return troika_tensor_full(context_, kCpu0, TROIKA_DTYPE_F32, dims, 2, 1, out, &error_);
  }));
  EXPECT_EQ(large,
            "f32[40, 50] on cpu:0\n[[1., 1., 1., ..., 1., 1., 1.],\n [1., 1., 1., ..., 1., 1., 1.],\n"
            " [1., 1., 1., ..., 1., 1., 1.],\n ...,\n [1., 1., 1., ..., 1., 1., 1.],\n"
            " [1., 1., 1., ..., 1., 1., 1.],\n [1., 1., 1., ..., 1., 1., 1.]]");
  char small[8];
  int64_t size = 0;
  expect_ok(troika_tensor_to_text(make({1}, {1}), small, sizeof small, &size, &error_));
  EXPECT_STREQ(small, "f32[1] ");
  EXPECT_EQ(size, 21);
}

// y = sum((x w - t)^2): dw = 2 x^T (x w - t), and an update by it makes y smaller.
TEST_F(OperationsApi, gradients_train_a_layer) {
  const troika_tensor x = make({3, 2}, {1, 2, 3, 4, 5, 6}), w = make({2, 1}, {0.1f, -0.2f}),
                      t = make({3, 1}, {1, 2, 3});
  double before = 1e9;
  for (int step = 0; step < 5; ++step) {
    troika_gradients record = nullptr;
    expect_ok(troika_gradients_create(context_, &record, &error_));
    expect_ok(troika_gradients_watch(record, w, &error_));
    const troika_tensor y =
        result_of([&](troika_tensor* out) { return troika_tensor_matmul(x, w, 0, 0, out, &error_); });
    const troika_tensor d = result_of([&](troika_tensor* out) { return troika_tensor_subtract(y, t, out, &error_); });
    const troika_tensor square =
        result_of([&](troika_tensor* out) { return troika_tensor_multiply(d, d, out, &error_); });
    const troika_tensor loss =
        result_of([&](troika_tensor* out) { return troika_tensor_sum(square, nullptr, 0, 0, out, &error_); });
    expect_refused(troika_tensor_add_in_place(w, w, 1, &error_), kInvalid,
                   "argument 'tensor' is recorded for gradients");
    troika_tensor dw = garbage<troika_tensor>();
    expect_ok(troika_gradients_compute(record, loss, &w, 1, &dw, &error_));
    keep(dw);
    const Numbers numbers = numbers_of(x), errors = numbers_of(d), found = numbers_of(dw);
    for (size_t k = 0; k < 2; ++k) {
      float expected = 0;
      for (size_t i = 0; i < 3; ++i) expected += 2 * numbers[2 * i + k] * errors[i];
      EXPECT_NEAR(found[k], expected, 1e-4 * std::abs(expected));
    }
    EXPECT_LT(numbers_of(loss)[0], before);
    before = static_cast<double>(numbers_of(loss)[0]);
    troika_gradients_destroy(record);
    expect_ok(troika_tensor_add_in_place(w, dw, -0.005, &error_));
  }
}

TEST_F(OperationsApi, gradients_refuse_what_they_did_not_record) {
  const troika_tensor x = make({2}, {1, 2}), other = make({1}, {1}),
                      integers = keep(make_tensor(TROIKA_DTYPE_I32, {2}));
  troika_gradients record = nullptr, second = nullptr;
  expect_ok(troika_gradients_create(context_, &record, &error_));
  expect_ok(troika_gradients_create(context_, &second, &error_));
  expect_ok(troika_gradients_watch(record, x, &error_));
  expect_ok(troika_gradients_watch(record, x, &error_));
  expect_refused(troika_gradients_watch(second, x, &error_), kInvalid, "belongs to another gradients object");
  expect_refused(troika_gradients_watch(record, integers, &error_), kInvalid, "is i32, need f32, bf16 or f16");
  const troika_tensor loss = result_of([&](troika_tensor* out) { return troika_tensor_norm(x, out, &error_); });
  const auto compute = [&](troika_gradients gradients, troika_tensor number, troika_tensor of) {
    troika_tensor out = garbage<troika_tensor>();
    const troika_status status = troika_gradients_compute(gradients, number, &of, 1, &out, &error_);
    EXPECT_EQ(out == nullptr, status != TROIKA_OK);
    if (status == TROIKA_OK) keep(out);
    return status;
  };
  expect_refused(compute(record, loss, other), kInvalid, "argument 'tensors[0]' is not recorded");
  expect_refused(compute(second, loss, x), kInvalid, "argument 'number' is not recorded");
  expect_refused(compute(record, x, x), kInvalid, "the tensor has shape [2], need one number");
  expect_ok(compute(record, loss, x));
  const troika_tensor both = make({2}, {3, 4});
  const float numbers[] = {9, 9};
  expect_refused(troika_tensor_from_host(x, numbers, sizeof numbers, &error_), kInvalid,
                 "troika_tensor_from_host: argument 'tensor' is recorded for gradients");
  expect_refused(troika_tensor_copy(both, x, &error_), kInvalid, "argument 'destination' is recorded for gradients");
  const troika_tensor list[] = {both, x};
  expect_refused(troika_tensor_all_reduce(list, 2, &error_), kInvalid,
                 "argument 'tensors[1]' is recorded for gradients");
  EXPECT_EQ(numbers_of(x), (Numbers{1, 2}));
  expect_ok(troika_gradients_watch(second, both, &error_));
  refuse([&](troika_tensor* out) { return troika_tensor_add(x, both, out, &error_); }, kInvalid,
         "tensors belong to two gradients objects");
  troika_gradients_destroy(record);
  troika_gradients_destroy(second);
  troika_gradients_destroy(nullptr);
  expect_ok(troika_tensor_scale_in_place(x, 2, 0, &error_));
}

}  // namespace
}  // namespace troika::test
