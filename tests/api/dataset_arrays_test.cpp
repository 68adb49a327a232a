// Datasets of arrays of any type, copied or borrowed.
#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <random>
#include <thread>
#include <utility>

#include "api/api_test.h"
#include "core/float16.h"
#include "support/test_seed.h"

namespace troika::test {
namespace {

class ArrayDatasets : public ApiTest {
 protected:
  // Reads all samples of dataset_, in one batch, into the vectors.
  void read(int64_t batch = 1000) {
    troika_loader_options options = TROIKA_LOADER_OPTIONS_INIT;
    options.batch = batch;
    expect_ok(troika_loader_create(dataset_, &options, &loader_, &error_));
    floats.clear(), tokens.clear(), labels.clear(), values.clear();
    troika_batch got = nullptr;
    while (troika_loader_next(loader_, &got, &error_) == TROIKA_OK) {
      troika_batch_info info = TROIKA_BATCH_INFO_INIT;
      EXPECT_EQ(troika_batch_describe(got, &info, &error_), TROIKA_OK);
      int64_t elements = 1;
      for (int32_t axis = 0; axis < info.rank; ++axis) elements *= info.dims[axis];
      if (info.inputs) floats.insert(floats.end(), info.inputs, info.inputs + elements);
      if (info.tokens) tokens.insert(tokens.end(), info.tokens, info.tokens + elements);
      if (info.labels) labels.insert(labels.end(), info.labels, info.labels + info.n * info.label_size);
      if (info.values) values.insert(values.end(), info.values, info.values + info.n * info.value_size);
    }
    troika_loader_destroy(std::exchange(loader_, nullptr));
  }

  void create(const troika_arrays& arrays) {
    troika_dataset_destroy(std::exchange(dataset_, nullptr));
    expect_ok(troika_dataset_create_from(context_, &arrays, &dataset_, &error_));
  }

  // Samples [2] of this type, without targets.
  template <typename T>
  troika_arrays arrays_of(const std::vector<T>& inputs, int32_t dtype) {
    static constexpr int64_t kPair[] = {2};
    troika_arrays arrays = TROIKA_ARRAYS_INIT;
    arrays.dtype = dtype;
    arrays.inputs = inputs.data();
    arrays.dims = kPair;
    arrays.rank = 1;
    arrays.n = static_cast<int64_t>(inputs.size()) / 2;
    return arrays;
  }

  // Expects that the elements of dataset_ have the same bits.
  void expect_floats(const std::vector<float>& expected) {
    read();
    ASSERT_EQ(floats.size(), expected.size());
    for (size_t i = 0; i < expected.size(); ++i)
      EXPECT_EQ(std::bit_cast<uint32_t>(floats[i]), std::bit_cast<uint32_t>(expected[i]))
          << i << ": " << floats[i] << ", expected " << expected[i];
  }

  template <typename T, typename Convert>
  void check(int32_t dtype, const std::vector<T>& inputs, const Convert& convert) {
    for (const int32_t borrow : {0, 1}) {
      troika_arrays arrays = arrays_of(inputs, dtype);
      arrays.borrow = borrow;
      create(arrays);
      std::vector<float> expected;
      for (T element : inputs) expected.push_back(convert(element));
      expect_floats(expected);
    }
  }

  std::mt19937_64 random_{test_seed()};
  std::vector<float> floats, values;
  std::vector<int32_t> tokens, labels;
};

TEST_F(ArrayDatasets, convert_each_type_exactly) {
  std::vector<float> f32 = {0.0f, -0.0f, 1e-45f, INFINITY, -1e38f, 3.5f};
  std::vector<double> f64 = {0.1, -1e-310, 1e300, 16777217.0, -16777219.0, 0x1.000001p0};
  std::vector<uint16_t> halves;
  std::vector<uint8_t> u8;
  std::vector<int32_t> i32 = {INT32_MAX, INT32_MIN, 16777217, -16777217};
  std::vector<int64_t> i64 = {INT64_MAX, INT64_MIN, (int64_t{1} << 53) + 1, (int64_t{1} << 24) + 1};
  for (int i = 0; i < 65536; ++i) halves.push_back(static_cast<uint16_t>(i));
  for (int i = 0; i < 256; ++i) u8.push_back(static_cast<uint8_t>(i));
  for (int i = 0; i < 1000; ++i) {
    f32.push_back(static_cast<float>(static_cast<int64_t>(random_())) * 1e-19f);
    f64.push_back(static_cast<double>(static_cast<int64_t>(random_())) * 1e-19);
    i32.push_back(static_cast<int32_t>(random_()));
    i64.push_back(static_cast<int64_t>(random_()));
  }
  check(TROIKA_DTYPE_F32, f32, [](float x) { return x; });
  check(TROIKA_DTYPE_F64, f64, [](double x) { return static_cast<float>(x); });
  check(TROIKA_DTYPE_F16, halves, [](uint16_t x) { return float_of_f16(x); });
  check(TROIKA_DTYPE_BF16, halves, [](uint16_t x) { return float_of_bf16(x); });
  check(TROIKA_DTYPE_U8, u8, [](uint8_t x) { return static_cast<float>(x) / 255.0f; });
  check(TROIKA_DTYPE_I32, i32, [](int32_t x) { return static_cast<float>(x); });
  check(TROIKA_DTYPE_I64, i64, [](int64_t x) { return static_cast<float>(x); });
}

TEST_F(ArrayDatasets, subtract_the_mean_and_divide_by_std) {
  const std::vector<float> f32 = {1.5f, -2.25f, 1e30f, 0.1f};
  troika_arrays arrays = arrays_of(f32, TROIKA_DTYPE_F32);
  arrays.mean = 0.1307;
  arrays.std = 0.3081;
  create(arrays);
  std::vector<float> expected;
  for (float x : f32) expected.push_back((x - 0.1307f) / 0.3081f);
  expect_floats(expected);

  const std::vector<uint8_t> u8 = {0, 1, 128, 255};
  arrays.dtype = TROIKA_DTYPE_U8;
  arrays.inputs = u8.data();
  create(arrays);
  expected.clear();
  for (uint8_t p : u8) expected.push_back((static_cast<float>(p) / 255.0f - 0.1307f) / 0.3081f);
  expect_floats(expected);

  const std::vector<int64_t> i64 = {0, 123456789, -5, int64_t{1} << 40};
  arrays.dtype = TROIKA_DTYPE_I64;
  arrays.inputs = i64.data();
  create(arrays);
  expected.clear();
  for (int64_t x : i64) expected.push_back(static_cast<float>((static_cast<double>(x) - 0.1307) / 0.3081));
  expect_floats(expected);
}

TEST_F(ArrayDatasets, read_arrays_at_any_address) {
  std::vector<std::byte> bytes(1 + 8 * 6);
  const double numbers[] = {1, 2.5, -3, 4, 5, 6};
  std::memcpy(bytes.data() + 1, numbers, sizeof numbers);
  troika_arrays arrays = arrays_of(std::vector<double>(6), TROIKA_DTYPE_F64);
  arrays.inputs = bytes.data() + 1;
  arrays.borrow = 1;
  create(arrays);
  expect_floats({1, 2.5, -3, 4, 5, 6});
}

TEST_F(ArrayDatasets, have_labels_of_any_integer_type) {
  const std::vector<float> inputs(8);
  troika_arrays arrays = arrays_of(inputs, TROIKA_DTYPE_F32);
  arrays.target_size = 2;
  const auto check_labels = [&](int32_t dtype, auto type) {
    std::vector<decltype(type)> targets;
    std::vector<int32_t> expected;
    for (int i = 0; i < 8; ++i) {
      expected.push_back(static_cast<int32_t>(random_() % 256));
      targets.push_back(static_cast<decltype(type)>(expected.back()));
    }
    for (const int32_t borrow : {0, 1}) {
      arrays.borrow = borrow;
      arrays.target_dtype = dtype;
      arrays.targets = targets.data();
      create(arrays);
      read(3);
      EXPECT_EQ(labels, expected);
      troika_dataset_info info = TROIKA_DATASET_INFO_INIT;
      expect_ok(troika_dataset_describe(dataset_, &info, &error_));
      EXPECT_EQ(info.classes, *std::max_element(expected.begin(), expected.end()) + 1);
      EXPECT_EQ(info.label_size, 2);
    }
  };
  check_labels(TROIKA_DTYPE_U8, uint8_t{});
  check_labels(TROIKA_DTYPE_I32, int32_t{});
  check_labels(TROIKA_DTYPE_I64, int64_t{});
}

TEST_F(ArrayDatasets, have_values_of_f32_and_f64) {
  const std::vector<float> inputs(4), f32 = {0.1f, -2, 3, 4, 5, 1e-40f};
  const std::vector<double> f64 = {0.1, -2, 3, 4, 5, 1e-40};
  troika_arrays arrays = arrays_of(inputs, TROIKA_DTYPE_F32);
  arrays.target_size = 3;
  arrays.mean = 5;  // concerns the inputs alone
  for (const int32_t dtype : {TROIKA_DTYPE_F32, TROIKA_DTYPE_F64}) {
    arrays.target_dtype = dtype;
    arrays.targets = dtype == TROIKA_DTYPE_F32 ? static_cast<const void*>(f32.data()) : f64.data();
    create(arrays);
    read();
    EXPECT_EQ(values, f32);
    EXPECT_TRUE(labels.empty());
  }
}

TEST_F(ArrayDatasets, have_tokens_of_any_integer_type) {
  const std::vector<uint8_t> u8 = {0, 255, 7, 1};
  const std::vector<int32_t> i32 = {0, INT32_MAX, 7, 1};
  const std::vector<int64_t> i64 = {0, INT32_MAX, 7, 1};
  const auto check_tokens = [&](troika_arrays arrays, int64_t words) {
    arrays.tokens = 1;
    create(arrays);
    read(1);
    EXPECT_EQ(tokens, (std::vector<int32_t>{0, static_cast<int32_t>(words - 1), 7, 1}));
    troika_dataset_info info = TROIKA_DATASET_INFO_INIT;
    expect_ok(troika_dataset_describe(dataset_, &info, &error_));
    EXPECT_EQ(info.words, words);
    EXPECT_EQ(info.dtype, TROIKA_DTYPE_I32);
  };
  check_tokens(arrays_of(u8, TROIKA_DTYPE_U8), 256);
  check_tokens(arrays_of(i32, TROIKA_DTYPE_I32), int64_t{1} << 31);
  check_tokens(arrays_of(i64, TROIKA_DTYPE_I64), int64_t{1} << 31);
}

TEST_F(ArrayDatasets, may_have_no_targets_and_no_samples) {
  create(arrays_of(std::vector<float>{1, 2, 3, 4, 5, 6}, TROIKA_DTYPE_F32));
  read(2);
  EXPECT_EQ(floats.size(), 6u);
  EXPECT_TRUE(labels.empty() && values.empty());
  troika_dataset_info info = TROIKA_DATASET_INFO_INIT;
  expect_ok(troika_dataset_describe(dataset_, &info, &error_));
  EXPECT_EQ(info.label_size, 0);
  EXPECT_EQ(info.classes, 0);
  create(arrays_of(std::vector<float>{}, TROIKA_DTYPE_F32));
  read(2);
  EXPECT_TRUE(floats.empty());
}

TEST_F(ArrayDatasets, read_the_callers_memory_if_they_borrow_it) {
  std::vector<float> inputs = {1, 2, 3, 4};
  troika_arrays arrays = arrays_of(inputs, TROIKA_DTYPE_F32);
  create(arrays);
  inputs[0] = 9;
  expect_floats({1, 2, 3, 4});
  arrays.borrow = 1;
  create(arrays);
  inputs[1] = 8;  // forbidden, but shows that nothing was copied
  expect_floats({9, 8, 3, 4});
}

TEST_F(ArrayDatasets, give_the_arrays_back_once) {
  std::vector<float> inputs(64, 1.0f);
  std::atomic<int> ends{0};
  troika_arrays arrays = arrays_of(inputs, TROIKA_DTYPE_F32);
  arrays.destroy = [](void* user) { ++*static_cast<std::atomic<int>*>(user); };
  arrays.user = &ends;
  create(arrays);
  EXPECT_EQ(ends, 1) << "copied";
  arrays.borrow = 1;
  create(arrays);
  EXPECT_EQ(ends, 1);
  const int64_t indices[] = {5, 5};
  troika_dataset part = nullptr;
  expect_ok(troika_dataset_subset(dataset_, indices, 2, &part, &error_));
  troika_loader_options options = TROIKA_LOADER_OPTIONS_INIT;
  options.batch = 3;
  expect_ok(troika_loader_create(dataset_, &options, &loader_, &error_));
  troika_dataset_destroy(std::exchange(dataset_, nullptr));
  troika_batch batch = nullptr;
  for (int i = 0; i < 30; ++i) EXPECT_GE(troika_loader_next(loader_, &batch, &error_), 0);
  EXPECT_EQ(ends, 1);
  troika_loader_destroy(std::exchange(loader_, nullptr));
  EXPECT_EQ(ends, 1) << "the subset still reads them";
  troika_dataset_destroy(part);
  EXPECT_EQ(ends, 2);
  arrays.dtype = 99;
  expect_refused(troika_dataset_create_from(context_, &arrays, &dataset_, &error_), kInvalid, "arrays.dtype is 99");
  EXPECT_EQ(ends, 2) << "a call that failed";
  arrays.dtype = TROIKA_DTYPE_F32;
  arrays.destroy = [](void*) { throw 1; };
  create(arrays);
  troika_dataset_destroy(std::exchange(dataset_, nullptr));  // no status could return the exception
}

TEST_F(ArrayDatasets, are_read_by_several_threads) {
  std::vector<uint8_t> inputs(2 * 501);
  for (uint8_t& byte : inputs) byte = static_cast<uint8_t>(random_());
  troika_arrays arrays = arrays_of(inputs, TROIKA_DTYPE_U8);
  arrays.borrow = 1;
  create(arrays);
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      troika_loader_options options = TROIKA_LOADER_OPTIONS_INIT;
      options.batch = 7 + t;
      options.prefetch = t;
      troika_loader loader = nullptr;
      if (troika_loader_create(dataset_, &options, &loader, nullptr) != TROIKA_OK) ++wrong;
      troika_batch batch = nullptr;
      size_t done = 0;
      while (troika_loader_next(loader, &batch, nullptr) == TROIKA_OK) {
        troika_batch_info info = TROIKA_BATCH_INFO_INIT;
        troika_batch_describe(batch, &info, nullptr);
        for (int64_t i = 0; i < 2 * info.n; ++i)
          if (info.inputs[i] != static_cast<float>(inputs[done++]) / 255.0f) ++wrong;
      }
      if (done != inputs.size()) ++wrong;
      troika_loader_destroy(loader);
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST_F(ArrayDatasets, refuse_fields) {
  const std::vector<int64_t> numbers = {1, -1, 3, int64_t{1} << 31};
  const auto refuse = [&](const std::function<void(troika_arrays&)>& change, const std::string& message) {
    troika_arrays arrays = arrays_of(numbers, TROIKA_DTYPE_I64);
    change(arrays);
    troika_dataset dataset = garbage<troika_dataset>();
    expect_refused(troika_dataset_create_from(context_, &arrays, &dataset, &error_), kInvalid, message);
    EXPECT_EQ(dataset, nullptr);
  };
  const int64_t zero[] = {0}, huge[] = {int64_t{1} << 40}, one[] = {1};
  refuse([](auto& a) { a.struct_size = 0; }, "troika_arrays: struct_size is 0");
  refuse([](auto& a) { a.dtype = 0; }, "arrays.dtype is 0, need a TROIKA_DTYPE of");
  refuse([](auto& a) { a.tokens = 1, a.dtype = TROIKA_DTYPE_F32; }, "tokens need TROIKA_DTYPE_U8");
  refuse([](auto& a) { a.tokens = 2; }, "arrays.tokens is 2");
  refuse([](auto& a) { a.borrow = -1; }, "arrays.borrow is -1");
  refuse([](auto& a) { a.inputs = nullptr; }, "'arrays.inputs' is NULL");
  refuse([](auto& a) { a.dims = nullptr; }, "argument 'dims' is NULL");
  refuse([&](auto& a) { a.dims = zero; }, "dims[0] is 0");
  refuse([&](auto& a) { a.dims = huge, a.n = int64_t{1} << 30; }, "samples");
  refuse([](auto& a) { a.rank = 8; }, "rank is 8, need 0 to 7");
  refuse([](auto& a) { a.n = -1; }, "n is -1");
  refuse([](auto& a) { a.mean = NAN; }, "arrays.mean is nan");
  refuse([](auto& a) { a.mean = 1e39; }, "arrays.mean is 1e+39");
  refuse([](auto& a) { a.std = 0; }, "arrays.std is 0");
  refuse([](auto& a) { a.std = 1e-60; }, "arrays.std is 1e-60");
  refuse([](auto& a) { a.tokens = 1, a.mean = 1; }, "tokens are no numbers");
  refuse([](auto& a) { a.tokens = 1; }, "dataset: token 1 is -1, need 0 to 2147483647");
  refuse([](auto& a) { a.targets = a.inputs; }, "arrays.target_dtype is 0");
  refuse([](auto& a) { a.targets = a.inputs, a.target_dtype = TROIKA_DTYPE_F16; }, "arrays.target_dtype is 7");
  const auto set_labels = [&](troika_arrays& a) {
    a.targets = numbers.data();
    a.target_dtype = TROIKA_DTYPE_I64;
  };
  refuse([&](auto& a) { set_labels(a), a.target_size = 0; }, "arrays.target_size is 0");
  refuse([&](auto& a) { set_labels(a), a.ignore_index = INT64_MIN; }, "ignore_index is -9223");
  refuse([&](auto& a) { set_labels(a); }, "dataset: label 1 is -1, need 0 to 2147483647");
  refuse([&](auto& a) { set_labels(a), a.ignore_index = -1, a.target_size = 4, a.n = 1, a.rank = 0; },
         "dataset: label 3 is 2147483648, need 0 to 2147483647, or -1 to be ignored");
  refuse([&](auto& a) { set_labels(a), a.ignore_index = 1, a.dims = one; }, "dataset: label 1 is -1");
  expect_refused(troika_dataset_create_from(context_, nullptr, &dataset_, &error_), kInvalid, "'arrays' is NULL");
  const troika_arrays arrays = arrays_of(numbers, TROIKA_DTYPE_I64);
  expect_refused(troika_dataset_create_from(nullptr, &arrays, &dataset_, &error_), kInvalid, "'context' is NULL");
  expect_refused(troika_dataset_create_from(context_, &arrays, nullptr, &error_), kInvalid, "'out_dataset' is NULL");
}

}  // namespace
}  // namespace troika::test
